package probe

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Probes are those of one protocol. Each may be left out.
type Probes struct {
	// Fewest and Most say how many members a run may have. It is drawn between these where
	// no configuration says. Zero means 3, and 7.
	Fewest, Most int
	// Draw draws the options of the space of a run, and what goes with them.
	Draw func(*Run)
	// Tune sets options for tuning in each life of a member, which has this lease and this Setup.Random.
	Tune func(options option.Values, lease time.Duration, random uint32)
	// Known reads off options what the simulator must know of them.
	Known func(protocol.Options) Known

	// Request reads off a message that it asks for a name, and under which number a member
	// does that; Position, that what was asked for so stands in the queue of an authority:
	// from then on no request that is made later may overtake it in that reign (P5). Nil means that
	// the order is not checked.
	Request, Position func(protocol.Message) (Standing, bool)
	// Decides reads off the space of a member whether that one decides, and in
	// which reign it counts tokens. Nil means that the coordinator does, in its epoch.
	Decides func(space protocol.Machine) (reign uint64, decides bool)
	// PeerProbe reads off members that ask one another what they have heard and what
	// they have to do with one another: from when on a request has its place (P5), where there is
	// no authority that queues it, and what coverage counts.
	PeerProbe Peers
	// LeaderProbe reads off members and messages how far tickets are that leaders number: from
	// when on one has its place (P5), and what coverage counts.
	LeaderProbe Leaders
	// TransferProbe is what coverage must know of a protocol whose authority is handed over. Such a protocol has Decides.
	TransferProbe Transfers

	// Tries reads off a request to the store that it is a try to have a lock, or to go on having it.
	Tries func(request protocol.Message) bool

	// Costs lists what users' deeds take in messages between the spaces of so
	// many members, where nothing goes wrong. That is checked in runs without faults.
	Costs func(members int) []Cost
	// Routine reads off a message that it says only that nothing has changed, as
	// a heartbeat does. Pictures summarize such messages.
	Routine func(protocol.Message) bool

	// Unreached has a value of each type of fact, and names of losses, that runs of other protocols hit and this one's
	// cannot: coverage does not ask for them.
	Unreached []any
	// Votes are the rows of coverage for notes about who votes, in runs in which operators change that.
	Votes []Noted
	// Kept are those for what a process keeps that was released, where locks stand in a store.
	Kept []Counted

	// Timed says what fields of its machines and messages are for, to the explorer of every state; and Unordered to
	// that of every order of messages, in which no time passes and nothing is repeated.
	Timed     []Field
	Unordered func(members int) []Field
	// Links says how messages travel that are taken in turn. Nil means that any may overtake any.
	Links Links
}

// Of returns the probes that a descriptor names; none where it names none.
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
	Reign   protocol.Epoch  // in which tokens are counted; where Decides says that, regardless of what stands here
	Tenure  protocol.Tenure // of the member that asks
	Gone    bool            // it stands there no more
	Token   holdfast.Token  // it is granted under it; then the name, the session and the request are given too, and no more
}

// Known is what the simulator must know of the options of a space; zero where the protocol does not have it.
type Known struct {
	HoldOn    time.Duration // how long a member keeps a grant that is used no more, where the authority moves,
	KeepsCell time.Duration // and what was released, where locks are cells of a store
	Grace     time.Duration // how long a name stays taken after a hold limit
	Capacity  int           // how many slots each name is
	Autopilot time.Duration // after which silence others go on without a member's vote
	Wait      time.Duration // how long a claim is left alone,
	Skew      time.Duration // by how much clocks may differ there,
	Expiry    time.Duration // and how old a claim grows
}

// Run is what a protocol draws of a run.
type Run struct {
	*rand.Rand
	Members int
	// Options are those of the space that are not usual.
	Options option.Values
	// Capacity, if not zero, makes every lock one of so many slots; Exclusive makes every lock exclusive.
	Capacity  int
	Exclusive bool
	// Often lets users lock again and again, and Reigns lets them do so by many names while faults come seldom, so that it
	// is worth while to have the authority near them.
	Often, Reigns bool
	// Belief, if not zero, is the longest TTL that clients may ask for, and a tenth more.
	Belief time.Duration
	// TTL and Watch say that the store forgets what is old by itself, and reports changes.
	TTL, Watch bool
}

// Set sets an option.
func (r *Run) Set(name string, value any) {
	if length, is := value.(time.Duration); is {
		value = option.Format(length.Round(time.Millisecond))
	}
	r.Options[name] = fmt.Sprint(value)
}

// Counted is a row of coverage for what the machine of a member counts in its life; or, with Crash, for crashes of members whose
// machines count any then.
type Counted struct {
	Name  string
	Crash bool
	Count func(space protocol.Machine) uint64
}

// Noted is a row of coverage for what machines note.
type Noted struct {
	Name string
	Is   func(protocol.Note) bool
}
