package bakery_test

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// TestDealingsAreRead: how far a ticket is at its master, which leader has answered first, from when on it has its
// place, and what comes when it has ended.
func TestDealingsAreRead(t *testing.T) {
	s := newSchedule(t, 1, 3, 1, bakery.Config{})
	s.inOrder, s.left, s.holdTurns = true, 10, 1
	s.requests = func(*schedule) lock.Request { return lock.Request{} }
	master, quick, slow := s.members[0], s.members[1], s.members[2]
	client := master.clients[0]
	is := func(step bakery.Step, first protocol.ID, late ...protocol.ID) bakery.Key {
		t.Helper()
		drawn := master.machine.Drawn()
		if len(drawn) != 1 || drawn[0].Step != step || drawn[0].First != first || !slices.Equal(drawn[0].Slow, late) || drawn[0].For != master.id {
			t.Fatalf("the master has %+v; want one ticket at step %d, of which member %d has answered first, and %v not", drawn, step, first, late)
		}
		return drawn[0].Key
	}
	// Everything to and from the slow leader stays under way.
	var held []flight
	settle := func() {
		for len(s.transit) > 0 {
			f := s.transit[0]
			if f.from == slow.id || f.to == slow.id {
				held, s.transit = append(held, f), s.transit[1:]
				continue
			}
			s.deliver()
		}
	}
	s.act(client)
	key := is(bakery.StepEntering, 0)
	if session, request, pending := master.machine.Request(key); session != client.session || request != 1 || !pending {
		t.Errorf("%v is request %d of %v, and asks: %v", key, request, session, pending)
	}
	s.deliver() // entering, at the quick one
	for s.transit[0].from != quick.id {
		held, s.transit = append(held, s.transit[0]), s.transit[1:]
	}
	s.deliver()
	is(bakery.StepAdding, quick.id, slow.id)
	if _, _, placed := master.machine.Placed(key); placed {
		t.Error("nobody else knows its number, and it has its place")
	}
	settle()
	is(bakery.StepLocked, quick.id, slow.id)
	if name, epoch, placed := master.machine.Placed(key); name != contested || epoch != 4 || !placed {
		t.Errorf("it is placed: %v, for %q in epoch %d", placed, name, epoch)
	}
	if _, _, pending := master.machine.Request(key); pending || client.state != holds {
		t.Error("who holds asks")
	}
	if master.machine.TakenOver(key) || !master.machine.Serves() || master.machine.Rebuilds() || master.machine.ID() != 1 {
		t.Error("its master is not who it was from the beginning")
	}
	s.act(client) // it gives back
	settle()
	if drawn := master.machine.Drawn(); len(drawn) != 0 {
		t.Errorf("tickets are left: %+v", drawn)
	}
	s.transit, held = held, nil
	late := 0
	for len(s.transit) > 0 {
		if envelope, is := s.transit[0].message.(bakery.Envelope); is && s.transit[0].to == master.id && master.machine.TooLate(slow.id, &envelope) {
			late++
		}
		s.deliver()
	}
	if late == 0 {
		t.Error("the slow leader's answers have not come too late")
	}
}
