package consensus

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// nameIn returns a name in a shard.
func (m *Machine) nameIn(shard int) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("name", i); m.partOf(name).index == shard {
			return name
		}
	}
}

// TestRefusedUnderAFormerName checks that a shard's answer about a session of the process under its former name is
// ignored once that session has continued under another: for the beginning of its beats, and for refusals of its waits.
func TestRefusedUnderAFormerName(t *testing.T) {
	w := newWorld(t, 3, 2)
	w.limit = 1
	w.form()
	c := w.members[2]
	for _, p := range c.machine.parts {
		w.call(w.members[p.leader-1], 9, &protocol.Transfer{To: 1})
	}
	w.pass(time.Second)
	x, y := c.machine.nameIn(0), c.machine.nameIn(1)
	other, own := lock.SessionID{Member: 9, Number: 7}, lock.SessionID{Member: 9, Number: 9}
	kinds := map[lock.SessionID]map[lock.Kind]int{other: {}, own: {}}
	refusals := []error{}
	w.onReply = func(m *member, reply *protocol.Reply) {
		if reply.Result == nil {
			kinds[reply.Decision.Session][reply.Decision.Kind]++
			if reply.Decision.Kind == lock.Refused {
				refusals = append(refusals, reply.Decision.Err)
			}
		}
	}
	acquire := func(m *member, id lock.SessionID, number uint64, name string) {
		w.call(m, number, &lock.Request{Session: id, ID: number, Name: name, WaitEnd: lock.Never, Arrived: w.now - m.start})
	}
	a := w.members[0]
	w.call(a, 1, &protocol.Enroll{Session: other, TTL: time.Hour})
	acquire(a, other, 1, y) // shard 1 has its maximum of sessions
	w.call(c, 1, &protocol.Enroll{Session: own, TTL: 400 * time.Millisecond, Own: true})
	acquire(c, own, 1, x)
	w.pass(100 * time.Millisecond)
	if kinds[other][lock.Granted] != 1 || kinds[own][lock.Granted] != 1 {
		t.Fatalf("decided %v", kinds)
	}
	for _, m := range w.members[:2] {
		w.cut[[2]protocol.ID{m.id, c.id}], w.cut[[2]protocol.ID{c.id, m.id}] = true, true
	}
	acquire(c, own, 2, y) // no member answers before it has another name
	w.pass(600 * time.Millisecond)
	if kinds[own][lock.Lost] != 1 || len(refusals) != 0 {
		t.Fatalf("decided %v, refused %v; want it to have lost what it held, and to wait for more", kinds[own], refusals)
	}
	clear(w.cut)
	w.pass(2 * time.Second)
	var limit *holdfast.LimitError
	if kinds[own][lock.Refused] != 1 || len(refusals) != 1 || !errors.As(refusals[0], &limit) || limit.Limit != "sessions" {
		t.Errorf("decided %v, refused %v; want one refusal for the limit of sessions", kinds[own], refusals)
	}
}
