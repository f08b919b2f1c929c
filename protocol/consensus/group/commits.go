package group

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// The news that an entry is committed goes to the others with the next entries, or with the next beat. A separate
// message, and its answer, is half of an entry's cost in a group that does one thing at a time, and a member without
// waiting clients does not need it. It is therefore delayed ([Config].Linger), and sent at once if a client waits: the
// owner knows where.

// deferCommit reports whether a message can be delayed, because it only reports the commit of entries that its receiver
// has.
func (g *Group) deferCommit(m *Message) bool {
	if raftpb.MessageType(m.Kind) != raftpb.MsgApp {
		return false
	}
	g.deferred = slices.DeleteFunc(g.deferred, func(t Message) bool { return t.To == m.To }) // this one says it, too
	if len(m.Entries) > 0 || !g.Leading() || g.changing != 0 || !g.replicates(m.To) {
		return false
	}
	g.deferred = append(g.deferred, *m)
	return true
}

// replicates reports whether a member receives entries continuously: then a lost one is resent for other reasons.
func (g *Group) replicates(member uint64) (does bool) {
	g.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		does = does || id == member && p.State == tracker.StateReplicate
	})
	return does
}

// FlushCommit informs a member now of delayed commits.
func (g *Group) FlushCommit(member uint64, out *Output) {
	for i := range g.deferred {
		if g.deferred[i].To == member {
			out.Messages = append(out.Messages, g.deferred[i])
			g.deferred = slices.Delete(g.deferred, i, i+1)
			return
		}
	}
}

// FlushCommits informs all members.
func (g *Group) FlushCommits(out *Output) {
	out.Messages = append(out.Messages, g.deferred...)
	g.deferred, g.flushDue = g.deferred[:0], Never
}

// lag sets the latest time of the message.
func (g *Group) lag(now Time) {
	switch {
	case len(g.deferred) == 0:
		g.flushDue = Never
	case g.flushDue == Never:
		g.flushDue = now + g.config.Linger
	}
}
