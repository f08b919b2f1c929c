package local

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// amend amends the grant of request 1.
func (m *member) amend(revision uint64, value string) protocol.Effects {
	m.t.Helper()
	return m.call(&protocol.Amend{Session: session, Name: "n", Request: 1, Amendment: lock.Amendment{Revision: revision, Value: value}})
}

// checkAmendments compares the decisions about amendments with the expected ones: their calls, revisions and errors.
func (m *member) checkAmendments(out protocol.Effects, want ...lock.Decision) {
	m.t.Helper()
	if len(out.Replies) != len(want) {
		m.t.Fatalf("%d decisions, want %d: %+v", len(out.Replies), len(want), out.Replies)
	}
	for i := range want {
		r, w := &out.Replies[i], &want[i]
		if r.Decision.Kind != w.Kind || r.Decision.Revision != w.Revision || r.Decision.Value != w.Value || !errors.Is(r.Decision.Err, w.Err) || r.To.Op != w.Request {
			m.t.Errorf("call %d: %+v, want call %d: %+v", r.To.Op, r.Decision, w.Request, *w)
		}
	}
}

// held returns the record of request 1, which holds; others do not have its value.
func (m *member) held() *request {
	m.lock(1, nil)
	w := m.request(1)
	w.withhold = true
	m.permit(1, 7)
	m.ops = 0
	return w
}

// TestAmendmentsAreReportedWhenOthersKnow checks that an amendment is answered when others have it or a later one; and
// that one that was refused meanwhile is reported to watchers when they have it.
func TestAmendmentsAreReportedWhenOthersKnow(t *testing.T) {
	m := newMember(t, 1)
	w := m.held()
	m.checkAmendments(m.amend(1, "one"))
	m.checkAmendments(m.amend(2, "two"))
	m.checkAmendments(m.amend(2, "two")) // again
	if shown := m.clients.table.Show("n"); shown.Holders[0].Value != "two" {
		t.Errorf("the table shows %+v", shown)
	}
	notify := func(revision uint64) protocol.Effects {
		w.amended = revision
		return m.step(func(out *protocol.Effects) { m.clients.NotifyAmended(w, revision, out) })
	}
	m.checkAmendments(notify(1), lock.Decision{Kind: lock.Amended, Request: 1, Revision: 1, Value: "one"})
	out := notify(2)
	m.checkAmendments(out, lock.Decision{Kind: lock.Amended, Request: 2, Revision: 2, Value: "two"}, lock.Decision{Kind: lock.Amended, Request: 3, Revision: 2, Value: "two"})
	if out.Replies[0].Decision.Since == 0 || out.Replies[1].Decision.Since != 0 {
		t.Errorf("of two answers to one amendment, the first one reports it: %+v", out.Replies)
	}
	m.checkAmendments(notify(2))
	m.checkAmendments(m.amend(1, "late"), lock.Decision{Kind: lock.Amended, Request: 4, Revision: 2, Value: "two"})

	m.checkAmendments(m.amend(3, "three"))
	m.checkAmendments(m.amend(4, "four"))
	m.checkAmendments(m.step(func(out *protocol.Effects) { m.clients.RefuseAmendments(w, holdfast.ErrUnavailable, out) }),
		lock.Decision{Kind: lock.Refused, Request: 5, Revision: 3, Err: holdfast.ErrUnavailable},
		lock.Decision{Kind: lock.Refused, Request: 6, Revision: 4, Err: holdfast.ErrUnavailable})
	m.checkAmendments(notify(4), lock.Decision{Kind: lock.Amended, Revision: 4, Value: "four"})
}

// TestAmendmentsEndWithTheirGrant checks that amendments that wait are refused when their grant is to end, and when it
// has ended.
func TestAmendmentsEndWithTheirGrant(t *testing.T) {
	for what, c := range map[string]struct {
		end  func(m *member, w *request) protocol.Effects
		want error
	}{
		"released": {func(m *member, w *request) protocol.Effects {
			w.withhold = false
			return m.call(&protocol.Release{Session: session, Name: "n", Request: 1})
		}, holdfast.ErrNotHeld},
		"revoked": {func(m *member, w *request) protocol.Effects {
			return m.step(func(out *protocol.Effects) { m.clients.Revoke(m.now, w, holdfast.Broken, out) })
		}, holdfast.Broken},
		"lost": {func(m *member, w *request) protocol.Effects {
			return m.step(func(out *protocol.Effects) { m.clients.End(m.now, w, holdfast.SessionExpired, out) })
		}, holdfast.SessionExpired},
	} {
		m := newMember(t, 1)
		w := m.held()
		m.checkAmendments(m.amend(1, "one"))
		out := c.end(m, w)
		if len(out.Replies) != 2 {
			t.Fatalf("%s: %+v", what, out.Replies)
		}
		d := &out.Replies[0].Decision
		if out.Replies[0].To.Op != 1 || d.Kind != lock.Refused || d.Revision != 1 || !errors.Is(d.Err, c.want) || len(w.amendments) != 0 {
			t.Errorf("%s: %+v", what, out.Replies[0])
		}
	}
}

// TestMostAmendments checks that a limited number of amendments waits.
func TestMostAmendments(t *testing.T) {
	m := newMember(t, 1)
	w := m.held()
	for i := range uint64(maxAmendments) {
		m.checkAmendments(m.amend(i+1, "v"))
	}
	m.checkAmendments(m.amend(maxAmendments+1, "v"), lock.Decision{Kind: lock.Refused, Request: 1, Revision: 1, Err: protocol.ErrFollowed})
	if len(w.amendments) != maxAmendments {
		t.Errorf("%d wait", len(w.amendments))
	}
}
