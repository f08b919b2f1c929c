package sim

import (
	"github.com/holdfast-locks/holdfast/clientele"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/claim"
)

// claimProtocol is one space of protocol claim over the membership, which it needs for nothing but
// the sessions of its clients.
func claimProtocol() Protocol {
	return Protocol{
		Name: "claim", Fewest: 1, Most: 5, Locks: true, Peers: true, Stores: true, Claims: true,
		Faults: Within.Without(Any),
		Build: func(s Seat) (Built, error) {
			built, err := Membership(s)
			if err != nil {
				return built, err
			}
			space, err := claim.New(claim.Config{
				Options: s.Claim, Self: built.ID, Table: s.Table, Random: uint64(s.Random), Store: s.Store,
			})
			built.Spaces = []protocol.Machine{space}
			return built, err
		},
		Own: func(space protocol.Machine, now protocol.Time) *protocol.Condition {
			return space.(*claim.Machine).Own(now)
		},
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{
			clientele.Ask{}, clientele.Answer{},
		}},
	}
}

// assured is until when all that users within the process hold is safe, as far as the space knows.
func (m *member) assured() protocol.Time {
	if !m.world.protocol.Claims {
		return protocol.Never
	}
	return m.space().(*claim.Machine).Assured()
}
