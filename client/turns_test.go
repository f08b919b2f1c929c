package client

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/turns"
)

// inTurns is an option by which Clients make so many connections at a time, and share none with other tests.
func inTurns(most int) (*links, Option) {
	all := newLinks()
	all.turns = turns.New(most, time.Hour)
	return all, func(s *settings) { s.links = all }
}

// TestConnectionsAreMadeInTurn: so many connections are made at a time and no more. Those of Clients with a session come
// first, one that is not wanted any more keeps none from its turn, and one that is silent does so for a quarter of a
// second and no longer.
func TestConnectionsAreMadeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newLinks().turns
		var under []*turns.Turn
		for range mostMade {
			under = append(under, all.Enqueue(false))
		}
		if slices.ContainsFunc(under, (*turns.Turn).Waits) {
			t.Fatalf("one of the first %d waits", mostMade)
		}
		first, second, moot, urgent := all.Enqueue(false), all.Enqueue(false), all.Enqueue(false), all.Enqueue(true)
		waiting := func() (names []string) {
			for name, each := range map[string]*turns.Turn{"first": first, "second": second, "moot": moot, "hurried": urgent} {
				if each.Waits() {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names
		}
		check := func(when string, want ...string) {
			t.Helper()
			if got := waiting(); !slices.Equal(got, want) {
				t.Errorf("%s these wait: %v, want %v", when, got, want)
			}
		}
		check("while all turns are taken", "first", "hurried", "moot", "second")
		moot.End()
		under[0].End()
		under[0].End() // twice is once
		check("when one has ended", "first", "second")
		time.Sleep(session.RaceDelay - time.Millisecond) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		check("before the limit", "first", "second")
		time.Sleep(time.Millisecond) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		check("when the others were silent for the limit")
		for _, each := range append(under, first, second, urgent) {
			each.End()
		}
		if counting, waiting := all.State(); counting != 0 || waiting != [2]int{} {
			t.Errorf("%d turns count, and %v wait, when all have ended", counting, waiting)
		}
	})
}

// stand waits until so many connections wait for their turn: of Clients with a session, and of others.
func (all *links) stand(f *fake, want [2]int) {
	f.t.Helper()
	for {
		_, waiting := all.turns.State()
		if waiting == want {
			return
		}
		if f.ctx.Err() != nil {
			f.t.Fatalf("%v wait for their turn, want %v", waiting, want)
		}
		runtime.Gosched()
	}
}

// TestDialInTurn: a Client asks its address when its turn to make a connection has come. One whose time is over before
// says what it waited for, and keeps no other Client from its turn.
func TestDialInTurn(t *testing.T) {
	all, option := inTurns(1)
	one, two := newStageUndialled(newFake(t)), newStageUndialled(newFake(t))
	first := one.dial(one.address, option)
	greeted := one.accept() // and not welcomed yet
	settings, err := resolve([]Option{option, withClock(clocktest.NewManual())})
	if err != nil {
		t.Fatal(err)
	}
	late := start(settings, []api.Address{at(t, refusing(t))})
	all.stand(one.fake, [2]int{0, 1})
	second := two.dial(two.address, option)
	all.stand(one.fake, [2]int{0, 2})
	if err := late.overdue(context.DeadlineExceeded); !strings.Contains(err.Error(), errInLine.Error()) {
		t.Errorf("the error in line is %q, want %q in it", err, errInLine)
	}
	late.stop()
	late.work.Wait()
	all.stand(one.fake, [2]int{0, 1})
	greeted.welcome("a-1", testTTL)
	one.finish(first)
	two.accept().welcome("b-1", testTTL)
	two.finish(second)
}

// TestDoubtEndsInLine: a Client that doubts its stream, and hears on it before its turn to make another connection comes,
// makes none.
func TestDoubtEndsInLine(t *testing.T) {
	all, option := inTurns(1)
	s, v := newStage(t, option)
	other := all.turns.Enqueue(false)
	s.until(func() bool { return !other.Waits() }) // the Client's own turn has ended
	s.clock.Advance(testTTL / 2)
	beat := v.wantOp("beat", 0)
	all.stand(s.fake, [2]int{1, 0})
	v.send(beaten(beat.GetId(), testTTL))
	s.until(func() bool { return !s.client.machine.Doubted() })
	other.End()
	s.until(func() bool {
		select {
		case <-s.calls:
			t.Error("another stream was opened")
		default:
		}
		return s.client.machine.Asking() == 0
	})
	s.hold(v, "x", 1)
}
