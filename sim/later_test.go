package sim

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// still is a world whose members have formed a view, and in which nothing happens by itself: a test can cause the given
// faults.
func still(t *testing.T, members int, faults Faults) *world {
	t.Helper()
	c := config("central")
	c.Faults, c.Members = 0, members
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(&c, 1, nil, newCounts(false))
	w.weather = calm()
	w.settings.faults, w.settings.founders = faults, members
	w.settings.workers, w.settings.locals, w.visitors = 0, false, nil
	w.settings.names = []lockName{{name: "n"}}
	if faults.Has(Any) {
		w.judge.sides = newSides(w)
	}
	for _, m := range w.members {
		m.founder = true
		w.do(0, m.start)
	}
	w.run(10 * time.Second)
	if c := w.coordinator(); c == nil || !c.powerful() {
		t.Fatal("no member may grant after 10 s without faults")
	}
	if w.judge.sides != nil {
		w.judge.sides.watch()
	}
	return w
}

// user connects a client, of which there are at least two, to a member, and to others when that member sends it away.
func user(t *testing.T, w *world, m *process) *client {
	t.Helper()
	for _, c := range w.clients {
		if c.up {
			continue
		}
		c.places = []*process{m}
		for _, other := range w.members {
			if other != m {
				c.places = append(c.places, other)
			}
		}
		c.start()
		w.run(w.now + time.Second)
		if !c.stream.connected() {
			t.Fatalf("%s is not welcomed", c)
		}
		return c
	}
	t.Fatal("there is no other client")
	return nil
}

// follower is a member that does not coordinate.
func follower(w *world) *process {
	for _, m := range w.members {
		if m != w.coordinator() {
			return m
		}
	}
	return nil
}

// TestLaterFaultsHappen checks that later faults happen in runs that end well, for each protocol that can have them.
func TestLaterFaultsHappen(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	for _, p := range Protocols() {
		for _, f := range (Later & p.Faults).All() {
			c := config(p.Name)
			c.Faults = 1 << f
			if f == Any {
				c.Faults = c.Faults.With(Partition)
			}
			happened := 0
			for first := uint64(1); first <= 24 && happened == 0; first += 6 {
				s, err := RunMany(c, first, 6, 2, nil)
				if err != nil {
					t.Fatal(err)
				}
				if w := s.Worst; w != nil {
					t.Fatalf("%s %v seed %d: %v %v\n%s", p.Name, f, w.Seed, w.Outcome, w.Violation, w.Settings)
				}
				happened = s.counts.faults[f]
			}
			if happened == 0 {
				t.Errorf("%s: %v never happens in 24 seeds", p.Name, f)
			}
		}
	}
}

// TestSuspicionsInModeAny checks wrong suspicions in a mode in which every side continues alone.
func TestSuspicionsInModeAny(t *testing.T) {
	c := config("election")
	c.Faults = 1<<Any | 1<<Suspicion
	both := 0
	for seed := uint64(1); seed <= 24; seed++ {
		result, err := Run(c, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != OK {
			t.Errorf("seed %d: %v %v", seed, result.Outcome, result.Violation)
		}
		if result.counts.faults[Suspicion] > 0 && drawn(&c, seed).faults.Has(Any) {
			both++
		}
	}
	if both == 0 {
		t.Error("no run of partition mode any has a wrong rumour")
	}
}

func drawn(c *Config, seed uint64) *settings {
	return &newWorld(c, seed, nil, newCounts(false)).settings
}

// TestHalfOfTheRunsAreAsBefore checks that some runs draw none of the later faults, and equal, byte for byte, those of
// a set without them; others do draw some.
func TestHalfOfTheRunsAreAsBefore(t *testing.T) {
	manySeeds(t)
	trace := func(c Config, seed uint64) [sha256.Size]byte {
		sum := sha256.New()
		if _, err := Run(c, seed, sum); err != nil {
			t.Fatal(err)
		}
		return [sha256.Size]byte(sum.Sum(nil))
	}
	c, before := config("central"), config("central")
	before.Faults = before.Protocol.Faults &^ Later
	same := 0
	const seeds = 30
	for seed := uint64(1); seed <= seeds; seed++ {
		if drawn(&c, seed).faults&Later != 0 {
			continue
		}
		if same++; trace(c, seed) != trace(before, seed) {
			t.Errorf("seed %d is another run because of faults that it does not have", seed)
		}
	}
	if same < seeds/4 || same > seeds*3/4 {
		t.Errorf("%d of %d seeds have none of the later faults", same, seeds)
	}
}

// TestMisfitsAreRefused checks that a founder that returns with another configuration is refused with both values, has
// no role, and costs no member a lease, and that it is admitted once its configuration is fixed.
func TestMisfitsAreRefused(t *testing.T) {
	for f := otherSpace; f <= otherVersion; f++ {
		t.Run(f.String(), func(t *testing.T) {
			w := still(t, 3, 1<<Misfit)
			c := w.coordinator()
			m := follower(w)
			m.misfit = f
			m.crash(m.life)
			m.start()
			w.run(w.now + 5*time.Second)
			if w.count.faults[Misfit] != 1 || w.judge.violation != nil {
				t.Fatalf("%d refusals, %v", w.count.faults[Misfit], w.judge.violation)
			}
			w.run(w.now + 10*time.Second)
			if left := w.unserved(); len(left) > 0 || w.coordinator() != c || w.judge.violation != nil {
				t.Errorf("%v; %v leads, %s did; %v", left, w.coordinator(), c, w.judge.violation)
			}
		})
	}
}

// TestTheJudgeSeesWhoIsRefused checks that the refusal of a right member is a violation, and a refusal without both
// values.
func TestTheJudgeSeesWhoIsRefused(t *testing.T) {
	w := still(t, 3, 1<<Misfit)
	disagreement := errorText(`membership: all members must agree, and it is "lease 3s" in the cluster and "lease 4s" here`)
	m := w.members[0]
	for name, tt := range map[string]struct {
		wrong   misfit
		err     error
		promise string
	}{
		"a misfit":                   {otherLease, disagreement, ""},
		"a misfit of another kind":   {otherSpace, disagreement, "P10"},
		"one of the majority":        {fits, disagreement, "P10"},
		"one whose disk has no room": {fits, errFull, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w.judge.violation, m.wrong = nil, tt.wrong
			w.refused(m, tt.err)
			judgedAs(t, w.judge, tt.promise)
		})
	}
	w.judge.violation, m.wrong = nil, otherDrift
	w.checkAuthority(m)
	judgedAs(t, w.judge, "P10")
}

// described is a message with the targets of its pointers.
func described(message any) string {
	if save, is := message.(storage.Save); is {
		cell, err := membership.DecodeCell(save.Data)
		return fmt.Sprint(cell.Accepted.Terms, err)
	}
	text := fmt.Sprintf("%+v", message)
	switch m := message.(type) {
	case election.StatusAnswer:
		text = fmt.Sprint(m.Terms, m.View.Terms)
	case election.Election:
		text = fmt.Sprint(m.Terms, m.View.Terms)
	case election.Promise:
		text = fmt.Sprint(m.Accepted.Terms)
	case election.Refuse:
		text = fmt.Sprint(m.View.Terms)
	case membership.NewView:
		text = fmt.Sprint(m.View.Terms)
	case membership.Join:
		text = fmt.Sprint(m.Version)
	}
	return text
}

type errorText string

func (e errorText) Error() string { return string(e) }

// TestVersionsAreTranslated checks that versions are translated both ways, in every message with one and in the stable
// cell.
func TestVersionsAreTranslated(t *testing.T) {
	view := &election.View{Number: 3, Terms: []string{"drift 0.05", "version 1"}}
	cell := membership.Cell{ID: 1, Incarnation: 2, Accepted: view}
	for _, message := range []any{
		election.StatusAnswer{Terms: view.Terms, View: view}, election.Election{Terms: view.Terms, View: view},
		election.Promise{Accepted: view}, election.Refuse{View: view}, membership.NewView{View: view}, membership.Join{Version: 1},
		membership.Unwelcome{What: "the version of the members' protocol", Ours: "1", Yours: "2"}, storage.Save{Data: cell.Encode()},
	} {
		there := translated(message, 1)
		if described(there) == described(message) || described(translated(there, -1)) != described(message) {
			t.Errorf("%T becomes %s, and that %s", message, described(there), described(translated(there, -1)))
		}
	}
	if view.Terms[1] != "version 1" {
		t.Error("a message that was sent is changed")
	}
}

// TestDrain checks that a holder through a drained member keeps its lock until it releases it; then the member leaves,
// and its client continues at another one.
func TestDrain(t *testing.T) {
	w := still(t, 3, 1<<Drain)
	m := follower(w)
	c, h := user(t, w, m), &holder{t: t}
	c.stream.acquire(wantedLock{name: "n"}, h)
	w.run(w.now + time.Second)
	m.leaving = true
	m.demand(m.life, &session.Drain{}, 20*time.Second, func(result any) {
		if result == nil {
			t.Error("it is not drained within its limit")
		}
		m.quit(m.life, func() {})
	})
	w.run(w.now + 5*time.Second)
	if h.lock == nil || !h.lock.believesAt(w.now) || !m.up {
		t.Fatal("a lock is lost because its member is drained")
	}
	c.stream.abandonOrUnlock(h.lock)
	c.arm()
	w.run(w.now + 5*time.Second)
	again := &holder{t: t}
	c.stream.acquire(wantedLock{name: "n"}, again)
	c.arm()
	w.run(w.now + 2*time.Second)
	if m.up || again.lock == nil || w.judge.violation != nil {
		t.Errorf("it is up: %v; its client has the lock elsewhere: %v; %v", m.up, again.lock != nil, w.judge.violation)
	}
}

// TestShutdown checks that a member that ends asks a holding client to stop; the client confirms it, and a waiter at
// another member gets the name at once.
func TestShutdown(t *testing.T) {
	w := still(t, 3, 1<<Shutdown)
	m := follower(w)
	h, waiter := &holder{t: t}, &holder{t: t}
	user(t, w, m).stream.acquire(wantedLock{name: "n"}, h)
	w.run(w.now + time.Second)
	user(t, w, w.coordinator()).stream.acquire(wantedLock{name: "n"}, waiter)
	w.run(w.now + time.Second)
	m.leaving = true
	m.quit(m.life, func() { w.hit(Shutdown) })
	w.run(w.now + time.Second)
	if m.up || w.count.faults[Shutdown] != 1 || w.judge.losses[holdfast.MemberLost] != 1 || waiter.lock == nil || w.judge.violation != nil {
		t.Errorf("it is up: %v, losses %v, the waiter has the lock: %v, %v", m.up, w.judge.losses, waiter.lock != nil, w.judge.violation)
	}
}

// TestForcedView checks the permanent loss of two of three founders: a view of the third is forced, and new members
// take the addresses of the lost ones.
func TestForcedView(t *testing.T) {
	w := still(t, 3, 1<<Force)
	before := w.nemesis.promised()
	w.nemesis.lose()
	if len(w.nemesis.lost) != 2 {
		t.Fatalf("%d founders are lost", len(w.nemesis.lost))
	}
	var ids []protocol.ID
	for _, m := range w.nemesis.lost {
		ids = append(ids, m.id)
		if m.start(); m.up {
			t.Error("one that is lost for good starts again")
		}
	}
	lost := w.nemesis.lost
	w.run(w.now + 60*time.Second)
	if w.count.faults[Force] != 1 || !w.nemesis.forced(before) || w.judge.violation != nil {
		t.Fatalf("%d views are forced, %v", w.count.faults[Force], w.judge.violation)
	}
	if left := w.unserved(); len(left) > 0 {
		t.Error(left)
	}
	for i, m := range lost {
		if m.id == ids[i] {
			t.Errorf("%s remembers who it was", m)
		}
	}
}

// TestPreempt checks that the member of the highest id leads, though another one was well.
func TestPreempt(t *testing.T) {
	w := still(t, 5, 1<<Preempt)
	w.run(w.now + 10*time.Second)
	for _, m := range w.members {
		if m.id > w.coordinator().id {
			t.Errorf("%s leads, and %s has a higher id", w.coordinator(), m)
		}
	}
}
