package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
)

// Protocol is the simulator's knowledge of a protocol. It learns everything else from the answers that users get. A
// [Config] takes any Protocol, listed in Protocols or not: [Of] makes one from a descriptor.
type Protocol struct {
	protocol.Descriptor
	probe.Probes
	// Locks reports whether the spaces grant locks. Without it a run has only sessions, and checks the authority.
	Locks bool
	// Faults are the faults within the bounds that can happen to this protocol.
	Faults Faults
}

// Of makes the Protocol of a descriptor: one space of it over the membership.
func Of(d protocol.Descriptor) Protocol {
	p := Protocol{Descriptor: d, Probes: probe.Of(&d), Locks: true, Faults: Within}
	if d.Options().List().Check(option.Values{"partition": "any"}) != nil {
		p.Faults = p.Faults.Without(Any)
	}
	if !d.Stores {
		p.Faults &^= ofStores
	}
	if d.Logs {
		// All members are founders, which have a vote at first, and keep their folders. So none joins, forgets its
		// identity or is refused, and no view is forced.
		p.Faults = p.Faults.Without(Amnesia).Without(Join).Without(Force).Without(Misfit)
		p.Unreached = append(p.Unreached, membership.Unwelcome{}, &membership.Force{}, &membership.Who{})
	}
	p.Fewest = cmp.Or(p.Fewest, 3)
	p.Most = cmp.Or(p.Most, max(p.Fewest, 7))
	return p
}

// hasOption reports whether the spaces can be configured with an option.
func (p *Protocol) hasOption(name string) bool {
	return p.Options().List().Find(name) != nil
}

// Check returns nil if every fault named in the set can happen to the protocol. The set of all faults within the bounds
// names none: a run has those that can happen. The error names the impossible fault and the possible ones.
func (p Protocol) Check(set Faults) error {
	never := set &^ (p.Faults | Beyond)
	if set&Within == Within || never == 0 {
		return nil
	}
	return fmt.Errorf("fault %q cannot happen to protocol %s; all, beyond, none and %s are allowed", never.All()[0], p.Name, (p.Faults | Beyond).list(", "))
}

// Node is a member at its start: its configuration, and the knowledge of its process.
type Node struct {
	Protocol string
	Name     string
	Address  string
	Founder  bool
	Join     []string // the addresses of all founders
	Kept     bool     // it has a stable cell
	Cell     []byte   // the last synced contents; nil if there are none
	Wall     time.Duration
	Rand     *rand.Rand
	Lease    time.Duration
	Drift    float64
	Any      bool // partition mode any
	Preempt  bool
	Newer    bool // its version of the protocol is later than that of the others
	Table    lock.Config
	// Options are the options of the space, except Any and Preempt.
	Options option.Values
	// Random is drawn once, at the start; Process identifies this life of the process, as in member.Space.
	Random  uint32
	Process string
	// Store is the feature set of the store, if there is one; Logs is the contents of the member's logs.
	Store storage.Features
	Logs  []storage.Kept
	// Sessions is the maximum number of sessions; zero means the default.
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
		Random: s.Random, Process: s.Process, Store: s.Store, Attends: s.Store.Ends, Logs: s.Logs,
	}
}

// Built are the machines of one life, to be stacked.
type Built struct {
	ID          protocol.ID
	Incarnation uint64
	Below       protocol.Machine
	Spaces      []protocol.Machine
}

// Protocols lists the protocols that can be simulated.
func Protocols() (all []Protocol) {
	for _, d := range member.Protocols() {
		all = append(all, Of(d))
	}
	return append(all, electionProtocol())
}

// Find returns the protocol of that name.
func Find(name string) (Protocol, bool) {
	for _, p := range Protocols() {
		if p.Name == name {
			return p, true
		}
	}
	return Protocol{}, false
}

// Names lists the names of all protocols, for people.
func Names() string {
	var names []string
	for _, p := range Protocols() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
