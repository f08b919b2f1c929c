package group

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
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

// Change proposes who is to vote and who is to have the log without a vote: those that are named in neither go.
// When it is so an entry comes out that has a Conf. While a change is under way another comes to nothing: a
// caller that wants one compares, and proposes again.
//
// Of two voters the one that leads and is to vote no more would be left with entries that the other has not,
// which then needs its vote and does not get it: so a leader is to hand over before (ErrLeads). And a member
// that has gone may be switched off when [Group.Kept] says that the change is remembered as committed: until
// then, after a restart, its vote may be needed once more.
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
	g.changing = max(before, g.unstable+1) // where it will stand
	if err := g.node.ProposeConfChange(change); err != nil {
		g.changing = before
		return ErrBusy
	}
	g.drain(now, out)
	return nil
}

// Changing reports whether a change of who is a member is under way, or may be: as long as it is not remembered as
// committed by this member, which leads.
func (g *Group) Changing() bool { return g.changing != 0 }

// Leaving reports whether this member, which leads, may lose its vote by a change that is under way: one of another leader's,
// which it has taken over and which is not applied, or one of which the first half is. Then it is to propose nothing: those who
// stay may need its vote to hear that, and who has more entries than they have refuses it.
func (g *Group) Leaving() bool {
	return g.inherited > g.seen.Applied || g.Leading() && !slices.Contains(g.conf.GetVoters(), g.config.Self)
}

// Lacks is how many committed entries a member is not known to have; known says whether it is one. Only a leader knows.
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
