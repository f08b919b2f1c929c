package explore

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// configured is a configuration of a protocol.
func configured(t *testing.T, name string, with func(*Config)) Config {
	t.Helper()
	p, known := sim.Find(name)
	if !known {
		t.Fatalf("there is no protocol %s", name)
	}
	c := Config{Protocol: p, Formed: true}
	with(&c)
	return c
}

func explored(t *testing.T, c Config, l Limits) Report {
	t.Helper()
	r, err := Explore(context.Background(), c, l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// seeds is the number of random walks in a test: one with -short.
func seeds(all uint64) uint64 {
	if testing.Short() {
		return 1
	}
	return all
}

// TestSmallExplorationsComplete checks small explorations of each target, with their exact counts: a change of the
// machines may change these, and shows here.
func TestSmallExplorationsComplete(t *testing.T) {
	for _, at := range []struct {
		name   string
		with   func(*Config)
		states int
	}{
		{"election", func(c *Config) { c.Formed = false }, 13},
		{"election", func(c *Config) { c.Losses = 1 }, 12},
		{"election", func(c *Config) { c.Delays = 1 }, 153},
		{"central", func(c *Config) { c.Users, c.Dawdles = 1, 1 }, 160},
		{"central", func(c *Config) { c.Users, c.Names, c.Losses = 2, 2, 1 }, 807},
		{"grantor", func(c *Config) { c.Users, c.Transfers = 1, 2 }, 1083},
		// A grantor that has just joined has its first lease after all reports.
		{"grantor", func(c *Config) { c.Users, c.Crashes = 1, 1 }, 1409},
		{"grantor", func(c *Config) { c.Members, c.Users, c.Calls, c.Crashes, c.HoldOn = 2, 2, 2, 1, time.Second }, 2026},
		{"permission", func(c *Config) { c.Users, c.Calls, c.Delays = 3, 2, 1 }, 753},
		{"permission", func(c *Config) { c.Users, c.Dawdles, c.Capacity, c.Quantum = 3, 2, 2, 300*time.Millisecond }, 731},
		{"permission", func(c *Config) { c.Users, c.Dawdles, c.Units, c.Quantum = 3, 2, 3, 300*time.Millisecond }, 584},
		{"permission", func(c *Config) { c.Users, c.Calls, c.Dawdles, c.Retain, c.Defer = 2, 2, 1, true, true }, 347},
		{"permission", func(c *Config) { c.Users, c.Calls, c.Crashes, c.Quantum = 2, 2, 1, 300*time.Millisecond }, 1886},
	} {
		if testing.Short() && at.states > 500 {
			continue
		}
		c := configured(t, at.name, at.with)
		r := explored(t, c, Limits{Jobs: 2})
		if !r.Complete() {
			t.Errorf("%v is not complete: %s, %+v", &r.Config, r.Stopped, r.Found)
		}
		if r.States < at.states/2 || r.States > at.states*2 {
			t.Errorf("%v has %d states; it had about %d", &r.Config, r.States, at.states)
		}
		t.Logf("%v: %d states, %d transitions, depth %d", &r.Config, r.States, r.Transitions, r.Depth)
	}
}

// TestJobsChangeNothing checks that an exploration is the same on any number of processors.
func TestJobsChangeNothing(t *testing.T) {
	c := configured(t, "election", func(c *Config) { c.Losses, c.Duplicates, c.Depth = 1, 1, 40 })
	one, three := explored(t, c, Limits{Jobs: 1}), explored(t, c, Limits{Jobs: 3})
	one.Elapsed, three.Elapsed = 0, 0
	one.Config, three.Config = Config{}, Config{}
	if !reflect.DeepEqual(one, three) {
		t.Errorf("with one job %+v, with three %+v", one, three)
	}
}

// TestStoppedExplorationsGoOn checks that an exploration that is stopped, saved and resumed repeatedly finds the same
// as an uninterrupted one.
func TestStoppedExplorationsGoOn(t *testing.T) {
	c := configured(t, "election", func(c *Config) { c.Delays = 1 })
	full := explored(t, c, Limits{})
	x, err := Begin(c, Limits{States: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "checkpoint")
	var r Report
	for stops := 0; ; stops++ {
		if r, err = x.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r.Stopped == "" {
			if stops < 5 {
				t.Errorf("it was stopped %d times", stops)
			}
			break
		}
		if r.Complete() {
			t.Fatal("an exploration that was stopped is complete")
		}
		if err := x.Save(path); err != nil {
			t.Fatal(err)
		}
		if x, err = Resume(path, Limits{States: r.States + 10}); err != nil {
			t.Fatal(err)
		}
	}
	if !r.Complete() || r.States != full.States || r.Transitions != full.Transitions || r.Depth != full.Depth {
		t.Errorf("in pieces %+v, in one %+v", r, full)
	}
}

// TestNoCheckpoint checks the errors for wrong files.
func TestNoCheckpoint(t *testing.T) {
	if _, err := Resume(filepath.Join(t.TempDir(), "none"), Limits{}); err == nil {
		t.Error("a file that is not there is gone on with")
	}
	if _, err := Resume("doc.go", Limits{}); err == nil || !strings.Contains(err.Error(), "--checkpoint") {
		t.Errorf("a page is gone on with: %v", err)
	}
}

// TestInterrupts checks that an exploration ends with its context.
func TestInterrupts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Explore(ctx, configured(t, "election", func(c *Config) { c.Crashes = 1 }), Limits{})
	if err != nil || r.Stopped != "interrupted" || r.Complete() {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Explore(context.Background(), configured(t, "election", func(c *Config) { c.Crashes = 1 }), Limits{Memory: 1})
	if err != nil || !strings.Contains(r.Stopped, "memory") {
		t.Errorf("%+v, %v", r, err)
	}
}

// walk takes random actions, and calls look for every state.
func walk(t *testing.T, e *engine, w *world, seed uint64, steps int, look func(w *world, n next)) *world {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	for range steps {
		n := e.upcoming(w)
		look(w, n)
		all := e.actions(w, n, nil)
		if len(all) == 0 {
			return w
		}
		a := all[0]
		if r.IntN(6) == 0 {
			a = all[r.IntN(len(all))]
		}
		after, err := e.take(w, n, a)
		if err != nil {
			t.Fatal(err)
		}
		if e.broken != nil {
			t.Fatal(e.broken)
		}
		w = after
	}
	return w
}

func beginning(t *testing.T, e *engine) *world {
	t.Helper()
	w, err := e.beginning(-1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func named(t *testing.T, e *engine, w *world) digest {
	t.Helper()
	name, err := e.digest(w)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func busy(t *testing.T, name string) Config {
	c := configured(t, name, func(c *Config) {
		c.Crashes, c.Restarts, c.Pauses, c.Losses, c.Duplicates, c.Delays = 2, 2, 2, 3, 3, 3
		if c.Protocol.Locks {
			c.Users, c.Names, c.Calls, c.Dawdles = 3, 2, 9, 9
		}
		if c.Protocol.Moves {
			c.Transfers = 9
		}
		c.Retain, c.Defer = c.Protocol.Peers, c.Protocol.Peers
	})
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCopiedMachinesGoOnAlike checks that a copy of a member's machines behaves like the original, and does not change
// it.
func TestCopiedMachinesGoOnAlike(t *testing.T) {
	for _, name := range []string{"election", "central", "grantor"} {
		c := busy(t, name)
		e := engineOf(t, &c)
		for seed := range seeds(4) {
			walk(t, e, beginning(t, e), seed, 300, func(w *world, n next) {
				if err := e.form(w); err != nil {
					t.Fatal(err)
				}
				for _, m := range w.members {
					if !m.up {
						continue
					}
					stepAlike(t, e, w, m)
				}
			})
		}
	}
}

func stepAlike(t *testing.T, e *engine, w *world, m *member) {
	t.Helper()
	var forms [2]snapshot.Form
	for i := range forms {
		fresh, err := snapshot.Copy(e.copier, m.soul)
		if err != nil {
			t.Fatal(err)
		}
		var out protocol.Effects
		fresh.Session.Step(m.clock(w.now)+time.Second, protocol.Event{Kind: protocol.Tick}, &out)
		if forms[i], err = e.copier.Form(fresh, uint64(m.place)); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(forms[0], forms[1]) {
		t.Fatalf("%s goes on in two ways", m.name)
	}
	if after, err := e.copier.Form(m.soul, uint64(m.place)); err != nil || !reflect.DeepEqual(after, m.form) {
		t.Fatalf("%s has changed with its copy: %v", m.name, err)
	}
}

// TestNamesDoNotDependOnTime checks that a run that begins later goes through states of the same names.
func TestNamesDoNotDependOnTime(t *testing.T) {
	for _, name := range []string{"election", "central"} {
		c := busy(t, name)
		early, late := engineOf(t, &c), engineOf(t, &c)
		late.late = 12345 * c.Quantum
		for seed := range uint64(4) {
			var names []digest
			walk(t, early, beginning(t, early), seed, 200, func(w *world, n next) { names = append(names, named(t, early, w)) })
			i := 0
			walk(t, late, beginning(t, late), seed, 200, func(w *world, n next) {
				if named(t, late, w) != names[i] {
					t.Fatalf("%s, seed %d: state %d has another name %v later", name, seed, i, late.late)
				}
				i++
			})
		}
	}
}

// TestNamesDoNotDependOnNumbers checks that other numbers of users' requests give the same names.
func TestNamesDoNotDependOnNumbers(t *testing.T) {
	c := busy(t, "central")
	e := engineOf(t, &c)
	for seed := range uint64(4) {
		var names []digest
		low, high := beginning(t, e), beginning(t, e)
		for i := range low.Users {
			low.Users[i].Last, high.Users[i].Last = uint64(2_000_000+1000*i), uint64(500_000_000+2000*i)
		}
		c.Crashes, low.Left.Crashes, high.Left.Crashes = 0, 0, 0 // another life counts from 0
		walk(t, e, low, seed, 200, func(w *world, n next) { names = append(names, named(t, e, w)) })
		i := 0
		walk(t, e, high, seed, 200, func(w *world, n next) {
			if named(t, e, w) != names[i] {
				t.Fatalf("seed %d: state %d has another name with other numbers", seed, i)
			}
			i++
		})
	}
}

// TestConfigurations checks that each error names the wrong setting.
func TestConfigurations(t *testing.T) {
	for _, at := range []struct {
		with func(*Config)
		says string
	}{
		{func(c *Config) { c.Protocol = sim.Protocol{} }, "Protocol"},
		{func(c *Config) { c.Members = 8 }, "Members is 8"},
		{func(c *Config) { c.Users = 1 }, "no locks"},
		{func(c *Config) { c.Units = 3 }, "no peers"},
		{func(c *Config) { c.Protocol, _ = sim.Find("permission"); c.Capacity, c.Units = 2, 3 }, "Capacity is 2, and Units 3"},
		{func(c *Config) { c.Protocol, _ = sim.Find("permission"); c.Units = 1 }, "Units 1"},
		{func(c *Config) { c.Lease = time.Microsecond }, "Lease is 1µs"},
		{func(c *Config) { c.Drift = 0.7 }, "Drift is 0.7"},
		{func(c *Config) { c.Drift, c.Fast = 0.1, true }, "Fast"},
		{func(c *Config) { c.Quantum = 7 }, "Quantum is 7ns"},
		{func(c *Config) { c.Depth = -1 }, "Depth is -1"},
		{func(c *Config) { c.Crashes = 101 }, "Crashes is 101"},
	} {
		_, err := Begin(configured(t, "election", at.with), Limits{})
		if err == nil || !strings.Contains(err.Error(), at.says) {
			t.Errorf("%v; want that it says %q", err, at.says)
		}
	}
	if _, err := Begin(configured(t, "election", func(*Config) {}), Limits{Jobs: -1}); err == nil {
		t.Error("fewer jobs than none")
	}
}

// checkTrace checks that the trace of a counter-example has certain words in order.
func checkTrace(t *testing.T, r *Report, parts ...string) {
	t.Helper()
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	rest := text.String()
	for _, part := range parts {
		_, after, is := strings.Cut(rest, part)
		if !is {
			t.Fatalf("the trace does not go on with %q:\n%s", part, text.String())
		}
		rest = after
	}
}

func engineOf(t *testing.T, c *Config) *engine {
	t.Helper()
	e, err := newEngine(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
