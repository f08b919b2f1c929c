package session

import (
	"math/rand/v2"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// fickle is a stack with a lease for ever, that allows every horizon, grants every request
// and takes it back at once.
type fickle struct{}

func (fickle) Wake() protocol.Time { return protocol.Never }

func (fickle) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Start {
		out.Raise(&protocol.View{Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}})
	}
	switch fact := ev.Fact.(type) {
	case *protocol.NeedHorizon:
		out.Raise(&protocol.Horizon{Answer: true, Confirmed: fact.Want, Clients: fact.Clients})
	case *lock.Request:
		d := lock.Decision{Kind: lock.Granted, Session: fact.Session, Request: fact.ID, Name: fact.Name, Token: holdfast.Token(fact.ID)}
		out.Decide(ev.Call, &d)
		d.Kind, d.Loss = lock.Lost, holdfast.HoldLimit
		out.Decide(protocol.CallID{}, &d)
	}
}

// TestLossesAreBounded: of the losses it could not report, a session remembers the latest, and
// what was handed out already does not change under its reader.
func TestLossesAreBounded(t *testing.T) {
	machine, err := New(Config{Member: 1, Incarnation: 1, Rand: rand.New(rand.NewPCG(1, 2)), Spaces: 1}, fickle{})
	if err != nil {
		t.Fatal(err)
	}
	machine.Step(0, protocol.Event{Kind: protocol.Start}, &protocol.Effects{})
	call := func(port protocol.Port, fact any) any {
		var out protocol.Effects
		machine.Step(1, protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact}, &out)
		return out.Replies[0].Result
	}
	opened := call(protocol.Below, &Open{Kind: OneShot}).(*Opened)
	renew := func() []Lost {
		return call(protocol.Below, &Renew{ID: opened.ID, Secret: opened.Secret}).(*Renewed).Lost
	}
	for id := range uint64(maxLost) {
		call(1, &lock.Request{Session: opened.ID, ID: id + 1, Name: "x"})
	}
	full := renew()
	for id := range uint64(3) {
		call(1, &lock.Request{Session: opened.ID, ID: maxLost + id + 1, Name: "x"})
	}
	later := renew()
	for first, lost := range map[uint64][]Lost{1: full, 4: later} {
		if len(lost) != maxLost {
			t.Fatalf("%d losses are reported, want %d", len(lost), maxLost)
		}
		for i := range lost {
			if got, want := lost[i].Decision.Request, first+uint64(i); got != want {
				t.Fatalf("loss %d is of request %d, want %d", i, got, want)
			}
		}
	}
}
