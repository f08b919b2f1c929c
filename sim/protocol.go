package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage"
)

// Protocol is what the simulator must know of a protocol to run it. Everything else
// it learns from what users are told. Only Name and Build are required; a [Config] takes
// any Protocol, listed in Protocols or not.
type Protocol struct {
	// Name is the name that every format uses.
	Name string
	// Fewest and Most say how many members a run may have. It is drawn between these where
	// no configuration says. Zero means 3, and 7.
	Fewest, Most int
	// Locks says that the spaces grant locks. Without it a run has sessions only, and
	// what is checked is the authority.
	Locks bool
	// Build makes the machines of one life of a member: mostly what Membership makes, and
	// one space above it.
	Build func(Node) (Built, error)
	// Wish reads off a message that it asks for a name, and under which number a member
	// does that; Position, that what was asked for so stands in the queue of an authority:
	// from then on no request that is made later may overtake it in that reign (P5). Nil means that
	// the order is not checked.
	Request  func(protocol.Message) (Standing, bool)
	Position func(protocol.Message) (Standing, bool)
	// Decides, if not nil, reads off the space of a member whether that one decides, and in
	// which reign it counts tokens. Nil means that the coordinator does, in its epoch.
	Decides func(space protocol.Machine) (reign uint64, decides bool)
	// Leads says that several members decide together (the options of protocol bakery).
	Leads bool
	// Peers says that no member is in charge: each member speaks for its own clients. Such a protocol
	// has Own.
	Peers bool
	// PeerProbe, if not nil, reads off members that ask one another what they have heard and what
	// they have to do with one another: from when on a request has its place (P5), where there is
	// no authority that queues it, and what coverage counts.
	PeerProbe PeerProbe
	// LeaderProbe, if not nil, reads off members and messages how far tickets are that leaders number: from
	// when on one has its place (P5), and what coverage counts.
	LeaderProbe LeaderProbe
	// Loose says that tokens of what is not exclusive identify, and do not order.
	Loose bool
	// Own, if not nil, reads off the space of a member how it is there and what that member's
	// clients have in it, where no member can say that of all. Nil means that one can.
	Own func(space protocol.Machine, now protocol.Time) *protocol.Condition
	// Costs, if not nil, lists what users' deeds take in messages between the spaces of so
	// many members, where nothing goes wrong. That is checked in runs without faults. Nil
	// means that it is not.
	Costs func(members int) []Cost
	// Routine, if not nil, reads off a message that it says only that nothing has changed, as
	// a heartbeat does. Pictures summarize such messages.
	Routine func(protocol.Message) bool
	// Moves says that the authority can be handed over (protocol.Transfer). Operators do that
	// then, too. Such a protocol has Decides.
	Moves bool
	// TransferProbe, if not nil, is what coverage must know of such a protocol.
	TransferProbe TransferProbe
	// Tune, if not nil, sets options for tuning in each life of a member.
	Tune func(*Node)
	// draw, if not nil, draws options of the space, and what goes with them, where there are faults.
	draw func(*settings, *rand.Rand)
	// Stores says that the machines share a store: they ask for storage.Mutate and
	// storage.Slice, and what goes wrong with stores can go wrong with them.
	Stores bool
	// Logs says that each member has a journal: the machines ask for storage.Append, Chunk, Install
	// and Fetch, and find in Node.Logs what their logs have kept.
	Logs bool
	// Claims says that they date what they write there by clocks (the options of protocol claim).
	Claims bool
	// Faults are those within the bounds that can happen to this protocol. Zero means all
	// but mode any, for which a protocol needs rules of its own, and without Stores those of
	// stores.
	Faults Faults
	// Unreached has a value of each type of fact, and names of losses, that runs of other protocols hit and this one's
	// cannot: coverage does not ask for them.
	Unreached []any
	// Universe lists what a run can hit, for coverage. What Below and Above do not list is
	// listed when it is hit. Nil Below means the messages of the membership.
	Universe Universe
}

// complete fills in what is not given.
func (p *Protocol) complete() {
	p.Fewest, p.Most = or(p.Fewest, 3), or(p.Most, max(p.Fewest, 7))
	if p.Faults == 0 {
		p.Faults = Within.Without(Any)
		if !p.Stores {
			p.Faults &^= ofStores
		}
	}
	if p.Universe.Below == nil {
		p.Universe.Below = membershipMessages()
	}
}

// Possible returns the faults that can happen to the protocol, within the bounds.
func (p Protocol) Possible() Faults {
	p.complete()
	return p.Faults & Within
}

// Check returns nil if every fault that is named in the set can happen to the protocol. A set of
// all faults within the bounds names none: of those a run has what can happen. The error
// names a fault that cannot, and those that can.
func (p Protocol) Check(set Faults) error {
	p.complete()
	never := set &^ (p.Faults | Beyond)
	if set&Within == Within || never == 0 {
		return nil
	}
	var names []string
	for _, f := range (p.Faults | Beyond).All() {
		names = append(names, f.String())
	}
	return fmt.Errorf("fault %q cannot happen to protocol %s; all, beyond, none and %s are allowed", never.All()[0], p.Name, strings.Join(names, ", "))
}

// Node is a member at its start: what the process knows, and its configuration.
type Node struct {
	Protocol string
	Name     string
	Address  string
	Founder  bool
	Join     []string // the addresses of all founders
	Kept     bool     // it has a stable cell
	Cell     []byte   // what was last synced; nil if nothing ever was
	Wall     time.Duration
	Rand     *rand.Rand
	Lease    time.Duration
	Drift    float64
	Any      bool // partition mode any
	Preempt  bool
	Newer    bool // it speaks a later version of the protocol than the others
	Table    lock.Config
	// Options are those of the space, but for Any and Preempt.
	Options option.Values
	// Random is drawn once, at the start, and Process names this life of the process, as in member.Space.
	Random  uint32
	Process string
	// Store is what the store can do, where there is one, and Logs what the member's logs have kept.
	Store storage.Features
	Logs  []storage.Kept
	// Sessions is how many there may be; zero means the default.
	Sessions int
}

// space is the member's one space.
func (s *Node) space() member.Space {
	options := maps.Clone(s.Options)
	if options == nil {
		options = option.Values{}
	}
	if s.Any {
		options["partition"] = "any"
	}
	if s.Preempt {
		options["preempt"] = "true"
	}
	return member.Space{
		Name: holdfast.DefaultSpace, Protocol: s.Protocol, Options: options,
		Random: s.Random, Process: s.Process, Store: s.Store, Logs: s.Logs,
	}
}

// OneSpace builds members of the membership and one space of a protocol that ships.
func OneSpace(name string) func(Node) (Built, error) {
	return func(s Node) (Built, error) {
		plain, err := s.plain()
		if err != nil {
			return Built{}, err
		}
		built, cell, err := s.membership(plain)
		if err != nil {
			return built, err
		}
		plain.Spaces[0].Protocol = name // regardless of what it says to the others
		space, err := plain.NewSpace(0, cell, member.Protocols())
		built.Spaces = []protocol.Machine{space}
		return built, err
	}
}

// Built are the machines of one life, to be stacked.
type Built struct {
	ID          protocol.ID
	Incarnation uint64
	Below       protocol.Machine
	Spaces      []protocol.Machine
}

// Standing is a request of a session for a name that an authority has queued.
type Standing struct {
	Name    string
	Session lock.SessionID
	Request uint64
	Reign   protocol.Epoch  // in which tokens are counted; where Decides says that, regardless of what stands here
	Tenure  protocol.Tenure // of the member that asks
	Gone    bool            // it stands there no more
	Token   holdfast.Token  // it is granted under it; then the name, the session and the request are said beside, and no more
}

// Protocols lists the protocols that can be simulated.
func Protocols() []Protocol {
	return []Protocol{centralProtocol(), grantorProtocol(), permissionProtocol(), bakeryProtocol(), claimProtocol(), consensusProtocol(), electionProtocol()}
}

// Find returns the protocol of that name.
func Find(name string) (Protocol, bool) {
	all := Protocols()
	i := slices.IndexFunc(all, func(p Protocol) bool { return p.Name == name })
	if i < 0 {
		return Protocol{}, false
	}
	return all[i], true
}

// Names lists the names of all protocols, for people.
func Names() string {
	var names []string
	for _, p := range Protocols() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
