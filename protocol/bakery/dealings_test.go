package bakery_test

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// deliverBut delivers all messages except those in flight to or from a member, which it returns.
func (s *schedule) deliverBut(id protocol.ID) (held []flight) {
	for len(s.transit) > 0 {
		f := s.transit[0]
		if f.from == id || f.to == id {
			held, s.transit = append(held, f), s.transit[1:]
			continue
		}
		s.deliver()
	}
	return held
}

// TestDealingsAreRead checks the progress of a ticket at its master, the first leader to answer, the time from which it
// has its place, and late messages after its end.
func TestDealingsAreRead(t *testing.T) {
	s := newSchedule(t, 1, 3, 1, bakery.Config{})
	s.inOrder, s.left, s.holdTurns = true, 10, 1
	s.requests = func(*schedule) lock.Request { return lock.Request{} }
	master, quick, slow := s.members[0], s.members[1], s.members[2]
	client := master.clients[0]
	is := func(step probe.TicketStep, first protocol.ID, late ...protocol.ID) {
		t.Helper()
		drawn := read().Drawn(master.machine)
		if len(drawn) != 1 || drawn[0].Step != step || drawn[0].First != first || !slices.Equal(drawn[0].Slow, late) || drawn[0].Owner != master.id {
			t.Fatalf("the master has %+v; want one ticket at step %d, of which member %d has answered first, and %v not", drawn, step, first, late)
		}
	}
	finds := func(m protocol.Message) probe.Finding {
		return read().Finds(master.machine, &protocol.View{Number: 1}, slow.id, m)
	}
	// All messages to and from the slow leader stay in flight.
	var held []flight
	settle := func() { held = append(held, s.deliverBut(slow.id)...) }
	s.act(client)
	is(probe.TicketChoosing, 0)
	ticket := probe.Placed{Name: contested, Owner: master.id, Number: 1, Reign: protocol.Epoch{Counter: 4}}
	key := bakery.Key{Member: master.id, Number: 1}
	added := bakery.Envelope{Body: bakery.Added{Key: key}}
	if session, request, pending := read().Request(master.machine, ticket); session != client.session || request != 1 || !pending {
		t.Errorf("%v is request %d of %v, and asks: %v", key, request, session, pending)
	}
	s.deliver() // entering, at the quick one
	for s.transit[0].from != quick.id {
		held, s.transit = append(held, s.transit[0]), s.transit[1:]
	}
	s.deliver()
	is(probe.TicketAdded, quick.id, slow.id)
	if _, placed := read().Placed(master.machine, added); placed {
		t.Error("no other leader knows its number, and it has its place")
	}
	settle()
	is(probe.TicketLocked, quick.id, slow.id)
	if at, placed := read().Placed(master.machine, added); at != ticket || !placed {
		t.Errorf("it is placed: %v, as %+v", placed, at)
	}
	if _, _, pending := read().Request(master.machine, ticket); pending || client.state != holds {
		t.Error("who holds asks")
	}
	locked, claims := bakery.Envelope{Body: bakery.Locked{Key: key}}, bakery.Envelope{Term: bakery.Term{Epoch: 4, View: 1}, Body: bakery.Claim{Claims: []bakery.Claimed{{}}}}
	if read().TopicOf(master.machine, locked) != probe.TopicNone || !read().Serves(master.machine) || finds(claims) != probe.FindsNothing {
		t.Error("its master is not who it was from the beginning")
	}
	s.act(client) // it unlocks
	settle()
	if drawn := read().Drawn(master.machine); len(drawn) != 0 {
		t.Errorf("tickets are left: %+v", drawn)
	}
	s.transit, held = held, nil
	late := 0
	for len(s.transit) > 0 {
		if f := s.transit[0]; f.to == master.id && f.from == slow.id && finds(f.message) == probe.FindsEnded {
			late++
		}
		s.deliver()
	}
	if late == 0 {
		t.Error("the slow leader's answers have not come too late")
	}
}
