package consensus

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestReleaseUnseen checks a release that was done while its member lagged, and is only part of a snapshot there. For a
// session that it no longer serves, the member answers that the outcome of the release is unknown.
func TestReleaseUnseen(t *testing.T) {
	w := newWorld(t, 3, 1)
	w.every = 20
	w.form()
	a, c := w.members[0], w.members[2]
	w.call(w.members[c.machine.parts[0].leader-1], 9, &protocol.Transfer{To: 1})
	w.pass(time.Second)
	holder, thief := lock.SessionID{Member: 9, Number: 7}, lock.SessionID{Member: 9, Number: 8}
	granted, answers := holdfast.Token(0), []lock.Decision{}
	w.onReply = func(_ *member, reply *protocol.Reply) {
		switch d := reply.Decision; {
		case d.Session == holder && d.Kind == lock.Granted:
			granted = d.Token
		case d.Session == thief && d.Name == "x":
			answers = append(answers, d)
		}
	}
	acquire := func(m *member, id lock.SessionID, number uint64, name string) {
		w.call(m, number, &lock.Request{Session: id, ID: number, Name: name, WaitEnd: lock.Never, Arrived: w.now - m.start})
		w.pass(100 * time.Millisecond)
	}
	w.call(a, 1, &protocol.Enroll{Session: holder, TTL: time.Hour})
	w.call(c, 1, &protocol.Enroll{Session: thief, TTL: time.Hour})
	acquire(a, holder, 1, "x")
	acquire(c, thief, 1, "y")
	token := granted
	for _, m := range w.members[:2] {
		w.cut[[2]protocol.ID{m.id, c.id}] = true // it does not hear the outcome
	}
	w.call(c, 2, &protocol.Release{Session: thief, Name: "x", Token: token})
	w.pass(10 * time.Millisecond)
	for _, m := range w.members[:2] {
		w.cut[[2]protocol.ID{c.id, m.id}] = true
	}
	w.call(c, 3, &protocol.Dismiss{Session: thief})
	for number := range uint64(600) {
		acquire(a, holder, number+2, "z")
		w.call(a, 100, &protocol.Cancel{Session: holder, Name: "z", Request: number + 2})
	}
	w.pass(time.Second)
	clear(w.cut)
	w.pass(2 * time.Second)
	if len(answers) != 1 || answers[0].Kind != lock.Refused || !errors.Is(answers[0].Err, holdfast.ErrUnavailable) {
		t.Errorf("the release of what another session holds is answered %+v", answers)
	}
}
