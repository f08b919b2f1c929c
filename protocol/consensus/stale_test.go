package consensus

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// freeze stops a member with its clock during meanwhile: nothing reaches it, and it does nothing.
func (o *once) freeze(m *member, meanwhile func()) {
	o.Helper()
	if len(m.journalRequests) > 0 {
		o.Fatalf("the journal of %s is asked for something; freeze it when it is quiet", m.name())
	}
	machine, since := m.machine, o.now
	m.machine = nil
	meanwhile()
	m.machine, m.start = machine, m.start+o.now-since
}

// TestStaleLeaderRefusesShow checks a leader that was frozen while others have replaced it, and have granted what it
// believes to be held to another client. It shows nothing, confirms no session, and grants and breaks nothing. If it
// reaches no member it reports that in time; otherwise it first learns what the others have done.
func TestStaleLeaderRefusesShow(t *testing.T) {
	for name, cut := range map[string]bool{"cut off": true, "among the others": false} {
		t.Run(name, func(t *testing.T) {
			o := layOnce(t)
			o.call(o.b, 1, &protocol.Enroll{Session: client7, TTL: time.Hour})
			o.call(o.c, 1, &protocol.Enroll{Session: client8, TTL: time.Hour})
			first := o.take(o.b, client7, 1, "x")
			second := holdfast.Token(0)
			o.freeze(o.b, func() {
				o.pass(2 * time.Second)
				o.call(o.c, 1, &protocol.Adopt{Session: client7, Requests: []uint64{1}, Last: 1})
				o.pass(time.Second)
				o.only(o.c, &protocol.Release{Session: client7, Request: 1, Name: "x"}, lock.Released)
				second = o.take(o.c, client8, 1, "x")
				if cut {
					for _, m := range []*member{o.a, o.c} {
						o.cut[[2]protocol.ID{m.id, o.b.id}], o.cut[[2]protocol.ID{o.b.id, m.id}] = true, true
					}
				}
			})
			if !o.b.machine.parts[0].shard.Leads() || o.a.machine.parts[0].leader == uint64(o.b.id) {
				t.Fatalf("b leads by its own word: %t, and by that of a member %d does", o.b.machine.parts[0].shard.Leads(), o.a.machine.parts[0].leader)
			}
			if l := o.shown(&protocol.Show{Name: "x", Stale: true}); l == nil || l.Holders[0].Token != first {
				t.Fatalf("b has %+v; want it to know nothing of what came behind token %v", l, first)
			}
			o.queryStale(cut, second)
		})
	}
}

// queryStale makes every call to the replaced leader that only a leader can answer.
func (o *once) queryStale(cut bool, latest holdfast.Token) {
	o.Helper()
	from := len(*o.replies)
	o.call(o.b, 2, &protocol.Show{Name: "x"})
	o.call(o.b, 3, &protocol.Scan{Limit: 10})
	o.call(o.b, 4, &protocol.Copy{})
	o.call(o.b, 5, &protocol.Beat{Session: client7})
	o.call(o.b, 6, o.lock(o.b, client7, 9, "y"))
	o.pass(3 * time.Second)
	answers := map[uint64]bool{}
	for _, reply := range (*o.replies)[from:] {
		answers[reply.To.Op] = true
		switch r := reply.Result.(type) {
		case *lock.Lock:
			if cut || len(r.Holders) != 1 || r.Holders[0].Token != latest {
				o.Errorf("b, which others have replaced, shows %+v; want token %v, or nothing where it is cut off", r, latest)
			}
		case *protocol.Scanned:
			for i := range r.Locks {
				if l := &r.Locks[i]; cut || l.Name == "x" && l.Holders[0].Token != latest {
					o.Errorf("b, which others have replaced, lists %+v", r.Locks)
				}
			}
		case *protocol.Copied, *protocol.Beaten:
			if cut {
				o.Errorf("b, which others have replaced and which reaches no member, answers %+v", r)
			}
		case *protocol.Unanswered:
			if !cut || !errors.Is(r.Err, holdfast.ErrUnavailable) {
				o.Errorf("call %d is unanswered: %v", reply.To.Op, r.Err)
			}
		case nil:
			if cut && reply.Decision.Kind == lock.Granted {
				o.Errorf("b, which others have replaced, grants %+v", reply.Decision)
			}
		}
	}
	for _, op := range []uint64{2, 3, 4} {
		if !answers[op] {
			o.Errorf("call %d has no answer; want that it is unavailable, or what is so", op)
		}
	}
	if cut == answers[5] {
		o.Errorf("a beat that b was asked for is confirmed: %t, and b is cut off: %t", answers[5], cut)
	}
}

// shown asks b for a name, and returns its immediate answer.
func (o *once) shown(show *protocol.Show) *lock.Lock {
	o.Helper()
	for _, reply := range o.call(o.b, 8, show) {
		if l, is := reply.Result.(*lock.Lock); is {
			return l
		}
	}
	return nil
}
