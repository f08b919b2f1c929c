package permission_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// TestDealingsAreRead checks a member's open business with its peers while a name passes between them, with kept
// permissions.
func TestDealingsAreRead(t *testing.T) {
	s := newSchedule(t, 1, 2, 1, permission.Config{Options: permission.Options{Retain: true}})
	s.holdTurns, s.left = 1, 10
	s.requests = func(*schedule) lock.Request { return lock.Request{} }
	a, b := s.members[0], s.members[1]
	settle := func() {
		for len(s.transit) > 0 {
			s.deliver()
		}
	}
	are := func(when string, ofA, ofB probe.Dealings) {
		t.Helper()
		if got := read().Dealings(a.machine); got != ofA {
			t.Errorf("%s: a has %+v; want %+v", when, got, ofA)
		}
		if got := read().Dealings(b.machine); got != ofB {
			t.Errorf("%s: b has %+v; want %+v", when, got, ofB)
		}
	}
	keeps := func(name string) bool {
		return read().Meets(a.machine, b.id, permission.Request{Name: name}) == probe.MeetsKept
	}
	s.act(a.clients[0])
	are("a asks", probe.Dealings{Waits: 1}, probe.Dealings{})
	sent := a.request
	if session, request, pending := read().Request(a.machine, sent.Number); session != a.clients[0].session || request != 1 || !pending {
		t.Errorf("number %d of a is request %d of %v, and asks: %v", sent.Number, request, session, pending)
	}
	if read().Heard(b.machine, a.id, sent) {
		t.Error("b has heard what is under way to it")
	}
	s.act(b.clients[0])
	s.deliver()
	s.deliver()
	are("both ask", probe.Dealings{Waits: 1, Defers: 1}, probe.Dealings{Waits: 1})
	if !read().Heard(b.machine, a.id, sent) {
		t.Error("b has not heard of a's request, which has reached it")
	}
	other := sent
	other.View++
	if read().Heard(b.machine, a.id, other) || read().Heard(b.machine, 7, sent) {
		t.Error("b has heard what is of another view, or of no member")
	}
	settle()
	are("a holds", probe.Dealings{Holds: 1, Keeps: 1}, probe.Dealings{Waits: 1})
	if _, request, pending := read().Request(a.machine, sent.Number); request != 1 || pending {
		t.Errorf("number %d has entered, and is request %d, and asks: %v", sent.Number, request, pending)
	}
	if !keeps(contested) || keeps("another") {
		t.Error("a keeps b's permission for the contested name, and for no other")
	}
	s.act(a.clients[0]) // it unlocks
	settle()
	are("b holds", probe.Dealings{}, probe.Dealings{Holds: 1, Keeps: 1})
	if session, _, _ := read().Request(a.machine, sent.Number); session != (lock.SessionID{}) {
		t.Errorf("number %d has ended, and is one of %v", sent.Number, session)
	}
	if keeps(contested) {
		t.Error("a keeps what it has given back")
	}
	s.act(b.clients[0])
	settle()
	are("no member holds", probe.Dealings{}, probe.Dealings{Keeps: 1})
	s.step(b, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Lapsed{Tenure: protocol.Tenure{Lapses: 1}}})
	if read().Heard(b.machine, a.id, sent) || read().Dealings(b.machine) != (probe.Dealings{}) {
		t.Errorf("b has no lease any more, and has %+v", read().Dealings(b.machine))
	}
}
