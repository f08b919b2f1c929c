package lock

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
)

// SingleCall is set in the ids of requests outside their session's stream, so that they are above all ids of a stream's
// client.
const SingleCall = 1 << 63

// session is a session that holds or waits. Its entries are in a ring, so that its end costs no more than its entries.
type session struct {
	id     SessionID
	client string // that of its first request, usually of all
	first  int32
	holds  int32
	waits  int32
}

func (s *session) link() *int32 { return &s.first }

// entries returns how many holds and waits the session has.
func (s *session) entries() int { return int(s.holds) + int(s.waits) }

// attend adds entry i, which is s, to the ring of r's session, which begins with it.
func (t *Table) attend(i int32, s *entry, r *Request) {
	n := t.sessionOf(r.Session)
	var x *session
	switch {
	case n == 0:
		n, x = t.sessions.take()
		x.id, x.client = r.Session, r.Client
		t.bySession[r.Session] = n
		t.recent = n
	case n == t.idle:
		t.idle = 0
		x = t.sessions.at(n)
		x.client = r.Client
	default:
		x = t.sessions.at(n)
	}
	s.session = n
	t.join(ofSession, &x.first, i, s)
}

// sessionOf returns the record of a session, or 0. Repeated lookups of the same session are common.
func (t *Table) sessionOf(id SessionID) int32 {
	if t.recent != 0 && t.sessions.at(t.recent).id == id {
		return t.recent
	}
	n := t.bySession[id]
	if n != 0 {
		t.recent = n
	}
	return n
}

// leave removes entry i, which is s, from the ring of its session. The session's record ends with its last entry, but
// only when the next session's does: a session that takes and releases one lock after another keeps its record.
func (t *Table) leave(i int32, s *entry) {
	n := s.session
	x := t.sessions.at(n)
	t.unlink(ofSession, &x.first, i, s)
	if x.first == 0 {
		t.forgetIdle()
		t.idle = n
	}
}

// forgetIdle drops the kept record of a session without entries.
func (t *Table) forgetIdle() {
	if t.idle == 0 {
		return
	}
	if t.recent == t.idle {
		t.recent = 0
	}
	delete(t.bySession, t.sessions.at(t.idle).id)
	t.sessions.give(t.idle)
	t.idle = 0
}

// Session returns the number of holds of session s, each reentry counted, and of its waiting requests.
func (t *Table) Session(s SessionID) (holds, waiters int) {
	n := t.sessionOf(s)
	if n == 0 {
		return 0, 0
	}
	x := t.sessions.at(n)
	return int(x.holds), int(x.waits)
}

// Requests visits the requests of session s here, in the order of their ids: each one that holds or waits, with its
// name and its token, which is 0 while it waits. The table must not change during the visits.
func (t *Table) Requests(s SessionID, visit func(request uint64, name string, token holdfast.Token)) {
	n := t.sessionOf(s)
	if n == 0 {
		return
	}
	entries := t.entriesOf(n)
	slices.SortStableFunc(entries, func(a, b int32) int {
		return cmp.Compare(t.entries.at(a).request, t.entries.at(b).request)
	})
	for _, i := range entries {
		at := t.entries.at(i)
		visit(at.request, t.names.at(at.live).name, at.token)
	}
}

// Has reports whether a session holds or waits for anything here.
func (t *Table) Has(s SessionID) bool {
	n := t.sessionOf(s)
	return n != 0 && t.sessions.at(n).entries() > 0
}

// EndSession ends all entries of session s: first its waits, then its holds, each in the order of the request ids; then
// the next ones are granted. With why "" the client has ended it, and each is Released. Otherwise its holds are Lost,
// and its waits Refused, with reason why.
//
// Call it when the session's client has stopped, or must have by its own clock.
func (t *Table) EndSession(now Time, s SessionID, why holdfast.Loss, out *[]Decision) {
	n := t.sessionOf(s)
	if n == 0 {
		return
	}
	if n == t.idle {
		t.forgetIdle()
		return
	}
	for _, i := range t.entriesOf(n) {
		d := t.decision(Released, i)
		switch {
		case why == "":
		case d.Token == 0:
			d = t.refusal(now, i, why)
		default:
			d.Kind, d.Loss = Lost, why
		}
		*out = append(*out, d)
		t.touch(t.entries.at(i).live)
		t.endEntry(now, i)
	}
	t.settleTouched(now, out)
}

// RevokeSession refuses the waits of session s with err, and revokes all its holds here: each is Revoked with reason
// why, and stays until its holder releases it, its session ends or its hold limit passes. Then the next ones are
// granted.
func (t *Table) RevokeSession(now Time, s SessionID, why holdfast.Loss, err error, out *[]Decision) {
	n := t.sessionOf(s)
	if n == 0 || n == t.idle {
		return
	}
	for _, i := range t.entriesOf(n) {
		at := t.entries.at(i)
		if at.token == 0 {
			*out = append(*out, t.refusal(now, i, err))
			t.touch(at.live)
			t.endEntry(now, i)
			continue
		}
		t.revoke(i, why)
		*out = append(*out, t.revocation(i, why))
	}
	t.settleTouched(now, out)
}

// entriesOf returns the entries of session n: waits first, so that none of them is granted a name that the session
// itself gives up; then in the order of the requests, not of the ring, which differs between a table and its restored
// copy.
func (t *Table) entriesOf(n int32) []int32 {
	s := t.sessions.at(n)
	entries := make([]int32, 0, s.entries())
	for i := s.first; i != 0; i = t.next(ofSession, s.first, i) {
		entries = append(entries, i)
	}
	slices.SortFunc(entries, func(a, b int32) int {
		x, y := t.entries.at(a), t.entries.at(b)
		return cmp.Or(
			cmp.Compare(min(x.token, 1), min(y.token, 1)),
			cmp.Compare(x.request, y.request),
			cmp.Compare(t.names.at(x.live).name, t.names.at(y.live).name),
		)
	})
	return entries
}

// SessionsOf returns the sessions of a member that hold or wait here, by number.
func (t *Table) SessionsOf(member uint64) (sessions []SessionID) {
	//tidy:unordered they are put in order
	for id, i := range t.bySession {
		if id.Member == member && t.sessions.at(i).entries() > 0 {
			sessions = append(sessions, id)
		}
	}
	slices.SortFunc(sessions, func(a, b SessionID) int { return cmp.Compare(a.Number, b.Number) })
	return sessions
}
