package probe

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Probes are those of one protocol. Each may be left out.
type Probes struct {
	// Fewest and Most limit the number of members of a run, which is drawn between them if no configuration gives it.
	// Zero means 3, and 7.
	Fewest, Most int
	// Draw draws the options of the space of a run, with the related settings.
	Draw func(*Run)
	// Tune sets options for tuning in each life of a member, which has this lease and this Setup.Random.
	Tune func(options option.Values, lease time.Duration, random uint32)
	// Known returns the simulator's knowledge about options.
	Known func(protocol.Options) Known

	// Request returns the number under which a message requests a name. Position returns whether that request now has a
	// place in an authority's queue: from then on no later request may overtake it in that reign (P5). Nil means that
	// the order is not checked.
	Request, Position func(protocol.Message) (Standing, bool)
	// Decides reads off the space of a member whether that one decides, and in
	// which reign it counts tokens. Nil means that the coordinator does, in its epoch.
	Decides func(space protocol.Machine) (reign uint64, decides bool)
	// Tables reads off the space of a member the lock tables in which it sees all requests at this moment, or a copy of
	// which it follows. Nil means that there is none.
	Tables func(space protocol.Machine, now protocol.Time) []Table
	// PeerProbe is for members that ask one another: it determines when a request has its place (P5), if no authority
	// queues it, and what coverage counts.
	PeerProbe Peers
	// LeaderProbe is for tickets that leaders number: it determines when one has its place (P5), and what coverage
	// counts.
	LeaderProbe Leaders
	// TransferProbe is for the coverage of a protocol whose authority moves. Such a protocol has Decides.
	TransferProbe Transfers

	// Tries reports whether a request to the store tries to take or keep a lock.
	Tries func(request protocol.Message) bool

	// Stored reads the lock of a name off the store, in a space with these options.
	Stored func(protocol.Options) Stored

	// Costs returns the messages between the spaces of that many members that users' operations take without failures.
	// Runs without faults check them.
	Costs func(members int) []Cost
	// Routine reports whether a message only says that nothing has changed, such as a heartbeat. Pictures summarize
	// such messages.
	Routine func(protocol.Message) bool

	// Unreached has a value of each type of fact, and names of losses, that runs of other protocols hit and this one's
	// cannot: coverage does not ask for them.
	Unreached []any
	// Votes are the rows of coverage for notes about voters, in runs in which operators change them.
	Votes []Noted
	// Kept are the rows for released locks that a process keeps, if locks are in a store.
	Kept []Counted

	// Timed describes the fields of machines and messages for the explorer of every state; Unordered for that of every
	// order of messages, in which no time passes and nothing is repeated.
	Timed     []Field
	Unordered func(members int) []Field
	// Links describes the delivery of ordered messages. Nil means that any may overtake any.
	Links Links
}

// Of returns the probes that a descriptor names; none if it names none.
func Of(d *protocol.Descriptor) (p Probes) {
	if d.Probes != nil {
		p = d.Probes.(Probes)
	}
	return p
}

// Standing is a request of a session for a name that an authority has queued.
type Standing struct {
	Name    string
	Session lock.SessionID
	Request uint64
	Reign   protocol.Epoch  // in which tokens are counted; Decides, if set, takes precedence
	Tenure  protocol.Tenure // of the member that asks
	Gone    bool            // it is no longer there
	Token   holdfast.Token  // it is granted under it; then the name, the session and the request are given too, and no more
}

// Known is the simulator's knowledge about the options of a space; a field is zero if the protocol does not have it.
type Known struct {
	HoldOn    time.Duration // how long a member keeps an unused grant, if the authority moves,
	KeepsCell time.Duration // and a released lock, if locks are cells of a store
	Grace     time.Duration // how long a name stays taken after a hold limit
	Capacity  int           // how many slots each name is
	Autopilot time.Duration // the silence after which others continue without a member's vote
	Wait      time.Duration // how long a claim is left alone,
	Skew      time.Duration // by how much clocks may differ there,
	Expiry    time.Duration // and how old a claim grows
}

// Run is a protocol's random choices for a run.
type Run struct {
	*rand.Rand
	Members int
	// Options are those of the space that are not usual.
	Options option.Values
	// Capacity, if not zero, makes every lock one of that many slots; Exclusive makes every lock exclusive.
	Capacity  int
	Exclusive bool
	// Often makes users lock repeatedly, and Reigns makes them do so on many names while faults are rare, so that an
	// authority near them pays.
	Often, Reigns bool
	// Belief, if not zero, is the longest TTL that clients may ask for, and a tenth more.
	Belief time.Duration
	// TTL and Watch mean that the store expires columns, and reports changes; Ends, that it reports the ends of
	// processes.
	TTL, Watch, Ends bool
}

// Set sets an option.
func (r *Run) Set(name string, value any) {
	if length, is := value.(time.Duration); is {
		value = option.Format(length.Round(time.Millisecond))
	}
	r.Options[name] = fmt.Sprint(value)
}

// Stored reads the lock of a name off a store, at a wall time in microseconds: from the slice of its row, the process that
// holds it and the value of its grant. Process is empty if no process does.
type Stored struct {
	Slice func(name string, wall int64) *storage.Slice
	Shown func(row []storage.Entry, wall int64) (process, value string)
}

// Counted is a row of coverage for a count of a member's machine in its life; or, with Crash, for crashes of members
// whose machines have such a count then.
type Counted struct {
	Name  string
	Crash bool
	Count func(space protocol.Machine) uint64
}

// Noted is a row of coverage for machines' notes.
type Noted struct {
	Name string
	Is   func(protocol.Note) bool
}

// Table is a lock table that has all requests of its names, and its time.
type Table struct {
	*lock.Table
	Now protocol.Time
}
