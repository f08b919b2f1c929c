package sim

import (
	"github.com/holdfast-locks/holdfast/authority"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
)

// grantorProtocol is one space of protocol grantor over the membership.
func grantorProtocol() Protocol {
	return Protocol{
		Name: "grantor", Fewest: 3, Most: 7, Locks: true, Moves: true,
		Faults: Within.Without(Any) &^ ofStores,
		Build: func(s Seat) (Built, error) {
			built, err := Membership(s)
			if err != nil {
				return built, err
			}
			space, err := grantor.New(grantor.Config{
				Config:    authority.Config{Self: built.ID, Table: s.Table, Any: s.Any},
				Placement: s.Placement, HoldOn: s.HoldOn,
			})
			built.Spaces = []protocol.Machine{space}
			return built, err
		},
		Decides:  func(space protocol.Machine) (uint64, bool) { return space.(*grantor.Machine).Reign() },
		Costs:    func(int) []Cost { return grantorCosts() },
		Position: position,
		Routine:  routineOfHolders,
		Wish:     wishOfHolders,
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{
			authority.Acquire{}, authority.Release{}, authority.Extend{}, authority.EndSession{}, authority.Decided{},
			authority.InfoRequest{}, authority.InfoAnswer{}, authority.Acks{}, authority.Vouch{}, authority.Ask{}, authority.Answer{},
			grantor.Question{}, grantor.Info{}, grantor.Depose{}, grantor.Deposed{}, grantor.Inquiry{}, grantor.Testimony{},
			grantor.TransferRequest{}, grantor.TransferTable{}, grantor.Invite{}, grantor.Invited{}, grantor.NotGrantor{},
		}},
	}
}

// grantorCosts are those of Geode's message flows (its section 9) with the table handed over
// by its holder: what central's are, with the grantor in the coordinator's place, and 6 for a
// transfer between two members neither of which is the elder, whatever the number of members.
func grantorCosts() []Cost {
	return append(centralCosts(), Cost{
		Deed: Become, Least: 6, Most: 6, Formula: "BECOME, Depose, Deposed, Info, TransferRequest, TransferTable",
	})
}
