package shard

import (
	"cmp"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The limits of a leader's concurrent work.
const (
	mostWriting = 2         // entries that the journal has not synced yet
	mostQueued  = 100_000   // operations that wait to be in one; more are sent again by the members that they are from
	entryBytes  = 256 << 10 // of an entry; one operation more may be in it
)

// lead is the leader's state.
type lead struct {
	term  uint64
	begun bool // its first entry is proposed
	ready bool // and applied: all that others have committed is before it

	queue queue

	// The table's time was from when this clock showed since; and the latest entry is at.
	from, since protocol.Time
	at          protocol.Time

	// refused is until when nothing is proposed, because the group has refused it: another member is about to
	// lead, or too much is not committed yet.
	refused protocol.Time

	deadlines map[lock.SessionID]*deadline
	ends      protocol.Reminders[due]
}

// deadline is when a session ends that is not heard before.
type deadline struct {
	ttl, at  protocol.Time
	expiring bool   // an entry says so
	by       uint64 // the member that last reported it; 0 if unknown
}

// due names the session whose deadline may have come.
type due struct{ id lock.SessionID }

func (d due) Before(other due) bool { return compareSessions(d.id, other.id) < 0 }

func compareSessions(a, b lock.SessionID) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}

func newLead(term uint64) *lead {
	return &lead{term: term, queue: newQueue(), deadlines: map[lock.SessionID]*deadline{}}
}

// time is the table's.
func (l *lead) time(now protocol.Time) protocol.Time { return max(l.at, l.from+now-l.since) }

// local returns when this clock shows a given time of the table.
func (l *lead) local(at protocol.Time) protocol.Time {
	if at == protocol.Never {
		return at
	}
	return at - l.from + l.since
}

// wake returns when there is something to do.
func (l *lead) wake(s *Shard) protocol.Time {
	if !l.ready || s.group.Writing() >= mostWriting || s.group.Leaving() {
		return protocol.Never // until something is applied, or written
	}
	at := l.ends.First()
	if due := s.replica.Due(); due > l.at { // otherwise an entry in progress records it
		at = min(at, l.local(due))
	}
	return max(min(at, l.queue.wake()), l.refused)
}

// began starts leading: the table's time continues from its current value, and every session has its whole ttl.
func (l *lead) began(s *Shard, now protocol.Time) {
	l.ready, l.from, l.since, l.at = true, s.replica.Now(), now, s.replica.Now()
	s.replica.Sessions(func(x replica.Session) {
		if protocol.Mutated("every session has its whole ttl at a new leader") {
			l.open(s, l.local(x.Opened), x.ID, x.TTL)
			return
		}
		l.open(s, now, x.ID, x.TTL)
	})
}

// open notes that a session was heard.
func (l *lead) open(s *Shard, heard protocol.Time, id lock.SessionID, ttl protocol.Time) {
	d := &deadline{ttl: ttl, at: heard + s.patience(ttl)}
	l.deadlines[id] = d
	l.ends.Push(d.at, due{id})
}

// heard extends a session's deadline, because a member has heard it, and reports whether it is alive.
func (l *lead) heard(s *Shard, from uint64, arrived protocol.Time, id lock.SessionID) bool {
	d := l.deadlines[id]
	if d == nil || d.expiring {
		return false
	}
	d.at, d.by = max(d.at, arrived+s.patience(d.ttl)), from
	return true
}

// flushCommits reports the commit of the entry just applied at once. It informs the members through which a client
// waits for it: those that requested something in it, and those that serve the sessions about which it has decided. If
// that is unknown, or a session is taken over, it informs all: the earlier client may be at any of them.
func (l *lead) flushCommits(s *Shard) {
	self, known := s.config.Group.Self, l.ready
	for i := range s.latest.Ops {
		known = known && s.latest.Ops[i].Kind != replica.Attach
		if m := s.latest.Ops[i].ID.Member; m != self {
			s.group.FlushCommit(m, &s.groupOutput)
		}
	}
	for i := range s.effects.Decisions {
		d := l.deadlines[s.effects.Decisions[i].Session]
		if known = known && d != nil && d.by != 0; !known {
			break
		}
		if d.by != self {
			s.group.FlushCommit(d.by, &s.groupOutput)
		}
	}
	if !known {
		s.group.FlushCommits(&s.groupOutput)
	}
}

// patience is for how long a session is waited for: a ttl by the slowest clock.
func (s *Shard) patience(ttl protocol.Time) protocol.Time {
	if protocol.Mutated("a session is waited for on every clock") {
		return ttl
	}
	return lock.Stretch(ttl, s.config.Drift)
}

// applied records an applied operation.
func (l *lead) applied(s *Shard, now protocol.Time, o *replica.Op, err error) {
	l.queue.applied(o)
	if !l.ready {
		return // began looks at all sessions
	}
	switch o.Kind {
	case replica.Open:
		if x, lives := s.replica.Session(o.Session); lives && err == nil && l.deadlines[o.Session] == nil {
			l.open(s, now, x.ID, x.TTL)
		}
	case replica.Expire:
		delete(l.deadlines, o.Session)
	case replica.End, replica.EndIdle:
		if _, lives := s.replica.Session(o.Session); !lives {
			delete(l.deadlines, o.Session)
		}
	}
	if d := l.deadlines[o.Session]; d != nil && o.ID.Member != 0 {
		d.by = o.ID.Member
	}
}

// work proposes the queue.
func (l *lead) work(s *Shard, now protocol.Time, out *Output) {
	if now < l.refused {
		return
	}
	if s.group.Leaving() {
		return
	}
	if !l.begun {
		e := replica.Entry{Begin: true, At: s.replica.Now()}
		if s.replica.Reign() == 0 {
			e.Above = s.config.Above
		}
		l.begun = s.group.Propose(now, e.Append(nil), &s.groupOutput) == nil
		return
	}
	for l.ready && s.group.Writing() < mostWriting {
		e := replica.Entry{At: l.time(now), Begin: s.replica.Exhausted() && s.replica.Reign() < lock.MaxReign}
		e.Ops = l.expired(now)
		due := s.replica.Due()
		if len(e.Ops) == 0 && !l.queue.ready(now) && !e.Begin && (due > e.At || due <= l.at) {
			return
		}
		count := l.queue.fill(&e)
		before := s.group.Writing()
		if s.group.Propose(now, e.Append(nil), &s.groupOutput) != nil {
			l.revive(e.Ops)
			l.refused = now + s.config.Group.Heartbeat
			return
		}
		l.at = e.At
		l.queue.proposed(count)
		if s.group.Writing() == before {
			return // it went with another
		}
	}
}

// expired are the ends of sessions that were not heard.
func (l *lead) expired(now protocol.Time) (ops []replica.Op) {
	for l.ends.First() <= now && len(ops) < MostForwarded {
		r := l.ends.Pop()
		d := l.deadlines[r.Key.id]
		switch {
		case d == nil || d.expiring:
		case d.at > now:
			l.ends.Push(d.at, r.Key)
		default:
			d.expiring = true
			ops = append(ops, replica.Op{Kind: replica.Expire, Session: r.Key.id})
		}
	}
	return ops
}

// revive restores ends that could not be proposed.
func (l *lead) revive(ops []replica.Op) {
	for i := range ops {
		if d := l.deadlines[ops[i].Session]; d != nil && ops[i].Kind == replica.Expire {
			d.expiring = false
			l.ends.Push(d.at, due{ops[i].Session})
		}
	}
}
