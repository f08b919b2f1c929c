package shard

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
)

// mostWaiting is the maximum number of beats and reads that wait for a round of the group. Any further one has to be
// repeated.
const mostWaiting = 10_000

// mostRounds is the maximum number of concurrent rounds, so that a late beat or read need not wait for a round in
// progress. While there are that many, further ones wait for the next round together.
const mostRounds = 4

// reads is the reads and beats that wait for a round of the group, here and at another leader.
type reads struct {
	// Of this member: the questions and, once known, the index that must be applied.
	pending map[uint64]uint64
	order   []uint64
	fresh   []uint64 // that are to be sent
	again   protocol.Time
	begun   bool

	// Of a leader: the rounds in progress, in order, and the arrivals since the last one began.
	under     []round
	behind    []waiting
	rounds    uint64 // the latest number
	confirmed []confirmed
}

// round is a round of the group, with the beats and reads that it confirms.
type round struct {
	number uint64
	inside []waiting
}

// confirmed is a beat that counts once an index is applied: others may have applied entries that this member has not
// synced yet, and a client may already know of the session that is opened there.
type confirmed struct {
	waiting
	index uint64
}

// waiting is a beat or a read that a round is to confirm.
type waiting struct {
	from     uint64 // the member
	id       uint64
	read     bool
	sessions []lock.SessionID
	arrived  protocol.Time
}

// ReadIndex has the number answered when the replica is as new as anything that was acknowledged until now.
func (s *Shard) ReadIndex(now protocol.Time, id uint64, out *Output) {
	if _, known := s.reads.pending[id]; s.failed != nil || known {
		return
	}
	s.reads.pending[id] = 0
	s.reads.order = append(s.reads.order, id)
	s.reads.fresh = append(s.reads.fresh, id)
	s.settle(now, out)
}

// Drop forgets a read that no caller waits for any more.
func (s *Shard) Drop(id uint64) { delete(s.reads.pending, id) }

// unsend repeats everything at another leader: no caller here waits for the previous leader's rounds.
func (r *reads) unsend() {
	r.order = slices.DeleteFunc(r.order, func(id uint64) bool { _, known := r.pending[id]; return !known })
	r.fresh = append(r.fresh[:0], r.order...)
	r.under, r.behind, r.confirmed = nil, nil, nil
}

// requestReads sends questions to the leader, and repeats unanswered ones.
func (s *Shard) requestReads(now protocol.Time, out *Output) {
	r := &s.reads
	if len(r.pending) == 0 {
		r.order, r.fresh, r.again, r.begun = r.order[:0], r.fresh[:0], protocol.Never, false
	} else if !r.begun {
		r.begun, r.again = true, now+s.group.Election()
	} else if now >= r.again {
		r.again = now + s.group.Election()
		r.fresh = append(r.fresh[:0], r.order...)
	}
	if leader := s.group.Leader(); leader != 0 {
		for _, id := range r.fresh {
			if index, known := r.pending[id]; known && index == 0 {
				s.askLeader(leader, id, out)
			}
		}
		r.fresh = r.fresh[:0]
	}
	s.round(now)
}

// askLeader sends a question to the leader.
func (s *Shard) askLeader(leader, id uint64, out *Output) {
	if s.lead != nil {
		s.await(waiting{from: s.config.Group.Self, id: id, read: true})
		return
	}
	out.Messages = append(out.Messages, Envelope{leader, ReadRequest{id}})
}

// onReadRequest is another member's question.
func (s *Shard) onReadRequest(from, id uint64) { s.await(waiting{from: from, id: id, read: true}) }

// Beat reports that sessions of this member were heard now. Beaten comes out, with the same number, when that counts;
// it does not if no member leads, or a message is lost.
func (s *Shard) Beat(now protocol.Time, m Beat, out *Output) {
	if s.failed != nil {
		return
	}
	if leader := s.group.Leader(); leader == s.config.Group.Self {
		s.beat(now, leader, &m)
	} else if leader != 0 {
		out.Messages = append(out.Messages, Envelope{leader, m})
	}
	s.settle(now, out)
}

func (s *Shard) beat(now protocol.Time, from uint64, m *Beat) {
	s.await(waiting{from: from, id: m.ID, sessions: m.Sessions, arrived: now})
}

func (s *Shard) await(w waiting) {
	if s.lead != nil && len(s.reads.behind) < mostWaiting {
		s.reads.behind = append(s.reads.behind, w)
	}
}

// round begins a round for all that waits, if not too many are under way.
func (s *Shard) round(now protocol.Time) {
	r := &s.reads
	if len(r.under) >= mostRounds || len(r.behind) == 0 || !s.Leads() {
		return
	}
	if s.group.Read(now, r.rounds+1, &s.groupOutput) == nil {
		r.rounds++
		r.under, r.behind = append(r.under, round{r.rounds, r.behind}), nil
	}
}

// confirm answers the contents of a round.
func (s *Shard) confirm(now protocol.Time, read group.Read, out *Output) {
	r := &s.reads
	at := slices.IndexFunc(r.under, func(under round) bool { return under.number == read.ID })
	if at < 0 || s.lead == nil {
		return // of a former term
	}
	inside := r.under[at].inside
	r.under = slices.Delete(r.under, at, at+1)
	for i := range inside {
		w := &inside[i]
		own := w.from == s.config.Group.Self
		switch {
		case w.read && own:
			s.onReadIndex(&ReadIndex{w.id, read.Index})
		case w.read:
			out.Messages = append(out.Messages, Envelope{w.from, ReadIndex{w.id, read.Index}})
			s.group.FlushCommit(w.from, &s.groupOutput) // it cannot answer before it knows that all up to Index is committed
		default:
			r.confirmed = append(r.confirmed, confirmed{*w, read.Index})
		}
	}
}

// Taken is the client of a taken-over session, as known to the leader. A member whose copy is behind learns from
// it that a beat was not that client's.
type Taken struct {
	Session  lock.SessionID
	Attached lock.Attachment
}

// count extends the deadlines of sessions whose beats are confirmed.
func (s *Shard) count(out *Output) {
	r := &s.reads
	for len(r.confirmed) > 0 && r.confirmed[0].index <= s.applied {
		w := &r.confirmed[0]
		r.confirmed = r.confirmed[1:]
		b := Beaten{ID: w.id}
		for _, id := range w.sessions {
			if !s.lead.heard(s, w.from, w.arrived, id) {
				b.Gone = append(b.Gone, id)
			} else if of, _ := s.replica.Session(id); of.Attached.Generation > 1 && !protocol.Mutated("a leader says which client has a session") {
				b.Taken = append(b.Taken, Taken{id, of.Attached.Attachment})
			}
		}
		if w.from == s.config.Group.Self {
			out.Beaten = append(out.Beaten, b)
		} else {
			out.Messages = append(out.Messages, Envelope{w.from, b})
		}
	}
}

func (s *Shard) beaten(m *Beaten, out *Output) { out.Beaten = append(out.Beaten, *m) }

// onReadIndex handles the index of a read.
func (s *Shard) onReadIndex(m *ReadIndex) {
	if _, known := s.reads.pending[m.ID]; known && m.Index > 0 {
		s.reads.pending[m.ID] = m.Index
	}
}

// answer outputs the reads whose index is applied.
func (s *Shard) answer(out *Output) {
	for _, id := range s.reads.order {
		if index, known := s.reads.pending[id]; known && index != 0 && index <= s.applied {
			delete(s.reads.pending, id)
			out.Answered = append(out.Answered, id)
		}
	}
}
