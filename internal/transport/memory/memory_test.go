package memory_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/memory"
	"github.com/holdfast-locks/holdfast/protocol"
)

type text string

func (w text) String() string { return string(w) }

// ear is a member that writes down what it hears.
type ear struct {
	*memory.Member
	heard []string
}

func join(t *testing.T, n *memory.Network, id protocol.ID, address string) *ear {
	t.Helper()
	m, err := n.Join(transport.Identity{ID: id, Address: address})
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{Member: m}
	e.Listen(func(events []protocol.Event) {
		for _, ev := range events {
			e.heard = append(e.heard, fmt.Sprintf("%d/%d %v", ev.From, ev.Port, ev.Fact))
		}
	})
	return e
}

func (e *ear) take() []string {
	heard := e.heard
	e.heard = nil
	return heard
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// say sends words to a member.
func (e *ear) say(to protocol.ID, texts ...text) {
	for _, w := range texts {
		e.Send([]protocol.Envelope{{To: to, Port: 3, Message: w}})
	}
}

// TestDelivers by id and by address, in order, and to oneself.
func TestDelivers(t *testing.T) {
	n := memory.New(nil)
	a, b := join(t, n, 1, "a:1"), join(t, n, 2, "b:1")
	a.say(2, "one", "two")
	a.Send([]protocol.Envelope{
		{To: protocol.AnyMember, Address: "b:1", Message: text("three")},
		{To: protocol.AnyMember, Address: "a:1", Message: text("self")},
		{To: protocol.AnyMember, Address: "c:1", Message: text("away")},
		{To: 9, Message: text("away")},
	})
	if len(a.heard)+len(b.heard) != 0 || len(n.Waiting()) != 6 {
		t.Fatalf("heard %q and %q before it was delivered, %v waiting", a.heard, b.heard, n.Waiting())
	}
	if arrived := n.Deliver(); arrived != 4 {
		t.Errorf("%d messages have arrived", arrived)
	}
	same(t, "a", a.take(), []string{"1/0 self"})
	same(t, "b", b.take(), []string{"1/3 one", "1/3 two", "1/0 three"})
}

// TestDeliversAnswers: what is sent while something is delivered goes the same way.
func TestDeliversAnswers(t *testing.T) {
	n := memory.New(nil)
	a, b := join(t, n, 1, "a:1"), join(t, n, 2, "b:1")
	b.Listen(func(events []protocol.Event) { b.say(events[0].From, "answer to "+events[0].Fact.(text)) })
	a.say(2, "one", "two")
	if arrived := n.Deliver(); arrived != 4 {
		t.Errorf("%d messages have arrived", arrived)
	}
	same(t, "a", a.take(), []string{"2/3 answer to one", "2/3 answer to two"})
}

// TestScript: losses, copies and delays are the script's.
func TestScript(t *testing.T) {
	n := memory.New(func(p memory.Passage) []time.Duration {
		switch p.Message.String() {
		case "lost":
			return nil
		case "twice":
			return []time.Duration{0, 2 * time.Second}
		case "late":
			return []time.Duration{time.Second}
		}
		return []time.Duration{0}
	})
	a, b := join(t, n, 1, "a:1"), join(t, n, 2, "b:1")
	a.say(2, "lost", "twice", "late", "plain")
	n.Deliver()
	same(t, "at once", b.take(), []string{"1/3 twice", "1/3 plain"})
	if arrived := n.Advance(999 * time.Millisecond); arrived != 0 {
		t.Errorf("%d messages arrived early", arrived)
	}
	n.Advance(time.Millisecond)
	same(t, "after a second", b.take(), []string{"1/3 late"})
	n.Obey(nil)
	a.say(2, "lost")
	n.Advance(time.Hour)
	same(t, "after an hour", b.take(), []string{"1/3 lost", "1/3 twice"})
}

// TestPassagesAreNumbered, so that a script can mean the third message.
func TestPassagesAreNumbered(t *testing.T) {
	var seen []string
	n := memory.New(func(p memory.Passage) []time.Duration {
		seen = append(seen, fmt.Sprintf("%d: %d to %d at %s port %d: %v", p.Number, p.From, p.To, p.Address, p.Port, p.Message))
		return nil
	})
	a := join(t, n, 1, "a:1")
	join(t, n, 2, "b:1")
	a.say(2, "x")
	a.say(9, "y")
	same(t, "seen", seen, []string{"1: 1 to 2 at b:1 port 3: x", "2: 1 to 9 at  port 3: y"})
}

// TestComesAndGoes: a member that has left gets nothing; one that comes to its address
// gets what is for any member there, and what is for its own id.
func TestComesAndGoes(t *testing.T) {
	n := memory.New(nil)
	a, b := join(t, n, 1, "a:1"), join(t, n, 2, "b:1")
	a.say(2, "late for b")
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	b.say(1, "from the grave")
	n.Deliver()
	c := join(t, n, 3, "b:1")
	a.say(2, "for b")
	a.Send([]protocol.Envelope{{To: protocol.AnyMember, Address: "b:1", Message: text("any")}})
	n.Deliver()
	same(t, "a", a.take(), nil)
	same(t, "b", b.take(), nil)
	same(t, "c", c.take(), []string{"1/0 any"})
}

func TestJoinRefuses(t *testing.T) {
	n := memory.New(nil)
	if _, err := n.Join(transport.Identity{ID: 1}); err == nil {
		t.Error("a member without an address has joined")
	}
	join(t, n, 1, "a:1")
	var refusal *transport.Refusal
	if _, err := n.Join(transport.Identity{ID: 1, Address: "b:1"}); !errors.As(err, &refusal) || refusal.What != transport.SameID {
		t.Errorf("two members have one id: %v", err)
	}
}

// TestDeterminism: the same script gives the same run.
func TestDeterminism(t *testing.T) {
	run := func() []string {
		random := rand.New(rand.NewPCG(3, 4))
		n := memory.New(func(memory.Passage) []time.Duration {
			delays := make([]time.Duration, random.IntN(3))
			for i := range delays {
				delays[i] = time.Duration(random.IntN(20))
			}
			return delays
		})
		a, b := join(t, n, 1, "a:1"), join(t, n, 2, "b:1")
		for i := range 100 {
			a.say(2, text(fmt.Sprint(i)))
			b.say(1, text(fmt.Sprint(-i)))
			n.Advance(time.Duration(random.IntN(10)))
		}
		return append(a.heard, b.heard...)
	}
	same(t, "second run", run(), run())
}
