package waits

import (
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	exclusive = schema.Mode_MODE_EXCLUSIVE
	shared    = schema.Mode_MODE_SHARED
	slots     = schema.Mode_MODE_SLOTS
)

// held is a lock of these sessions, in the order of their tokens.
func held(name string, mode schema.Mode, sessions ...string) *schema.Lock {
	l := &schema.Lock{Space: "default", Name: name, Mode: mode}
	for i, session := range sessions {
		l.Holders = append(l.Holders, &schema.Grant{Session: session, Mode: mode, Token: uint64(i + 1)})
	}
	return l
}

// queue adds requests of these sessions.
func queue(l *schema.Lock, mode schema.Mode, sessions ...string) *schema.Lock {
	for _, session := range sessions {
		l.Waiters = append(l.Waiters, &schema.Wait{Session: session, Mode: mode, Request: uint64(len(l.Waiters) + 1)})
	}
	return l
}

// texts returns waits as "a>b".
func texts(all []Wait) (found []string) {
	for _, w := range all {
		found = append(found, w.By.Session+w.By.Owner+">"+w.For.Session+w.For.Owner)
	}
	return found
}

func TestWaitsAtAName(t *testing.T) {
	units := queue(held("x", slots, "a", "b"), slots, "c", "d")
	units.Capacity = 5
	units.Holders[0].Units, units.Holders[1].Units, units.Waiters[0].Units, units.Waiters[1].Units = 3, 1, 3, 1
	owned := queue(held("x", exclusive, "a"), exclusive, "a", "a")
	owned.Holders[0].Owner, owned.Waiters[1].Owner = "o", "o"
	granted := queue(held("x", exclusive, "a"), exclusive, "b", "a", "c")
	granted.Holders[0].Owner, granted.Waiters[1].Owner = "o", "o"
	unknown := queue(held("x", exclusive, "a"), slots, "b", "c")
	unknown.Waiters[0].Units, unknown.Waiters[1].Units = 1, 1
	for name, tt := range map[string]struct {
		lock *schema.Lock
		want []string
	}{
		"behind a holder":                       {queue(held("x", exclusive, "a"), exclusive, "b"), []string{"b>a"}},
		"behind a holder and a request":         {queue(held("x", exclusive, "a"), exclusive, "b", "c"), []string{"b>a", "c>a", "c>b"}},
		"behind those that share":               {queue(held("x", shared, "a", "b"), exclusive, "c"), []string{"c>a", "c>b"}},
		"shared, behind an exclusive request":   {queue(queue(held("x", shared, "a"), exclusive, "b"), shared, "c"), []string{"b>a", "c>b"}},
		"shared, behind a shared request":       {queue(held("x", exclusive, "a"), shared, "b", "c"), []string{"b>a", "c>a"}},
		"units, that one holder alone keeps":    {units, []string{"c>a", "d>a"}},
		"behind another owner of the session":   {owned, []string{"a>ao"}},
		"behind one that has been granted":      {granted, []string{"b>ao", "c>ao", "c>b"}},
		"units of a capacity that is not known": {unknown, []string{"b>a", "c>a"}},
		"nothing":                               {held("x", exclusive, "a"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := texts(Of([]*schema.Lock{tt.lock})); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// crossed is the deadlock of two sessions that take two names in different orders.
func crossed() []*schema.Lock {
	return []*schema.Lock{queue(held("x", exclusive, "a"), exclusive, "b"), queue(held("y", exclusive, "b"), exclusive, "a")}
}

func TestDeadlocks(t *testing.T) {
	three := []*schema.Lock{
		queue(held("x", exclusive, "a"), exclusive, "b"), queue(held("y", exclusive, "b"), exclusive, "c"), queue(held("z", exclusive, "c"), exclusive, "a"),
	}
	other := crossed()
	for _, l := range other {
		l.Name += "2"
		l.Holders[0].Session += "2"
		l.Waiters[0].Session += "2"
	}
	for name, tt := range map[string]struct {
		locks []*schema.Lock
		want  [][]string
	}{
		"two":         {crossed(), [][]string{{"a>b", "b>a"}}},
		"three":       {three, [][]string{{"a>c", "c>b", "b>a"}}},
		"two of them": {slices.Concat(crossed(), other), [][]string{{"a>b", "b>a"}, {"a2>b2", "b2>a2"}}},
		"one that waits for a deadlock is in none": {append(crossed(), queue(held("w", exclusive, "a"), exclusive, "c")), [][]string{{"a>b", "b>a"}}},
		// Branches that meet again are no cycle: a and b wait for c, and d waits for both.
		"branches that converge": {[]*schema.Lock{
			queue(held("x", shared, "a", "b"), exclusive, "d"), queue(held("y", exclusive, "c"), exclusive, "a", "b"),
		}, nil},
		"goroutines of one session": {[]*schema.Lock{queue(held("x", exclusive, "a"), exclusive, "a")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			for _, cycle := range Deadlocks(Of(tt.locks)) {
				got = append(got, texts(cycle))
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestStanding: a cycle is one only if it is there twice, with the same requests and the same grants.
func TestStanding(t *testing.T) {
	granted, again, asked := crossed(), crossed(), crossed()
	granted[0].Holders, granted[0].Waiters = held("x", exclusive, "b").Holders, nil // b was granted x between the two pages
	again[1].Holders[0].Token++                                                     // b has released y, and has taken it again
	asked[0].Waiters[0].Request++                                                   // the fate of b's first request is not known; this is another one
	for name, tt := range map[string]struct {
		later []*schema.Lock
		want  int
	}{
		"the same": {crossed(), 1}, "granted meanwhile": {granted, 0}, "another grant": {again, 0}, "another request": {asked, 0}, "nothing any more": {nil, 0},
	} {
		if got := len(Deadlocks(Standing(Of(crossed()), Of(tt.later)))); got != tt.want {
			t.Errorf("%s: %d cycles are confirmed, want %d", name, got, tt.want)
		}
	}
}

func TestFrom(t *testing.T) {
	locks := append(crossed(), queue(held("w", exclusive, "a"), exclusive, "c"), queue(held("v", exclusive, "d"), exclusive, "e"))
	if got := texts(From(Of(locks), "default", "w")); !slices.Equal(got, []string{"c>a", "a>b", "b>a"}) {
		t.Errorf("from w: %q", got)
	}
	if got := From(Of(locks), "other", "w"); got != nil {
		t.Errorf("from a name of another space: %v", got)
	}
}

// TestDeadlocksAgainstClosure compares the parties in deadlocks with those that reach themselves.
func TestDeadlocksAgainstClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var locks []*schema.Lock
		for i := range rapid.IntRange(1, 6).Draw(t, "names") {
			session := func() string { return string(rune('a' + rapid.IntRange(0, 5).Draw(t, "session"))) }
			mode := rapid.SampledFrom([]schema.Mode{exclusive, shared}).Draw(t, "mode")
			l := held(fmt.Sprint("n", i), mode, session())
			if mode == shared {
				l = held(l.Name, mode, session(), session())
			}
			for range rapid.IntRange(0, 3).Draw(t, "waiters") {
				queue(l, rapid.SampledFrom([]schema.Mode{exclusive, shared}).Draw(t, "wants"), session())
			}
			locks = append(locks, l)
		}
		all := Of(locks)
		reach := map[[2]key]bool{}
		var parties []key
		for _, w := range all {
			reach[[2]key{w.By.key(), w.For.key()}] = true
			parties = append(parties, w.By.key(), w.For.key())
		}
		for _, via := range parties {
			for _, from := range parties {
				for _, to := range parties {
					if reach[[2]key{from, via}] && reach[[2]key{via, to}] {
						reach[[2]key{from, to}] = true
					}
				}
			}
		}
		cycles := Deadlocks(all)
		for _, cycle := range cycles {
			for i, w := range cycle {
				if next := cycle[(i+1)%len(cycle)]; w.For.key() != next.By.key() {
					t.Fatalf("%v is no cycle", texts(cycle))
				}
			}
		}
		for _, p := range parties {
			inOne := slices.ContainsFunc(cycles, func(cycle []Wait) bool {
				by := cycle[0].By.key()
				return p == by || reach[[2]key{p, by}] && reach[[2]key{by, p}]
			})
			if inOne != reach[[2]key{p, p}] {
				t.Fatalf("%v reaches itself: %v; it is in a deadlock of %v: %v", p, reach[[2]key{p, p}], cycles, inOne)
			}
		}
	})
}
