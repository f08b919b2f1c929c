package group

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// The highest kinds that there are, of messages and of entries.
const (
	LastKind      = uint8(raftpb.MsgForgetLeader)
	LastEntryKind = uint8(raftpb.EntryConfChangeV2)
)

// Entry is an entry of the log. Kind 0 is a proposed one; the others are the group's own.
type Entry struct {
	Index, Term uint64
	Kind        uint8
	Data        []byte
	// Conf is the members after a committed entry that changes them. It is for this member's owner, and in no Message.
	Conf *Conf
}

// Conf is the set of members. During a replacement Outgoing also vote.
type Conf struct {
	Voters, Learners, Outgoing, LearnersNext []uint64
	AutoLeave                                bool
}

// Mark is the position of a snapshot: after the entry with Index.
type Mark struct {
	Index, Term uint64
	Conf        Conf
}

// Founding is the mark that a group begins with, at each of its first voters: its snapshot is that of a state
// to which nothing has happened.
func Founding(voters []uint64) Mark { return Mark{Index: 1, Term: 1, Conf: Conf{Voters: voters}} }

// Beats reports whether it only says that a leader is there, or that a member hears it.
func (m *Message) Beats() bool {
	kind := raftpb.MessageType(m.Kind)
	return kind == raftpb.MsgHeartbeat || kind == raftpb.MsgHeartbeatResp
}

// RequestsVote reports whether it asks for a vote, or whether one would be given.
func (m *Message) RequestsVote() bool {
	kind := raftpb.MessageType(m.Kind)
	return kind == raftpb.MsgVote || kind == raftpb.MsgPreVote
}

// Hands reports whether it is a leader's request to lead in its place.
func (m *Message) Hands() bool { return raftpb.MessageType(m.Kind) == raftpb.MsgTimeoutNow }

// Message is a message between members, as in Raft (raftpb.Message).
type Message struct {
	Kind                     uint8
	From, To                 uint64
	Term, LogTerm, Index     uint64
	Commit, Vote, RejectHint uint64
	Reject                   bool
	Context                  []byte
	Entries                  []Entry
	Snapshot                 *Mark
}

func (m *Message) String() string {
	return fmt.Sprintf("%v term=%d index=%d/%d commit=%d entries=%d reject=%v", raftpb.MessageType(m.Kind), m.Term, m.LogTerm, m.Index, m.Commit, len(m.Entries), m.Reject)
}

// fromLeader reports whether only a leader sends it.
func (m *Message) fromLeader() bool {
	switch raftpb.MessageType(m.Kind) {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		return true
	}
	return false
}

// LackError reports that this member's log lacks entries that the leader knows it to have acknowledged, and to be
// committed.
type LackError struct{ Has, Committed uint64 }

func (e *LackError) Error() string {
	return fmt.Sprintf("it says that entry %d is committed, and the log here ends at %d", e.Committed, e.Has)
}

// mostTerm is the last term that is heard of. No group comes so far, and the one behind the last number would be 0.
const mostTerm = uint64(1) << 62

// Check returns the error of a message that no member sends. The library trusts its input, and would stop the process.
func (g *Group) Check(m *Message) error {
	wrong := func(what string) error { return fmt.Errorf("message %v of member %d: %s", m, m.From, what) }
	switch raftpb.MessageType(m.Kind) {
	case raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgPreVote, raftpb.MsgPreVoteResp,
		raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgTimeoutNow:
	case raftpb.MsgSnap:
		if m.Snapshot == nil || m.Snapshot.Index == 0 || len(m.Snapshot.Conf.Voters) == 0 {
			return wrong("it has no snapshot")
		}
	default:
		return wrong("members do not say that to each other")
	}
	switch {
	case m.To != g.config.Self:
		return wrong(fmt.Sprintf("it is to member %d, and this is %d", m.To, g.config.Self))
	case m.From == 0 || m.From == g.config.Self || m.Term == 0:
		return wrong("it has no sender")
	case m.Term > mostTerm:
		return wrong(fmt.Sprintf("it is of term %d, where %d is the last", m.Term, mostTerm))
	}
	switch raftpb.MessageType(m.Kind) {
	case raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgPreVote, raftpb.MsgPreVoteResp:
		if n := len(m.Context); n != 0 && n != readBytes && n != stampBytes && n != readBytes+stampBytes {
			return wrong(fmt.Sprintf("the number of its read, or its time, has %d bytes", n))
		}
	}
	last := m.Index
	for i := range m.Entries {
		e := &m.Entries[i]
		if last++; e.Index != last || e.Term > m.Term || e.Term == 0 || e.Kind > LastEntryKind {
			return wrong(fmt.Sprintf("its entry %d is number %d of term %d", i, e.Index, e.Term))
		}
	}
	// A leader never reports a commit that the receiver does not have.
	if raftpb.MessageType(m.Kind) == raftpb.MsgHeartbeat && m.Commit > g.unstable {
		return fmt.Errorf("message %v of member %d: %w", m, m.From, &LackError{Has: g.unstable, Committed: m.Commit})
	}
	return nil
}

// raft returns the message in the library's type.
func (m *Message) raft() *raftpb.Message {
	kind := raftpb.MessageType(m.Kind)
	context := m.Context
	if kind != raftpb.MsgHeartbeat { // the answer to a beat brings back what that had
		context, _, _ = unstamp(context)
	}
	r := &raftpb.Message{Type: &kind, To: &m.To, From: &m.From, Term: &m.Term, LogTerm: &m.LogTerm, Index: &m.Index, Commit: &m.Commit, Vote: &m.Vote, RejectHint: &m.RejectHint, Reject: &m.Reject, Context: context}
	for i := range m.Entries {
		r.Entries = append(r.Entries, m.Entries[i].raft())
	}
	if m.Snapshot != nil {
		r.Snapshot = m.Snapshot.raft()
	}
	return r
}

// fromRaft returns the library's message in this package's type.
func fromRaft(r *raftpb.Message) Message {
	m := Message{
		Kind: uint8(r.GetType()), From: r.GetFrom(), To: r.GetTo(), Term: r.GetTerm(), LogTerm: r.GetLogTerm(), Index: r.GetIndex(),
		Commit: r.GetCommit(), Vote: r.GetVote(), RejectHint: r.GetRejectHint(), Reject: r.GetReject(), Context: r.GetContext(),
	}
	for _, e := range r.GetEntries() {
		m.Entries = append(m.Entries, entry(e))
	}
	if s := r.GetSnapshot(); s.GetMetadata().GetIndex() != 0 {
		mark := marked(s)
		m.Snapshot = &mark
	}
	return m
}

func (e *Entry) raft() *raftpb.Entry {
	kind := raftpb.EntryType(e.Kind)
	return &raftpb.Entry{Index: &e.Index, Term: &e.Term, Type: &kind, Data: e.Data}
}

func entry(e *raftpb.Entry) Entry {
	return Entry{Index: e.GetIndex(), Term: e.GetTerm(), Kind: uint8(e.GetType()), Data: e.GetData()}
}

func (m *Mark) raft() *raftpb.Snapshot {
	return &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: &m.Index, Term: &m.Term, ConfState: m.conf()}}
}

func (m *Mark) conf() *raftpb.ConfState {
	c := &m.Conf
	return &raftpb.ConfState{Voters: c.Voters, Learners: c.Learners, VotersOutgoing: c.Outgoing, LearnersNext: c.LearnersNext, AutoLeave: &c.AutoLeave}
}

func marked(s *raftpb.Snapshot) Mark {
	return Mark{Index: s.GetMetadata().GetIndex(), Term: s.GetMetadata().GetTerm(), Conf: members(s.GetMetadata().GetConfState())}
}

func members(c *raftpb.ConfState) Conf {
	return Conf{Voters: c.GetVoters(), Learners: c.GetLearners(), Outgoing: c.GetVotersOutgoing(), LearnersNext: c.GetLearnersNext(), AutoLeave: c.GetAutoLeave()}
}

// changed returns an entry's change of members; nil if there is none.
func changed(e *raftpb.Entry) (raftpb.ConfChangeI, error) {
	switch e.GetType() {
	case raftpb.EntryConfChange:
		var c raftpb.ConfChange
		err := proto.Unmarshal(e.GetData(), &c)
		return &c, err
	case raftpb.EntryConfChangeV2:
		var c raftpb.ConfChangeV2
		err := proto.Unmarshal(e.GetData(), &c)
		return &c, err
	}
	return nil, nil
}

// readContext is how the library carries the number of a read.
func readContext(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }
