package sim

import (
	"github.com/holdfast-locks/holdfast/protocol"
)

// electionProtocol is the membership with nothing above it but sessions: what is
// checked is that there is one authority, that it knows of everybody who holds a
// lease, and that it comes back after every fault.
func electionProtocol() Protocol {
	return Protocol{
		Name: "election", Fewest: 3, Most: 7,
		Faults: Within.Without(StoreSlow).Without(StoreFail).Without(Operator),
		Build: func(s Seat) (Built, error) {
			built, err := buildMembership(s)
			built.Spaces = []protocol.Machine{&bystander{}}
			return built, err
		},
		Universe: Universe{Below: membershipMessages()},
	}
}

// bystander is a space in which nobody holds anything: it confirms every epoch as soon
// as it hears of it, because there is nothing to report.
type bystander struct{ confirmed uint64 }

// Wake returns that there is never anything to do.
func (b *bystander) Wake() protocol.Time { return protocol.Never }

// Step confirms epochs and answers that nothing is held.
func (b *bystander) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		if fact.Epoch.Counter > b.confirmed {
			b.confirmed = fact.Epoch.Counter
			out.Raise(&protocol.Confirmed{Epoch: b.confirmed})
		}
	case *protocol.CountHolds:
		out.Reply(ev.Call, &protocol.Holds{})
	case *protocol.ListRequests:
		out.Reply(ev.Call, &protocol.Requests{})
	case *protocol.Inspect:
		out.Reply(ev.Call, &protocol.Condition{State: protocol.Ready})
	}
}
