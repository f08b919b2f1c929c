package sim

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
)

// consensusProtocol is one space of protocol consensus over the membership, which it needs to know who the
// founders are. They are all its voters at first, so no member joins or forgets its identity; and unless operators change who
// votes (reforming.go) they stay that.
func consensusProtocol() Protocol {
	return Protocol{
		Name: "consensus", Fewest: 1, Most: 5, Locks: true, Logs: true,
		Faults: Within.Without(Any).Without(Amnesia).Without(Join).Without(Force).Without(Misfit) &^ ofStores,
		Build: func(s Node) (Built, error) {
			built, err := Membership(s)
			if err != nil {
				return built, err
			}
			options := s.space()
			space, err := consensus.New(consensus.Config{
				Self: built.ID, Life: built.Incarnation, Founders: len(s.Join), Founder: s.Founder, Space: options.Name, Shards: s.Shards,
				Autopilot: options.Autopilot, Election: options.Election, Every: options.Every, Keep: options.Keep, Part: options.Part,
				Log: member.LogOf(options.Name), Logs: s.Logs, Table: s.Table, Sessions: s.Sessions, Random: uint64(s.Random), Above: membership.Second(s.Wall),
			})
			built.Spaces = []protocol.Machine{space}
			return built, err
		},
		Decides: func(space protocol.Machine) (reign uint64, decides bool) { return space.(*consensus.Machine).Decides() },
		Routine: routineOfConsensus,
		// All members are founders and keep their folders, so none is unwelcome, and no view is forced. A change of leader
		// takes nothing from any client, and the session machine asks the rest of no session that holds something for good.
		Unreached: []any{
			holdfast.AuthorityChanged, holdfast.MemberLost, membership.Unwelcome{}, &membership.Force{}, &membership.Who{},
			&protocol.CountHolds{}, &protocol.Revoke{},
		},
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{consensus.Envelope{}}},
	}
}

// routineOfConsensus reports whether a message says only that its leader is there.
func routineOfConsensus(m protocol.Message) bool {
	envelope, is := m.(consensus.Envelope)
	return is && envelope.Routine() || routine(m)
}
