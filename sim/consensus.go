package sim

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	seats "github.com/holdfast-locks/holdfast/seat"
)

// consensusProtocol is one space of protocol consensus over the membership, which it needs to know who the
// founders are. They are all its voters, so nobody joins or forgets who he is; and they stay, however long they are away, because
// no operator would add them again.
func consensusProtocol() Protocol {
	return Protocol{
		Name: "consensus", Fewest: 1, Most: 5, Locks: true, Logs: true,
		Faults: Within.Without(Any).Without(Amnesia).Without(Join).Without(Force).Without(Misfit) &^ ofStores,
		Build: func(s Seat) (Built, error) {
			built, err := Membership(s)
			if err != nil {
				return built, err
			}
			every := 10 + uint64(s.Random)%100 // so snapshots are made in every run
			space, err := consensus.New(consensus.Config{
				Self: built.ID, Life: built.Incarnation, Founders: len(s.Join), Founder: s.Founder, Shards: s.Shards, Autopilot: consensus.NoAutopilot,
				Log: seats.LogOf(holdfast.DefaultSpace), Logs: s.Logs, Table: s.Table, Election: s.Lease / 3, Random: uint64(s.Random),
				Every: every, Keep: every / 4,
			})
			built.Spaces = []protocol.Machine{space}
			return built, err
		},
		Decides: func(space protocol.Machine) (reign uint64, decides bool) { return space.(*consensus.Machine).Decides() },
		Routine: routineOfConsensus,
		// All are founders and keep their folders, so nobody is unwelcome, and no view is forced; a leader that changes
		// takes nothing from anybody, and the desk asks the rest of nobody who holds something for good.
		Unreached: []any{
			holdfast.AuthorityChanged, holdfast.MemberLost, membership.Unwelcome{}, &membership.Force{}, &membership.Who{},
			&protocol.CountHolds{}, &protocol.Revoke{},
		},
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{consensus.Letter{}}},
	}
}

// routineOfConsensus reports whether a message says only that its leader is there.
func routineOfConsensus(m protocol.Message) bool {
	letter, is := m.(consensus.Letter)
	return is && letter.Routine() || routine(m)
}
