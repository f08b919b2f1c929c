package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// drain moves the library's work to out, until there is none.
func (g *Group) drain(now Time, out *Output) {
	g.now = now
	for g.node.HasReady() {
		ready := g.node.Ready()
		for _, r := range ready.ReadStates {
			if len(r.RequestCtx) == 8 {
				out.Reads = append(out.Reads, Read{binary.BigEndian.Uint64(r.RequestCtx), r.Index})
			}
		}
		for _, m := range ready.Messages {
			switch m.GetTo() {
			case raft.LocalAppendThread:
				g.write(m, out)
			case raft.LocalApplyThread:
				g.apply(m, out)
			default:
				g.send(m, out)
			}
		}
	}
	g.turn(now, out)
	g.lag(now)
}

// send sends a message to another member.
func (g *Group) send(m *raftpb.Message, out *Output) {
	t := fromRaft(m)
	g.mark(&t)
	switch {
	case m.GetType() == raftpb.MsgSnap:
		out.Snapshots = append(out.Snapshots, t)
	case g.changing != 0 && len(t.Entries) > 0:
		g.held = append(g.held, t)
		g.release(out)
	case g.deferCommit(&t):
	default:
		out.Messages = append(out.Messages, t)
	}
}

// release sends held messages that are now durable here.
//
// During a change of voters, a leader sends no member an entry that it may lose itself. Otherwise a removed voter could
// have entries that no other has, and refuse its vote to the others, which do not know yet that they no longer need it:
// the library uses the members of the last applied entry, not of the last one in the log (Ongaro's dissertation,
// section 4.1).
func (g *Group) release(out *Output) {
	last, err := g.log.LastIndex()
	g.must(err)
	kept := g.held[:0]
	for _, m := range g.held {
		if g.changing != 0 && m.Entries[len(m.Entries)-1].Index > last {
			kept = append(kept, m)
			continue
		}
		out.Messages = append(out.Messages, m)
	}
	g.held = kept
}

// settle sees whether changes are over.
func (g *Group) settle(out *Output) {
	if g.changing != 0 && (!g.Leading() || g.changing <= g.Kept()) {
		g.changing = 0
	}
	if len(g.held) > 0 {
		g.release(out)
	}
}

// turn records the leader.
func (g *Group) turn(now Time, out *Output) {
	was, is := g.seen, g.node.BasicStatus()
	g.seen = is
	led, leads := was.RaftState == raft.StateLeader, is.RaftState == raft.StateLeader
	switch {
	case leads && !led:
		g.beatDue = now + g.heartbeat()
		g.changing = g.unstable // the entries that it takes over may contain a change
		g.inherited = g.lastChange(is.Applied)
	case led && !leads:
		g.redraw(now)
		g.deferred = g.deferred[:0] // of a term that is over
		g.inherited = 0
	}
	if vote := is.GetVote(); vote != 0 && (vote != g.vote || is.GetTerm() != was.GetTerm()) {
		g.redraw(now) // a member that has promised a vote lets the other win
	}
	g.vote = is.GetVote()
	if led != leads || was.Lead != is.Lead || was.GetTerm() != is.GetTerm() {
		out.Turned = true
	}
	g.settle(out)
	out.Wanted, g.wanted = out.Wanted || g.wanted, false
}

// lastChange returns the latest entry that changes the members; 0 if there is none.
func (g *Group) lastChange(behind uint64) (last uint64) {
	look := func(entries []*raftpb.Entry) {
		for _, e := range entries {
			if e.GetIndex() > behind && e.GetType() != raftpb.EntryNormal {
				last = max(last, e.GetIndex())
			}
		}
	}
	end, err := g.log.LastIndex()
	g.must(err)
	if end > behind {
		entries, err := g.log.Entries(behind+1, end+1, math.MaxUint64)
		g.must(err)
		look(entries)
	}
	for i := range g.writes {
		look(g.writes[i].message.GetEntries())
	}
	return last
}

// shown is the log as the library reads it.
type shown struct {
	*raft.MemoryStorage
	group *Group
}

// Snapshot is for members that need one. It is empty for those that have become members since: the library accepts no
// snapshot that does not include it.
func (s shown) Snapshot() (*raftpb.Snapshot, error) {
	snapshot, err := s.MemoryStorage.Snapshot()
	if err != nil {
		return nil, err
	}
	in := all(snapshot.GetMetadata().GetConfState())
	for _, id := range all(s.group.conf) {
		if !slices.Contains(in, id) {
			s.group.wanted = true
			return nil, raft.ErrSnapshotTemporarilyUnavailable
		}
	}
	return snapshot, nil
}

// all is every member, with and without a vote.
func all(c *raftpb.ConfState) []uint64 {
	return slices.Concat(c.GetVoters(), c.GetLearners(), c.GetVotersOutgoing(), c.GetLearnersNext())
}

// writing is a pending write of the library.
type writing struct {
	id      uint64          // of the Write; 0 if nothing has to be kept, and its answers wait for earlier writes
	message *raftpb.Message // with the answers that are given then
	state   *hardState      // what the Write had
}

// hardState is Raft's persistent state besides the log.
type hardState struct{ term, vote, commit uint64 }

func (h hardState) raft() *raftpb.HardState {
	return &raftpb.HardState{Term: &h.term, Vote: &h.vote, Commit: &h.commit}
}

// write has the journal keep the library's state.
//
// The commit index is no promise: a member that forgets it learns it again, from the leader or by becoming it. It is
// therefore kept with the next entries, without a separate sync. The exception is a commit of entries that change
// members, because a member uses those that it knows to be committed (apply).
func (g *Group) write(m *raftpb.Message, out *Output) {
	promised := false
	if m.GetTerm() != 0 && m.Vote != nil {
		is := hardState{m.GetTerm(), m.GetVote(), m.GetCommit()}
		promised = is.term != g.hard.term || is.vote != g.hard.vote
		g.hard = is
	}
	if len(m.GetEntries()) == 0 && raft.IsEmptySnap(m.GetSnapshot()) && !promised && g.changing == 0 {
		g.writes = append(g.writes, writing{message: m})
		if len(g.writes) == 1 {
			g.answered(out)
		}
		return
	}
	g.keep(m, out)
}

// keep makes a Write, with the latest state from the library.
func (g *Group) keep(m *raftpb.Message, out *Output) {
	g.lastWrite++
	state := g.hard
	w := Write{ID: g.lastWrite, State: state.write()}
	there := g.savedCommit
	if s := m.GetSnapshot(); !raft.IsEmptySnap(s) {
		mark := marked(s)
		w.Snapshot = &mark
		there = max(there, mark.Index)
		g.unstable = max(g.unstable, mark.Index)
	}
	if entries := m.GetEntries(); len(entries) > 0 {
		w.First = entries[0].GetIndex()
		for _, e := range entries {
			kept := entry(e)
			w.Records = append(w.Records, kept.record())
		}
		g.unstable = entries[len(entries)-1].GetIndex()
		before := hardState{state.term, state.vote, min(state.commit, there)}
		w.Before = before.write()
	}
	g.savedCommit = state.commit
	g.writes = append(g.writes, writing{g.lastWrite, m, &state})
	out.Writes = append(out.Writes, w)
}

// Written reports that the journal has synced a write. Writes are answered in order.
func (g *Group) Written(now Time, id uint64, out *Output) {
	if len(g.writes) == 0 || id != g.writes[0].id {
		panic(fmt.Sprintf("group: member %d: write %d was answered, where %d of %d are under way", g.config.Self, id, len(g.writes), g.lastWrite))
	}
	g.answered(out)
	for len(g.writes) > 0 && g.writes[0].id == 0 {
		g.answered(out)
	}
	g.drain(now, out)
}

// answered continues after the first write is done.
func (g *Group) answered(out *Output) {
	m, state := g.writes[0].message, g.writes[0].state
	g.writes = g.writes[1:]
	if s := m.GetSnapshot(); !raft.IsEmptySnap(s) {
		if err := g.log.ApplySnapshot(s); err != nil && !errors.Is(err, raft.ErrSnapOutOfDate) {
			g.must(err)
		} else if err == nil {
			mark := marked(s)
			out.Restored, g.conf, g.snapshot = &mark, s.GetMetadata().GetConfState(), mark.Index
			out.Entries = out.Entries[:0] // they are in it
		}
	}
	g.must(g.log.Append(m.GetEntries()))
	if state != nil {
		g.must(g.log.SetHardState(state.raft()))
	}
	for _, r := range m.GetResponses() {
		if r.GetTo() == g.config.Self {
			if err := g.node.Step(r); !errors.Is(err, raft.ErrStepPeerNotFound) { // which is that it was removed meanwhile
				g.must(err)
			}
			continue
		}
		g.send(r, out)
	}
}

// apply outputs committed entries, and changes the members.
func (g *Group) apply(m *raftpb.Message, out *Output) {
	for _, e := range m.GetEntries() {
		applied := entry(e)
		g.latest = applied.Term
		change, err := changed(e)
		g.must(err)
		if change != nil {
			g.conf = g.node.ApplyConfChange(change)
			conf := members(g.conf)
			applied.Conf = &conf
			if g.changing = applied.Index; len(conf.Outgoing) > 0 {
				g.changing = math.MaxUint64 // until they have gone
			}
			if applied.Index > g.savedCommit {
				g.keep(&raftpb.Message{}, out)
			}
		}
		out.Entries = append(out.Entries, applied)
	}
	for _, r := range m.GetResponses() {
		g.must(g.node.Step(r))
	}
}

// Writing returns the number of writes in progress, and of messages that wait for them.
func (g *Group) Writing() int { return len(g.writes) }

// Applied is the index of the latest entry that came out.
func (g *Group) Applied() uint64 { return g.seen.Applied }

// Members returns the members.
func (g *Group) Members() Conf { return members(g.conf) }

// Kept is up to which entry the journal remembers that they are committed.
func (g *Group) Kept() uint64 {
	state, _, err := g.log.InitialState()
	g.must(err)
	return state.GetCommit()
}

// Behind returns the number of entries after the snapshot.
func (g *Group) Behind() uint64 {
	return g.seen.Applied - min(g.seen.Applied, g.snapshot)
}

// Lag returns how many entries up to at the slowest member lacks, among those that the leader has heard and that lack
// at most most; 0 if this member does not lead. A member that receives a snapshot, or has just received it, lacks the
// entries after that.
func (g *Group) Lag(at, most uint64) (entries uint64) {
	if !g.Leading() {
		return 0
	}
	g.node.WithProgress(func(_ uint64, _ raft.ProgressType, p tracker.Progress) {
		has := p.Match
		switch p.State {
		case tracker.StateSnapshot:
			has = max(has, p.PendingSnapshot)
		case tracker.StateProbe:
			has = max(has, p.Next-1)
		}
		if lacks := at - min(at, has); p.RecentActive && lacks <= most {
			entries = max(entries, lacks)
		}
	})
	return entries
}

// Mark returns the position of a snapshot of the state that has applied all Entries so far.
func (g *Group) Mark() Mark {
	term, err := g.log.Term(g.seen.Applied)
	g.must(err)
	return Mark{Index: g.seen.Applied, Term: term, Conf: members(g.conf)}
}

// Compact reports that the journal has a snapshot at a mark: entries up to keep before it may be dropped. It returns
// the first remaining one.
func (g *Group) Compact(at Mark, keep uint64) (first uint64) {
	if _, err := g.log.CreateSnapshot(at.Index, at.conf(), nil); !errors.Is(err, raft.ErrSnapOutOfDate) {
		g.must(err)
		g.snapshot = at.Index
	}
	if at.Index > keep {
		if err := g.log.Compact(at.Index - keep); err != nil && !errors.Is(err, raft.ErrCompacted) {
			g.must(err)
		}
	}
	first, err := g.log.FirstIndex()
	g.must(err)
	return first
}
