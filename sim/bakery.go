package sim

import (
	"github.com/holdfast-locks/holdfast/clientele"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// bakeryProtocol is one space of protocol bakery over the membership.
func bakeryProtocol() Protocol {
	return Protocol{
		Name: "bakery", Fewest: 3, Most: 7, Locks: true, Peers: true, Loose: true, Founders: 3, Leads: true,
		Faults: Within.Without(Any) &^ ofStores,
		Build: func(s Seat) (Built, error) {
			built, err := Membership(s)
			if err != nil {
				return built, err
			}
			space, err := bakery.New(bakery.Config{
				Self: built.ID, Founders: max(1, len(s.Join)), Table: s.Table, Any: s.Any,
				Random: s.Random, Published: s.Published, Grace: s.Grace,
			})
			built.Spaces = []protocol.Machine{space}
			return built, err
		},
		Own: func(space protocol.Machine, now protocol.Time) *protocol.Condition {
			return space.(*bakery.Machine).Own(now)
		},
		Universe: Universe{Below: append(membershipMessages(), membership.PutOff{}), Above: []protocol.Message{
			bakery.Started{}, bakery.Elect{}, bakery.Elected{}, bakery.Leaders{}, bakery.Refused{},
			bakery.Letter{}, clientele.Ask{}, clientele.Answer{},
		}},
	}
}
