package session_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// promising is a stack with a lease for ever, that allows every horizon at once.
type promising struct{}

func (promising) Wake() protocol.Time { return protocol.Never }

func (promising) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Start {
		out.Raise(&protocol.View{Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}})
	}
	if need, ok := ev.Fact.(*protocol.NeedHorizon); ok {
		out.Raise(&protocol.Horizon{Answer: true, Confirmed: need.Want, Clients: need.Clients})
	}
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func newMachine(t *testing.T, c session.Config) *session.Machine {
	t.Helper()
	machine, err := session.New(c, promising{})
	if err != nil {
		t.Fatal(err)
	}
	machine.Step(0, protocol.Event{Kind: protocol.Start}, &protocol.Effects{})
	return machine
}

// leased is a stack with a lease for ever, whose members remember no promise beyond it.
type leased struct{ promising }

func (l leased) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if need, ok := ev.Fact.(*protocol.NeedHorizon); ok {
		out.Raise(&protocol.Horizon{Answer: true, Clients: need.Clients})
		return
	}
	l.promising.Step(now, ev, out)
}

// TestCutTTL: a ttl that is shorter than its client has asked for has a reason; one that is not asked for, or less only by
// what has passed of the lease, has none.
func TestCutTTL(t *testing.T) {
	for _, tt := range []struct {
		stack protocol.Machine
		ttl   time.Duration
		want  session.Cut
	}{
		{promising{}, time.Minute, session.Uncut},
		{promising{}, time.Hour, session.CutByLimit},
		{leased{}, 3 * time.Second, session.Uncut},
		{leased{}, 10 * time.Second, session.CutByHorizon},
		{leased{}, time.Hour, session.CutByHorizon},
		{leased{}, 0, session.Uncut},
	} {
		machine, err := session.New(session.Config{Member: 1, Incarnation: 1, Rand: seeded(), Spaces: 1}, tt.stack)
		if err != nil {
			t.Fatal(err)
		}
		machine.Step(0, protocol.Event{Kind: protocol.Start}, &protocol.Effects{})
		opened := open(t, machine, session.Open{Kind: session.Stream, TTL: tt.ttl})
		if opened.Err != nil || opened.Cut != tt.want {
			t.Errorf("%T, %v is asked for: %+v, want cut %d", tt.stack, tt.ttl, opened, tt.want)
		}
	}
}

// TestCutByEnrolment: a durable space keeps a session no longer than for what it was opened with.
func TestCutByEnrolment(t *testing.T) {
	d := newAllLasting(t, 7)
	s := d.open(1, session.Stream, time.Minute)
	d.lock(1, onlyPort, s.ID, 1, "a")
	renewed := answered[*session.Renewed](d, d.renew(s, time.Hour))
	if renewed == nil || renewed.Cut != session.CutByEnrolment || renewed.TTL != time.Minute {
		t.Errorf("an hour is asked for, and a minute was: %+v", renewed)
	}
}

// open opens a session and returns the answer.
func open(t *testing.T, machine *session.Machine, fact session.Open) *session.Opened {
	t.Helper()
	var out protocol.Effects
	call := protocol.CallID{Sink: 1, Op: 1}
	machine.Step(time.Second, protocol.Event{Kind: protocol.Call, Call: call, Fact: &fact}, &out)
	if len(out.Replies) != 1 || out.Replies[0].To != call {
		t.Fatalf("opening is answered by %+v", out.Replies)
	}
	return out.Replies[0].Result.(*session.Opened)
}

func TestNewNamesTheWrongField(t *testing.T) {
	good := session.Config{Member: 1, Incarnation: 1, Rand: seeded(), Spaces: 1}
	newMachine(t, good)
	for field, spoil := range map[string]func(*session.Config){
		"Member is 0":   func(c *session.Config) { c.Member = 0 },
		"Rand is nil":   func(c *session.Config) { c.Rand = nil },
		"Spaces is 0":   func(c *session.Config) { c.Spaces = 0 },
		"Spaces is -1":  func(c *session.Config) { c.Spaces = -1 },
		"Drift is -0.1": func(c *session.Config) { c.Drift = -0.1 },
		"Drift is 0.6":  func(c *session.Config) { c.Drift = 0.6 },
		"Lease -1s":     func(c *session.Config) { c.Lease = -time.Second },
		"TTL -1s":       func(c *session.Config) { c.TTL = -time.Second },
		"MaxTTL -1s":    func(c *session.Config) { c.MaxTTL = -time.Second },
		"Sessions -1":   func(c *session.Config) { c.Sessions = -1 },
		"MaxTTL is 25h": func(c *session.Config) { c.MaxTTL = 25 * time.Hour },
	} {
		wrong := good
		spoil(&wrong)
		if _, err := session.New(wrong, promising{}); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("want an error that says %q: %v", field, err)
		}
	}
}

// TestSecretsDiffer, and no id comes back: within a life, in the next, and at
// another member.
func TestSecretsDiffer(t *testing.T) {
	ids := map[lock.SessionID]bool{}
	secrets := map[session.Secret]bool{}
	random := seeded()
	n := 0
	for _, life := range []session.Config{
		{Member: 1, Incarnation: 1}, {Member: 1, Incarnation: 2}, {Member: 1, Incarnation: 3}, {Member: 2, Incarnation: 1},
	} {
		life.Rand, life.Spaces = random, 1
		machine := newMachine(t, life)
		for i := range 500 {
			kind := []session.Kind{session.Local, session.Stream, session.OneShot}[i%3]
			opened := open(t, machine, session.Open{Kind: kind})
			if opened.Err != nil || opened.ID.Member != uint64(life.Member) {
				t.Fatalf("%+v", opened)
			}
			ids[opened.ID], secrets[opened.Secret] = true, true
			n++
			if i%2 == 0 { // an id that was given back is not given out again
				var out protocol.Effects
				machine.Step(time.Second, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 2}, Fact: &session.End{ID: opened.ID, Secret: opened.Secret}}, &out)
				if ended := out.Replies[len(out.Replies)-1].Result.(*session.Ended); ended.Err != nil {
					t.Fatal(ended.Err)
				}
			}
		}
	}
	if len(ids) != n || len(secrets) != n || secrets[session.Secret{}] {
		t.Errorf("%d sessions had %d ids and %d secrets", n, len(ids), len(secrets))
	}
}

// TestLimits: a session too many is refused by name, one TTL too long is cut.
func TestLimits(t *testing.T) {
	machine := newMachine(t, session.Config{Member: 1, Incarnation: 1, Rand: seeded(), Spaces: 1, Sessions: 2, MaxTTL: time.Minute})
	first := open(t, machine, session.Open{Kind: session.Stream, TTL: time.Hour})
	if first.Err != nil || first.TTL > time.Minute || first.TTL < 50*time.Second {
		t.Errorf("an hour was wanted, a minute is the limit: %+v", first)
	}
	if first.Cut != session.CutByLimit {
		t.Errorf("an hour is cut: %v, want the limit", first.Cut)
	}
	if second := open(t, machine, session.Open{Kind: session.OneShot}); second.Err != nil || second.TTL > 10*time.Second || second.TTL < 9*time.Second {
		t.Errorf("without a wish: %+v", second)
	}
	for range 2 { // sessions of the process itself take no room from its clients'
		if local := open(t, machine, session.Open{Kind: session.Local}); local.Err != nil {
			t.Errorf("a session of the process: %v", local.Err)
		}
	}
	for _, kind := range []session.Kind{session.Local, session.Stream, session.OneShot} {
		third := open(t, machine, session.Open{Kind: kind})
		var limit *holdfast.LimitError
		if !errors.As(third.Err, &limit) || limit.Limit != "sessions" || limit.Value != 2 || third.ID != (lock.SessionID{}) {
			t.Errorf("a session too many: %+v", third)
		}
	}
}

// TestEndedSessionsLeaveNothing: a flood of sessions with the longest TTL, each ended at
// once, keeps no memory until those times have come.
func TestEndedSessionsLeaveNothing(t *testing.T) {
	machine := newMachine(t, session.Config{Member: 1, Incarnation: 1, Rand: seeded(), Spaces: 1, Sessions: 2})
	churn := func(n int) {
		for range n {
			opened := open(t, machine, session.Open{Kind: session.OneShot, TTL: time.Hour})
			if opened.Err != nil {
				t.Fatal(opened.Err)
			}
			end := &session.End{ID: opened.ID, Secret: opened.Secret}
			machine.Step(time.Second, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 2}, Fact: end}, &protocol.Effects{})
		}
	}
	churn(1000)
	before := heapInUse()
	churn(200_000) // 16 bytes of each would be 3 MiB
	if grown := heapInUse() - before; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// heapInUse is what is in use after a collection.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
