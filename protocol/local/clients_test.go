package local

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestTheProtocolDecides checks that a request is queued, at an unknown place, until the protocol grants or refuses it,
// and that each request ends once.
func TestTheProtocolDecides(t *testing.T) {
	m := newMember(t, 2)
	m.checkDecisions(m.lock(1, func(q *lock.Request) { q.Owner, q.Hold = "o", time.Minute }), "1 queued -1")
	m.checkDecisions(m.lock(2, nil), "2 queued -1")
	m.checkDecisions(m.lock(1, func(q *lock.Request) { q.Owner, q.Hold = "o", time.Minute }), "1 queued -1") // a copy
	w := m.request(1)
	if w.Owner != "o" || w.Hold != time.Minute || w.Arrival != 1 || w.Shape.Mode != holdfast.ModeExclusive || w.Held {
		t.Errorf("kept is %+v", w)
	}
	m.checkDecisions(m.permit(1, 7), "1 granted 7")
	if !w.Held || w.Token != 7 || w.Since != m.now {
		t.Errorf("held is %+v", w)
	}
	m.checkDecisions(m.step(func(out *protocol.Effects) {
		m.clients.Deny(m.now, m.request(2), w.HeldBy(m.now+time.Second), out)
	}), "2 refused: "+(&lock.HeldBy{Owner: "o"}).Error())
	m.has("2")
	m.checkDecisions(m.call(&protocol.Release{Session: session, Name: "n", Request: 1}), "1 released")
	m.has("2", "1")
	m.checkDecisions(m.call(&protocol.Release{Session: session, Name: "n", Request: 1}), "1 refused: "+holdfast.ErrNotHeld.Error())
	m.checkDecisions(m.call(&protocol.EndSession{Session: session}))
	if !m.clients.Empty() {
		t.Errorf("something is left of clients that have nothing: %+v", m.clients)
	}
}

// TestReleasesAreReportedWhenOthersKnow checks that a release is reported once to each caller, and to no more than may
// wait for it; any other event of a hold is reported at once.
func TestReleasesAreReportedWhenOthersKnow(t *testing.T) {
	m := newMember(t, 2)
	release := func(id uint64) protocol.Effects {
		return m.call(&protocol.Release{Session: session, Name: "n", Token: 7, Request: id})
	}
	hold := func() *request {
		m.lock(1, nil)
		w := m.request(1)
		w.withhold = true
		m.permit(1, 7)
		return w
	}
	w := hold()
	m.checkDecisions(release(1))
	m.checkDecisions(release(1))
	m.checkDecisions(m.call(&protocol.Release{Session: session, Name: "n", Token: 6, Request: 1}), "1 refused: "+holdfast.ErrNotHeld.Error())
	m.checkDecisions(release(2), "2 refused: "+holdfast.ErrNotHeld.Error())
	m.has("1")
	if m.clients.Empty() {
		t.Error("nothing is left of a release that has not been answered")
	}
	m.checkDecisions(m.step(func(out *protocol.Effects) { m.clients.NotifyReleased(w, out) }), "1 released", "1 released")
	m.checkDecisions(m.step(func(out *protocol.Effects) { m.clients.NotifyReleased(w, out) }))
	m.checkDecisions(release(1), "1 refused: "+holdfast.ErrNotHeld.Error())

	hold()
	for range maxCalls {
		m.checkDecisions(release(1))
	}
	m.checkDecisions(release(1), "1 refused: "+holdfast.ErrNotHeld.Error())

	m = newMember(t, 2)
	hold()
	m.checkDecisions(m.call(&protocol.Cancel{Session: session, Name: "n", Request: 1}), "1 released")
	hold()
	m.checkDecisions(m.call(&protocol.EndSession{Session: session, Why: holdfast.SessionExpired}), "1 lost 7")
	if !m.clients.Empty() {
		t.Errorf("something is left of clients that have nothing: %+v", m.clients)
	}
}

// TestPlacesAreReportedWhenTheyAreKnown checks that places are reported once, and only to waiting clients.
func TestPlacesAreReportedWhenTheyAreKnown(t *testing.T) {
	m := newMember(t, 2)
	m.lock(1, nil)
	m.lock(2, nil)
	m.lock(3, func(q *lock.Request) { q.Name, q.Try, q.WaitEnd = "another", true, m.now+time.Second })
	if m.clients.Tries() != 1 {
		t.Errorf("%d tries, want 1", m.clients.Tries())
	}
	let := func(ids ...uint64) protocol.Effects {
		return m.step(func(out *protocol.Effects) {
			for _, id := range ids {
				m.clients.LetWait(m.request(id))
			}
		})
	}
	m.checkDecisions(let(2, 3), "2 queued 1")
	m.checkDecisions(let(2))
	m.checkDecisions(m.step(func(out *protocol.Effects) {
		m.clients.LetWait(m.request(1))
		m.clients.Permit(m.now, m.request(1), 5, out)
	}), "1 granted 5")
	m.checkDecisions(m.step(func(*protocol.Effects) { m.clients.Review(m.request(2)) }))
	alone := newMember(t, 1)
	alone.checkDecisions(alone.lock(1, nil), "1 queued 0")
	alone.standing.Leave()
	alone.checkDecisions(alone.lock(2, nil), "2 queued -1")
}

// TestOwnersHaveOneGrant checks that other requests of a grant's owner enter it, and end.
func TestOwnersHaveOneGrant(t *testing.T) {
	m := newMember(t, 2)
	owned := func(q *lock.Request) { q.Owner = "o" }
	m.lock(1, owned)
	m.lock(2, owned)
	m.checkDecisions(m.permit(2, 9), "2 granted 9", "1 granted 9")
	m.has("1")
	m.checkDecisions(m.call(&protocol.Release{Session: session, Name: "n", Token: 9, Request: 1}), "1 released")
	m.has("1")
	m.checkDecisions(m.call(&protocol.Release{Session: session, Name: "n", Token: 9, Request: 2}), "2 released")
	m.has("1", "2")
}

// TestWhoDoesNotWaitWaitsForAnswers checks that a try waits for two timeouts if peers can be asked, with the protocol's
// reason why that was not enough, and not at all if no peer can be asked.
func TestWhoDoesNotWaitWaitsForAnswers(t *testing.T) {
	m := newMember(t, 2)
	now := func(q *lock.Request) { q.WaitEnd = m.now }
	m.checkDecisions(m.lock(1, now), "1 queued -1")
	if w := m.request(1); !w.Try {
		t.Errorf("%+v waits for holders", w)
	}
	m.checkDecisions(m.pass(2*time.Second - 1))
	m.why = errors.New("b is silent")
	m.checkDecisions(m.pass(1), "1 refused: b is silent")
	if m.clients.Tries() != 0 {
		t.Errorf("%d tries are left", m.clients.Tries())
	}
	patient := newMember(t, 2)
	patient.clients.config.Answers = 5
	patient.lock(1, func(q *lock.Request) { q.WaitEnd = patient.now })
	patient.checkDecisions(patient.pass(5*time.Second - 1))
	patient.why = m.why
	patient.checkDecisions(patient.pass(1), "1 refused: b is silent")
	m.ready = false
	m.clients.Pause()
	m.checkDecisions(m.lock(2, now), "2 refused: "+holdfast.ErrUnavailable.Error())
	m.has("1")
}

// TestRefused checks requests that are not taken at all, and copies of earlier ones.
func TestRefused(t *testing.T) {
	m := newMember(t, 2)
	m.lock(1, nil)
	for _, test := range []struct {
		change func(*lock.Request)
		err    error
		says   string
	}{
		{func(q *lock.Request) { q.Name = lock.SpaceLock }, holdfast.ErrUnsupported, "protocol toy"},
		{func(q *lock.Request) { q.Session.Member = 2 }, holdfast.ErrConflict, "another member"},
		{func(q *lock.Request) { q.Mode = holdfast.ModeShared }, holdfast.ErrUnsupported, ""},
	} {
		out := m.lock(9, test.change)
		if d := out.Replies[0].Decision; d.Kind != lock.Refused || !errors.Is(d.Err, test.err) || !strings.Contains(d.Err.Error(), test.says) {
			t.Errorf("decided %+v, want %v", d, test.err)
		}
	}
	m.checkDecisions(m.lock(1, func(q *lock.Request) { q.Mode = holdfast.ModeShared }), "1 queued -1")
}

// TestCallsOfSessions checks a session's holds, and its end.
func TestCallsOfSessions(t *testing.T) {
	m := newMember(t, 2)
	m.lock(1, nil)
	m.lock(2, nil)
	m.permit(1, 7)
	if holds := m.call(&protocol.CountHolds{Session: session}).Replies[0].Result.(*protocol.Holds); holds.Count != 1 {
		t.Errorf("%d holds", holds.Count)
	}
	if list := m.call(&protocol.ListRequests{Session: session}).Replies[0].Result.(*protocol.Requests).List; len(list) != 2 {
		t.Errorf("requests %v", list)
	}
	m.checkDecisions(m.call(&protocol.Extend{Session: session, Request: 1, Name: "n", Token: 7, Hold: time.Second}), "1 granted 7")
	m.checkDecisions(m.call(&protocol.Extend{Session: session, Request: 1, Name: "n", Token: 8, Hold: time.Second}), "1 refused: "+holdfast.ErrNotHeld.Error())
	m.checkDecisions(m.call(&protocol.Cancel{Session: session, Request: 5, Name: "n"}), "5 released")
	m.checkDecisions(m.call(&protocol.Cancel{Session: session, Request: 2, Name: "n"}), "2 released")
	m.checkDecisions(m.pass(time.Minute), "1 lost 7") // its hold limit
	m.has("2", "1")
	m.lock(3, nil)
	m.lock(4, nil)
	m.permit(3, 9)
	third := m.request(3)
	m.checkDecisions(m.step(func(out *protocol.Effects) { m.clients.Lose(m.now, holdfast.MemberLost, out) }), "3 lost 9")
	if third.Lost != holdfast.MemberLost || !third.Dropped {
		t.Errorf("lost is %+v", third)
	}
	if waiting := m.clients.Waiting(); len(waiting) != 1 || waiting[0].Key.ID != 4 {
		t.Errorf("waiting are %v", waiting)
	}
	m.call(&protocol.EndSession{Session: session, Why: holdfast.SessionExpired})
	m.has("2", "1", "3", "4")
	if !m.clients.Empty() {
		t.Error("something is left of clients that are gone")
	}
}

// TestClosedHere checks that clients are asked to stop, that nothing new is taken, and that a caller that has closed
// the space gets its answer when nothing is left. A bounded number may wait for that, and one more is refused.
func TestClosedHere(t *testing.T) {
	m := newMember(t, 2)
	m.lock(1, nil)
	m.permit(1, 7)
	for range 3 {
		if out := m.call(&protocol.CloseSpace{}); results[*protocol.SpaceOpen](out) != nil {
			t.Errorf("closed while something is held: %+v", out.Replies)
		}
	}
	var limit *holdfast.LimitError
	if got := results[*protocol.SpaceOpen](m.call(&protocol.CloseSpace{})); len(got) != 1 || !errors.As(got[0].Err, &limit) {
		t.Errorf("the fourth gets %+v", got)
	}
	if d := m.lock(2, nil).Replies[0].Decision; d.Kind != lock.Refused || !errors.Is(d.Err, holdfast.ErrUnavailable) {
		t.Errorf("decided %+v", d)
	}
	if got := results[*protocol.SpaceOpen](m.call(&protocol.Release{Session: session, Name: "n", Request: 1})); len(got) != 3 || got[0].Err != nil {
		t.Errorf("answered %+v", got)
	}
	m.call(&protocol.OpenSpace{})
	m.checkDecisions(m.lock(3, nil), "3 queued -1")
}

// results returns the results of one type in the replies.
func results[T any](out protocol.Effects) (found []T) {
	for _, reply := range out.Replies {
		if result, is := reply.Result.(T); is {
			found = append(found, result)
		}
	}
	return found
}

// TestNewNamesTheWrongField checks that the error names the wrong bound of the table.
func TestNewNamesTheWrongField(t *testing.T) {
	if _, err := New(Config{Table: lock.Config{Names: -1}}, &Standing{Self: 1}, new(member)); err == nil || !strings.Contains(err.Error(), "Names -1") {
		t.Errorf("New = %v", err)
	}
}
