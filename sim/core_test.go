package sim

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestACoreIsEnough checks that a core suffices for every kind of fault in the rest.
func TestACoreIsEnough(t *testing.T) {
	manySeeds(t)
	rests := map[mark]int{}
	for _, p := range Protocols() {
		c := config(p.Name)
		c.Core = CoreFirst
		s, err := RunMany(c, 1, 48, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := s.Worst; w != nil {
			t.Fatalf("%s seed %d: %v %v\n%s", p.Name, w.Seed, w.Outcome, w.Violation, w.Settings)
		}
		least := 20
		if p.Fewest < 3 {
			least = 12 // a cluster of two has no core
		}
		if served := s.counts.hits[phaseCoreSettled]; served < least || served != s.counts.hits[phaseCore] {
			t.Errorf("%s: of %d runs, %d have healed a core and %d were served by it", p.Name, s.Seeds, s.counts.hits[phaseCore], served)
		}
		sumBy(rests, s.counts.hits)
		if s.counts.hits[clientsAway] == 0 {
			t.Errorf("%s: no client ever stayed away", p.Name)
		}
	}
	for r := range restCount {
		if rests[r.mark()] == 0 {
			t.Errorf("no member ever stayed %s", restNames[r])
		}
	}
}

// TestRunsWithoutACoreAreAsBefore checks that runs without a core are the same, byte for byte, and so is the part of a
// run before its core.
func TestRunsWithoutACoreAreAsBefore(t *testing.T) {
	manySeeds(t)
	const seeds = 30
	first := 0
	for seed := uint64(1); seed <= seeds; seed++ {
		var drawn, never bytes.Buffer
		c := config("election")
		if _, err := Run(c, seed, &drawn); err != nil {
			t.Fatal(err)
		}
		c.Core = CoreNever
		if _, err := Run(c, seed, &never); err != nil {
			t.Fatal(err)
		}
		before, _, had := strings.Cut(drawn.String(), "   60.000000  only a core")
		if had {
			first++
		}
		if !had && sha256.Sum256(drawn.Bytes()) != sha256.Sum256(never.Bytes()) || !strings.HasPrefix(never.String(), before) {
			t.Errorf("seed %d: core %v: %s", seed, had, differ(before, never.String()))
		}
	}
	if first == 0 || first > seeds/2 {
		t.Errorf("%d of %d runs heal a core first", first, seeds)
	}
}

// TestACoreIsPlayedAgain checks that a script records the healed members, and the state of the others.
func TestACoreIsPlayedAgain(t *testing.T) {
	manySeeds(t)
	cores := 0
	for seed := uint64(1); seed <= 8; seed++ {
		var recorded, replayed bytes.Buffer
		c := config("central")
		c.Core = CoreFirst
		script, want, err := Record(c, seed, &recorded)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(script.Choices, func(c Choice) bool { return c.Key() == "core first" }) {
			cores++
		}
		got, err := Play(script, Stage{Protocol: c.Protocol, Trace: &replayed})
		if err != nil {
			t.Fatal(err)
		}
		if got.Outcome != want.Outcome || recorded.String() != replayed.String() {
			t.Errorf("seed %d, played: %v, %s", seed, got.Outcome, differ(recorded.String(), replayed.String()))
		}
		for _, wrong := range got.Wrong {
			t.Errorf("seed %d: %v: %s", seed, &wrong.Choice, wrong.Allowed)
		}
	}
	if cores < 4 {
		t.Errorf("%d of 8 scripts have a core", cores)
	}
}

// among is a core of the named members.
func among(w *world, names string) *core {
	c := &core{in: make([]bool, len(w.members)), as: make([]rest, len(w.members))}
	for i, m := range w.members {
		c.in[i] = strings.Contains(names, m.name)
	}
	return c
}

// knows makes a member accept a view of the named members, based on one of the others named; a base of "" means that
// the view is known to be installed.
func knows(w *world, who, view, base string) {
	v := &election.View{Number: 99, Epoch: protocol.Epoch{Counter: 1 << 30}, Installed: base == ""}
	of := func(names string) (all []*process) {
		for _, r := range names {
			all = append(all, w.members[r-'a'])
		}
		return all
	}
	for _, m := range of(view) {
		var at election.Member
		at.ID, at.Name, at.Founder = m.id, m.name, m.founder
		v.Members = append(v.Members, at)
	}
	if base != "" {
		e := election.Electorate{Number: 98}
		for _, m := range of(base) {
			e.Voters = append(e.Voters, m.id)
		}
		v.Base = []election.Electorate{e}
	}
	for _, m := range of(who) {
		m.cell = func() membership.Cell { return membership.Cell{Accepted: v} }
	}
}

// TestACoreIsAQuorum checks that a core is a quorum of everything that the rest of a run needs.
func TestACoreIsAQuorum(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*world)
		enough map[string]bool
	}{
		"a view of all five":       {func(*world) {}, map[string]bool{"abc": true, "cde": true, "ab": false, "": false, "abcde": true}},
		"a view that has shrunk":   {func(w *world) { knows(w, "abcde", "cd", "") }, map[string]bool{"c": true, "d": false, "abe": false, "cd": true}},
		"only some know of it":     {func(w *world) { knows(w, "de", "de", "") }, map[string]bool{"abc": true, "abe": false, "d": true, "abd": true}},
		"one that is not complete": {func(w *world) { knows(w, "abcde", "cde", "abcde") }, map[string]bool{"cd": false, "acd": true, "abc": false, "cde": true}},
		"one who has forgotten":    {func(w *world) { w.members[2].id++ }, map[string]bool{"abc": false, "abd": true, "abcde": true}},
		"all have": {func(w *world) {
			for _, m := range w.members {
				m.id += 1 << 40
			}
		}, map[string]bool{"abcd": false, "abcde": true}},
		"a guest has no vote":             {func(w *world) { w.members[4].founder = false; knows(w, "abcde", "abcde", "") }, map[string]bool{"abe": true, "cde": false, "ae": false, "bcd": true}},
		"in mode any each goes on":        {func(w *world) { w.settings.faults = 1 << Any }, map[string]bool{"e": true, "": false}},
		"but not who has just begun":      {func(w *world) { w.settings.faults = 1 << Any; w.members[4].view = nil }, map[string]bool{"e": false, "de": true}},
		"nor who is about to leave":       {func(w *world) { w.settings.faults = 1 << Any; w.members[4].leaving = true }, map[string]bool{"e": false}},
		"those who are down are counted":  {func(w *world) { m := w.members[0]; m.crash(m.life) }, map[string]bool{"abc": true, "ab": false}},
		"but for those who have no cells": {func(w *world) { m := w.members[0]; m.kept = false; m.crash(m.life) }, map[string]bool{"abc": false, "bcd": true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 5, 0)
			tt.change(w)
			for names, want := range tt.enough {
				if got := w.suffices(among(w, names)); got != want {
					t.Errorf("%q are enough: %v, want %v", names, got, want)
				}
			}
		})
	}
}

// TestTheRestStaysBroken checks that the rest stays broken until all is healed, while the core serves.
func TestTheRestStaysBroken(t *testing.T) {
	hears := func(w *world, from, to *process) bool { return w.network.cut[from.place][to.place] <= w.now }
	for as, want := range []struct{ up, paused, heard, hears, writes bool }{
		restDown:    {heard: true, hears: true, writes: true},
		restPaused:  {up: true, paused: true, heard: true, hears: true, writes: true},
		restApart:   {up: true, writes: true},
		restUnheard: {up: true, hears: true, writes: true},
		restDeaf:    {up: true, heard: true, writes: true},
		restFull:    {up: true, heard: true, hears: true},
	} {
		t.Run(restNames[as], func(t *testing.T) {
			w := still(t, 3, 1<<rest(as).fault())
			out := w.coordinator() // the member that is missed most
			w.healed, w.core = true, among(w, strings.Replace("abc", out.name, "", 1))
			w.core.as[out.place] = rest(as)
			w.strand(out)
			w.run(w.now + time.Minute)
			one := w.members[slices.Index(w.core.in, true)]
			if got := w.unsettled(); len(got) > 0 {
				t.Errorf("after a minute: %q", got)
			}
			if out.up != want.up || out.paused != want.paused || hears(w, out, one) != want.heard || hears(w, one, out) != want.hears || out.disk.full <= w.now != want.writes {
				t.Errorf("up %v, paused %v, is heard %v, hears %v, disk full until %v; want %+v", out.up, out.paused, hears(w, out, one), hears(w, one, out), out.disk.full, want)
			}
			w.heal()
			w.run(w.now + time.Minute)
			if got := w.unsettled(); len(got) > 0 {
				t.Errorf("a minute after all was healed: %q", got)
			}
		})
	}
}

// TestACoreGrows checks that a core grows if it has accepted a view that needs a member of the rest.
func TestACoreGrows(t *testing.T) {
	w := still(t, 5, 1<<Partition)
	w.healed, w.core = true, among(w, "abc")
	for _, m := range w.members[3:] {
		w.core.as[m.place] = restApart
		w.strand(m)
	}
	if w.grow() {
		t.Fatal("it grows though it is enough")
	}
	knows(w, "a", "cde", "abcde")
	if !w.grow() || !slices.Equal(w.core.in, []bool{true, true, true, true, false}) || w.count.grown != 1 {
		t.Fatalf("it has grown to %s", w.core.names(w))
	}
	if cut := w.network.cut; cut[3][0] > w.now || cut[0][3] > w.now || cut[3][4] <= w.now || cut[4][3] <= w.now {
		t.Errorf("who has come to it does not hear all of it, or hears another: %v", cut)
	}
}

// TestWhoIsMissingIsNotWaitedFor checks that all demands apply to the core, and none to the rest.
func TestWhoIsMissingIsNotWaitedFor(t *testing.T) {
	for want, change := range map[string]func(w *world, of, out *process){
		"":                       func(_ *world, _, out *process) { out.crash(out.life) },
		"is not up":              func(_ *world, of, _ *process) { of.crash(of.life) },
		"may not grant":          func(w *world, _, _ *process) { w.leading().view.GrantFrom = protocol.Never },
		"no member coordinates":  func(w *world, _, _ *process) { m := w.leading(); m.pause(time.Hour) },
		"has not had every name": func(w *world, of, _ *process) { c := user(t, w, of); c.workers = append(c.workers, newWorker(c, 0)) },
	} {
		t.Run(want, func(t *testing.T) {
			w := still(t, 3, 0)
			of := follower(w)
			var out *process
			w.core = among(w, "")
			for _, m := range w.members {
				if w.core.in[m.place] = m == of || m == w.coordinator(); !w.core.in[m.place] {
					out = m
				}
			}
			change(w, of, out)
			found := strings.Join(w.unsettled(), "; ")
			if !strings.Contains(found, want) || (found == "") != (want == "") {
				t.Errorf("it says %q, want %q", found, want)
			}
		})
	}
}
