package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// memorySpaces makes a space of each protocol that keeps its locks in memory.
var memorySpaces = map[string]func(size int) func(protocol.ID) (protocol.Machine, error){
	"central": func(int) func(protocol.ID) (protocol.Machine, error) { return coordinated },
	"grantor": func(int) func(protocol.ID) (protocol.Machine, error) {
		return func(self protocol.ID) (protocol.Machine, error) {
			return grantor.New(grantor.Config{Config: authority.Config{Self: self}})
		}
	},
	"permission": func(int) func(protocol.ID) (protocol.Machine, error) {
		return func(self protocol.ID) (protocol.Machine, error) {
			return permission.New(permission.Config{Self: self})
		}
	},
	"bakery": func(size int) func(protocol.ID) (protocol.Machine, error) {
		return func(self protocol.ID) (protocol.Machine, error) {
			return bakery.New(bakery.Config{Self: self, Founders: size})
		}
	},
}

const (
	longTTL = 20 * time.Second
	// found is how long others may take to notice a loss, to elect and to agree, on links that take
	// no time to speak of: far less than a long ttl.
	found = 3 * time.Second
)

// leaseBound is the lease of a lost member, by the slower clock, and leaseBound + reachBound
// what its clients may believe who were promised longTTL.
var (
	leaseBound = drainLease * 105 / 100
	reachBound = protocol.ReachOf(longTTL * 105 / 100).Span()
)

// TestLossCostsWhatWasPromised: when a member is lost, or restarts, a name that no client holds is
// granted within the lease bound, regardless of what the clients of other members were promised,
// and of what its own ones believe no longer. Its own clients' belief is waited for, and an eighth
// more at most.
func TestLossCostsWhatWasPromised(t *testing.T) {
	for name, space := range memorySpaces {
		for _, size := range []int{1, 2, 3, 5} {
			for _, coordinator := range []bool{false, true} {
				if size == 2 && (coordinator || name == "bakery") || size == 1 && !coordinator {
					continue // of two, none goes on without the senior one, and in bakery none without the other; one alone coordinates
				}
				for what, long := range map[string]string{
					"no member's": "", "a survivor's": "survivor", "one that has ended": "ended", "its own": "own",
				} {
					if size == 1 && long == "survivor" {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d members/coordinator=%v/%s", name, size, coordinator, what), func(t *testing.T) {
						t.Parallel()
						lose(t, newSimCluster(t, size, space(size)), coordinator, long)
					})
				}
			}
		}
	}
}

// lose ends a member, or restarts the only one, and asks for a name through another.
func lose(t *testing.T, w *simCluster, coordinator bool, long string) {
	w.run(10 * time.Second)
	lost, other := w.choose(coordinator)
	var survivor *simClient
	switch long {
	case "survivor":
		survivor = w.open(other, longTTL, 0)
		survivor.acquire("long")
	case "ended", "own":
		c := w.open(lost, longTTL, 0)
		c.acquire("long")
		w.run(2 * time.Second)
		if !c.granted {
			t.Fatal("the long session holds nothing")
		}
		if c.gone = true; long == "ended" {
			w.callAt(lost, c.sink, &session.End{ID: c.id, Proven: true}, func(any) {})
			w.run(2 * time.Second)
		}
	}
	w.run(2 * time.Second)
	if survivor != nil && !survivor.granted {
		t.Fatal("the long session holds nothing")
	}
	lost.dead = true
	since := w.now
	if lost == other {
		w.run(time.Second / 10)
		w.begin(lost)
	}
	w.run(time.Second / 2)
	name, most := "free", found+leaseBound
	if long == "own" {
		name, most = "long", most+reachBound // for as long as its client may believe, and not much longer
	}
	c := w.open(other, drainLease/2, 0)
	c.acquire(name)
	for !c.granted && w.now < since+most {
		w.run(time.Second / 10)
	}
	switch {
	case !c.granted:
		t.Errorf("%q is not granted %v after the loss", name, most)
	case long == "own" && w.now < since+longTTL*3/4:
		t.Errorf("%q is granted %v after the loss, and its holder may believe for %v", name, w.now-since, longTTL)
	}
	if survivor != nil {
		survivor.release("long") // or it was lost, which is an error
	}
}

// TestShorterRequest: a client that asks for less than before may not hear the answer, and goes by the
// earlier one. So others wait for that; without the rule they do not.
func TestShorterRequest(t *testing.T) {
	defer mutation.Switch("")
	const rule = "less is wanted, less is waited for"
	for _, mutated := range []string{"", rule} {
		mutation.Switch(mutated)
		w := newSimCluster(t, 3, coordinated)
		w.run(10 * time.Second)
		lost, other := w.choose(false)
		c := w.open(lost, longTTL, 0)
		c.acquire("long")
		w.run(2 * time.Second)
		believed := c.deadline
		c.gone = true
		w.call(lost, &session.Renew{ID: c.id, Proven: true, TTL: time.Second, Arrived: w.now}, func(any) {})
		w.run(2 * time.Second)
		lost.dead = true
		successor := w.open(other, drainLease/2, 0)
		successor.acquire("long")
		for !successor.granted && w.now < believed+longTTL {
			w.run(time.Second / 10)
		}
		if !successor.granted || (w.now < believed) != (mutated == rule) {
			t.Errorf("without %q: granted=%v at %v, and its holder believes until %v", mutated, successor.granted, w.now, believed)
		}
	}
}
