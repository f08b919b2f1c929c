package group

import (
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// changes are those that lead from who is a member to who is to be one, by a joint configuration where more
// than one changes.
func (g *Group) changes(voters, learners []uint64) *raftpb.ConfChangeV2 {
	c := &raftpb.ConfChangeV2{}
	add := func(kind raftpb.ConfChangeType, member uint64) {
		c.Changes = append(c.Changes, &raftpb.ConfChangeSingle{Type: &kind, NodeId: &member})
	}
	for _, v := range voters {
		if !slices.Contains(g.conf.GetVoters(), v) {
			add(raftpb.ConfChangeAddNode, v)
		}
	}
	for _, l := range learners {
		if !slices.Contains(g.conf.GetLearners(), l) {
			add(raftpb.ConfChangeAddLearnerNode, l)
		}
	}
	for _, old := range slices.Concat(g.conf.GetVoters(), g.conf.GetLearners()) {
		if !slices.Contains(voters, old) && !slices.Contains(learners, old) {
			add(raftpb.ConfChangeRemoveNode, old)
		}
	}
	return c
}
