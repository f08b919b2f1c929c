package sim

import (
	"fmt"
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// consensusProtocol is one space of protocol consensus over the membership, which it needs to know who the
// founders are. They are all its voters at first, so no member joins or forgets its identity; and unless operators change who
// votes (reforming.go) they stay that.
func consensusProtocol() Protocol {
	return Protocol{
		Name: "consensus", Fewest: 1, Most: 5, Locks: true, Logs: true,
		Faults: Within.Without(Any).Without(Amnesia).Without(Join).Without(Force).Without(Misfit) &^ ofStores,
		Build:  OneSpace("consensus"), Tune: tuneConsensus,
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

// tuneConsensus lets snapshots be made in every run, most of them of several parts, between which entries are applied. No
// voter goes unless that was drawn.
func tuneConsensus(s *Node) {
	every := 10 + uint64(s.Random)%100
	if s.Options["autopilot"] == "" {
		s.Options["autopilot"] = "off"
	}
	s.Options["election"] = option.Format(s.Lease / 3)
	s.Options["snapshot_every"] = fmt.Sprint(every)
	s.Options["snapshot_keep"] = fmt.Sprint(every / 4)
	s.Options["snapshot_part"] = fmt.Sprint(100 + int(s.Random)/100%1000)
}

// routineOfConsensus reports whether a message says only that its leader is there.
func routineOfConsensus(m protocol.Message) bool {
	envelope, is := m.(consensus.Envelope)
	return is && envelope.Routine() || routine(m)
}
