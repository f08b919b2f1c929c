package client

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/wire"
)

// inTurns is an option by which Clients make so many connections at a time, and share none with other tests.
func inTurns(most int) (*links, Option) {
	all := newLinks()
	all.turns = &turns{most: most, limit: time.Hour}
	return all, func(s *settings) { s.links = all }
}

// inLine is how many connections wait for their turn: of Clients with a session, and of others.
func (all *turns) inLine() [2]int {
	all.mu.Lock()
	defer all.mu.Unlock()
	var n [2]int
	for i, l := range all.lines {
		for _, t := range l {
			if !t.over {
				n[i]++
			}
		}
	}
	return n
}

// TestConnectionsAreMadeInTurn: so many connections are made at a time and no more. Those of Clients with a session come
// first, one that is not wanted any more keeps none from its turn, and one that is silent does so for a quarter of a
// second and no longer.
func TestConnectionsAreMadeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newLinks().turns
		var under []*turn
		for range mostMade {
			under = append(under, all.ask(false))
		}
		if slices.ContainsFunc(under, (*turn).waits) {
			t.Fatalf("one of the first %d waits", mostMade)
		}
		first, second, moot, hurried := all.ask(false), all.ask(false), all.ask(false), all.ask(true)
		waiting := func() (names []string) {
			for name, each := range map[string]*turn{"first": first, "second": second, "moot": moot, "hurried": hurried} {
				if each.waits() {
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
		moot.end()
		under[0].end()
		under[0].end() // twice is once
		check("when one has ended", "first", "moot", "second")
		//tidy:sleep inside a synctest bubble
		time.Sleep(raceDelay - time.Millisecond)
		synctest.Wait()
		check("before the limit", "first", "moot", "second")
		//tidy:sleep inside a synctest bubble
		time.Sleep(time.Millisecond)
		synctest.Wait()
		check("when the others were silent for the limit", "moot")
		for _, each := range append(under, first, second, hurried) {
			each.end()
		}
		if all.under != 0 || all.inLine() != [2]int{} {
			t.Errorf("%d turns count, and %v wait, when all have ended", all.under, all.inLine())
		}
	})
}

// stands waits until so many wait in line.
func (all *turns) stands(f *fake, want [2]int) {
	f.t.Helper()
	for all.inLine() != want {
		if f.ctx.Err() != nil {
			f.t.Fatalf("%v wait for their turn, want %v", all.inLine(), want)
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
	settings, err := resolve([]Option{option, withClock(clock.NewManual())})
	if err != nil {
		t.Fatal(err)
	}
	late := start(settings, []wire.Address{at(t, refusing(t))})
	all.turns.stands(one.fake, [2]int{0, 1})
	second := two.dial(two.address, option)
	all.turns.stands(one.fake, [2]int{0, 2})
	if err := late.unreachable(context.DeadlineExceeded); !strings.Contains(err.Error(), errInLine.Error()) {
		t.Errorf("the error in line is %q, want %q in it", err, errInLine)
	}
	late.stop()
	late.work.Wait()
	all.turns.stands(one.fake, [2]int{0, 1})
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
	other := all.turns.ask(false)
	s.until(func() bool { return !other.waits() }) // the Client's own turn has ended
	s.clock.Advance(testTTL / 2)
	beat := v.wantOp("beat", 0)
	all.turns.stands(s.fake, [2]int{1, 0})
	v.send(beaten(beat.GetId(), testTTL))
	s.until(func() bool { return !s.client.doubted })
	other.end()
	s.until(func() bool {
		select {
		case <-s.calls:
			t.Error("another stream was opened")
		default:
		}
		return len(s.client.contacts) == 0
	})
	s.hold(v, "x", 1)
}
