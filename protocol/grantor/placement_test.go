package grantor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

const window = 10 * time.Second

// placed is two members with placement, and the record of their grantors.
type placed struct {
	*pair
	grantor protocol.ID
	since   protocol.Time
	moves   []protocol.Time // the reign of each grantor up to the next move
	request uint64
}

// newPlaced makes member 1 the grantor.
func newPlaced(t *testing.T) *placed {
	t.Helper()
	p := &placed{pair: newPair(t, option.Values{"placement": option.Format(window)}), grantor: 1}
	p.use(1, 1)
	p.pass(window)
	return p
}

// use makes a member's client lock and unlock a number of times.
func (p *placed) use(at protocol.ID, times int) {
	s := lock.SessionID{Member: uint64(at), Number: 1}
	for range times {
		p.request++
		p.call(at, &lock.Request{Session: s, ID: p.request, Name: "X", WaitEnd: lock.Never})
		if p.last[s] != lock.Granted {
			p.t.Fatalf("request %d of member %d is %v", p.request, at, p.last[s])
		}
		p.call(at, &protocol.Release{Session: s, Request: p.request, Name: "X"})
	}
	p.order = p.order[:0]
}

// pass lets time pass, and wakes each machine that wants to be woken.
func (p *placed) pass(d time.Duration) {
	p.t.Helper()
	end := p.now + d
	for {
		at, who := protocol.Never, protocol.ID(0)
		for i, m := range p.machines {
			if wake := m.Wake(); wake < at {
				at, who = wake, protocol.ID(i+1)
			}
		}
		if at > end {
			break
		}
		p.now = max(p.now, at)
		p.step(who, protocol.Event{Kind: protocol.Tick})
		p.settle()
		p.look()
	}
	p.now = end
}

// look records a move.
func (p *placed) look() {
	p.t.Helper()
	for i, m := range p.machines {
		if _, decides := m.(*grantor.Machine).Reign(); decides && protocol.ID(i+1) != p.grantor {
			p.moves = append(p.moves, p.now-p.since)
			p.grantor, p.since = protocol.ID(i+1), p.now
		}
	}
}

// poisson draws a Poisson-distributed number.
func poisson(r *rand.Rand, mean float64) (n int) {
	for left := math.Exp(-mean); ; n++ {
		if left /= r.Float64(); left >= 1 {
			return n
		}
	}
}

// TestEqualLoadsMoveNothing checks that equal loads move nothing, despite their random variation.
func TestEqualLoadsMoveNothing(t *testing.T) {
	for _, mean := range []float64{5, 20, 80} {
		t.Run(fmt.Sprint(mean), func(t *testing.T) {
			p, r := newPlaced(t), rand.New(rand.NewPCG(1, uint64(mean)))
			for range 300 {
				for at := range 2 {
					p.use(protocol.ID(at+1), poisson(r, mean))
				}
				p.pass(window)
			}
			if len(p.moves) > 0 {
				t.Errorf("in 300 windows it moved %d times, first after %v", len(p.moves), p.moves[0])
			}
		})
	}
}

// TestLoadsThatComeAndGo checks that grantorship moves only to a member that has had the load for two windows, and not
// again before six have passed, however the load moves.
func TestLoadsThatComeAndGo(t *testing.T) {
	p, r := newPlaced(t), rand.New(rand.NewPCG(2, 7))
	var busy [2]int // for how many consecutive windows each had the load
	for n := range 400 {
		at := 0
		if last := busy[1] > busy[0]; r.IntN(3) > 0 == last { // it stays for three windows, on average
			at = 1
		}
		busy[at], busy[1-at] = busy[at]+1, 0
		before := len(p.moves)
		p.use(protocol.ID(at+1), 40)
		p.pass(window)
		if len(p.moves) > before && (p.grantor != protocol.ID(at+1) || busy[at] < 2) {
			t.Fatalf("in window %d it moved to member %d; the load was at %d for %d windows", n, p.grantor, at+1, busy[at])
		}
	}
	for _, after := range p.moves[1:] {
		if after < 6*window {
			t.Errorf("it moved again after %v", after)
		}
	}
	if n := len(p.moves); n < 10 {
		t.Errorf("in 400 windows it moved %d times; that shows little", n)
	}
}

// TestNothingIsCountedWhileIdle checks that an idle grantor does not wake up for the end of a window.
func TestNothingIsCountedWhileIdle(t *testing.T) {
	p := newPlaced(t)
	p.pass(3 * window)
	for i, m := range p.machines {
		if at := m.Wake(); at != protocol.Never {
			t.Errorf("member %d wants to be woken at %v", i+1, at)
		}
	}
	p.use(1, 1)
	if at, end := p.machines[0].Wake(), (p.now/window+1)*window; at != end {
		t.Errorf("after a lock the grantor wants to be woken at %v, want the window's end at %v", at, end)
	}
}

// TestCountingIsCheap checks that counting a lock and its unlock at the grantor does not allocate.
func TestCountingIsCheap(t *testing.T) {
	cycle := func(o option.Values) float64 {
		p := newPair(t, o)
		s := lock.SessionID{Member: 1, Number: 1}
		request, release := &lock.Request{Session: s, Name: "X", WaitEnd: lock.Never}, &protocol.Release{Session: s, Name: "X"}
		return testing.AllocsPerRun(1000, func() {
			request.ID++
			release.Request = request.ID
			for _, fact := range []any{request, release} {
				p.machines[0].Step(p.now, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact}, &p.out)
				p.out.Reset()
			}
		})
	}
	if off, on := cycle(nil), cycle(option.Values{"placement": option.Format(window)}); on != off {
		t.Errorf("%v allocations with placement, and %v without", on, off)
	}
}
