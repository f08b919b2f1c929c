package group

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// changes returns the changes from the current members to the given ones, by a joint configuration if there are
// several.
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

// Change proposes the voters and the learners; members that are named in neither leave. When the change is applied an
// entry with a Conf comes out. During a change another one has no effect: the caller compares, and proposes again.
//
// If a leader of two voters could remove its own vote, it might keep entries that the other lacks; the other would need
// its vote and not get it. A leader must therefore hand over first (ErrLeads). A member that has left may be switched
// off when [Group.Kept] reports that the change is remembered as committed: until then, after a restart, its vote may
// be needed once more.
func (g *Group) Change(now Time, voters, learners []uint64, out *Output) error {
	if !g.Leading() {
		return ErrNotLeader
	}
	if len(voters) == 0 {
		return ErrNoVoters
	}
	if !slices.Contains(voters, g.config.Self) {
		return ErrLeads
	}
	change := g.changes(voters, learners)
	if len(change.Changes) == 0 {
		return nil
	}
	before := g.changing
	g.changing = max(before, g.unstable+1) // its future index
	if err := g.node.ProposeConfChange(change); err != nil {
		g.changing = before
		return ErrBusy
	}
	g.drain(now, out)
	return nil
}

// Changing reports whether a change of members is or may be in progress: until this member, which leads, remembers it
// as committed.
func (g *Group) Changing() bool { return g.changing != 0 }

// Leaving reports whether this member, which leads, may lose its vote by a change in progress: one of another leader's
// that it has taken over and not applied, or one whose first half is applied. Then it must propose nothing: the
// remaining members may need its vote to learn of that, and a voter with more entries than they have refuses it.
func (g *Group) Leaving() bool {
	return g.inherited > g.seen.Applied || g.Leading() && !slices.Contains(g.conf.GetVoters(), g.config.Self)
}

// Lacks returns how many committed entries a member is not known to have; known reports whether it is a member. Only a
// leader knows.
func (g *Group) Lacks(member uint64) (entries uint64, known bool) {
	if !g.Leading() {
		return 0, false
	}
	commit := g.seen.GetCommit()
	g.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == member {
			entries, known = commit-min(commit, p.Match), true
		}
	})
	return entries, known
}
