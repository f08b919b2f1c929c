package consensus

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

func probes() probe.Probes {
	return probe.Probes{
		Fewest: 1, Most: 5, Tune: tune,
		Known: func(o protocol.Options) probe.Known { return probe.Known{Autopilot: max(0, o.(*Options).Autopilot)} },
		Tables: func(space protocol.Machine, _ protocol.Time) (tables []probe.Table) {
			for _, p := range space.(*Machine).parts {
				if p.shard != nil {
					tables = append(tables, probe.Table{Table: p.shard.Replica().Table(), Now: p.shard.Replica().Now()})
				}
			}
			return tables
		},
		Decides: func(space protocol.Machine) (reign uint64, decides bool) { return space.(*Machine).Decides() },
		Routine: func(m protocol.Message) bool {
			envelope, is := m.(Envelope)
			return is && envelope.Routine()
		},
		// A change of leader affects no client, and the session machine never asks for the rest of a session that holds
		// something.
		Unreached: []any{holdfast.AuthorityChanged, holdfast.MemberLost, &protocol.CountHolds{}, &protocol.Revoke{}},
		Votes: []probe.Noted{
			{Name: "a member is removed", Is: becomes(protocol.Nonmember)},
			{Name: "a member is added", Is: becomes(protocol.Learner)},
			{Name: "a member gets a vote", Is: becomes(protocol.Voter)},
			{Name: "a silent member loses its vote", Is: func(note protocol.Note) bool { _, is := note.(Retired); return is }},
			{Name: "a learner gets the vote of a silent one", Is: func(note protocol.Note) bool {
				retired, _ := note.(Retired)
				return retired.By != ""
			}},
			{Name: "a silent member keeps its vote", Is: func(note protocol.Note) bool { _, is := note.(VoteKept); return is }},
		},
	}
}

// becomes reads off a note that a shard's leader has made a member that.
func becomes(as protocol.Role) func(protocol.Note) bool {
	return func(note protocol.Note) bool {
		changed, is := note.(Changed)
		return is && changed.As == as
	}
}

// tune makes snapshots occur in every run, most of them of several parts, between which entries are applied. No voter
// is removed unless that was drawn.
func tune(options option.Values, lease time.Duration, random uint32) {
	every := 10 + uint64(random)%100
	if options["autopilot"] == "" {
		options["autopilot"] = "off"
	}
	options["election"] = option.Format(lease / 3)
	options["snapshot_every"] = fmt.Sprint(every)
	options["snapshot_keep"] = fmt.Sprint(every / 4)
	options["snapshot_part"] = fmt.Sprint(100 + int(random)/100%1000)
}
