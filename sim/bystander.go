package sim

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// electionProtocol is the membership with nothing above it but sessions. The checks are: there is one authority, it
// knows every member that has a lease or may hold by a session, and it comes back after every fault.
func electionProtocol() Protocol {
	p := Of(protocol.Descriptor{Name: "election", Options: func() protocol.Options { return &bystanders{} }})
	p.Locks, p.Faults = false, p.Faults.Without(Operator)
	return p
}

// bystanders are the options of its spaces.
type bystanders struct{ protocol.Common }

// New makes a bystander.
func (*bystanders) New(*protocol.Setup) (protocol.Machine, error) { return &bystander{}, nil }

// bystander is a space that grants nothing. It confirms every epoch at once, because it has nothing to report.
type bystander struct{ confirmed protocol.Epoch }

// Wake always returns Never.
func (b *bystander) Wake() protocol.Time { return protocol.Never }

// Step confirms epochs, and reports half of the sessions as holding something.
func (b *bystander) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		if fact.Epoch != b.confirmed {
			b.confirmed = fact.Epoch
			out.Raise(&protocol.Confirmed{Epoch: b.confirmed.Counter})
		}
	case *protocol.CountHolds:
		count := 0
		if holds(fact.Session) {
			count = 1
		}
		out.Reply(ev.Call, &protocol.Holds{Count: count})
	case *protocol.ListRequests:
		out.Reply(ev.Call, &protocol.Requests{})
	case *protocol.Inspect:
		out.Reply(ev.Call, &protocol.Condition{State: protocol.Ready})
	}
}

// holds reports whether a session counts as holding something for its whole life: every other one does. A member that
// leaves must let the session stop, or wait for it; no member makes the session stop.
func holds(id lock.SessionID) bool { return id.Number%2 == 1 }
