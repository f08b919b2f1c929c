package consensus

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestCrashAtTheBeginning checks that a member that crashes when its log has just begun, after any of the first writes,
// continues from there.
func TestCrashAtTheBeginning(t *testing.T) {
	for done := range 6 {
		w := newWorld(t, 1, 1)
		a := w.members[0]
		w.begin(a)
		w.show(1, a)
		for range done {
			for len(a.journalRequests) == 0 {
				w.next(w.now + time.Second)
			}
			f := a.journalRequests[0]
			w.now = max(w.now, f.due)
			w.next(w.now)
		}
		w.crash(a, 0)
		w.begin(a)
		w.show(2, a)
		w.pass(3 * time.Second)
		if !a.machine.parts[0].shard.Leads() {
			t.Errorf("after a crash behind write %d no member leads: %s", done, a.machine.trouble())
		}
	}
}

// TestHalfBegun checks that a member that crashes when only some of its logs have begun begins the others, without a
// view of all founders.
func TestHalfBegun(t *testing.T) {
	w := newWorld(t, 3, 2)
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	a := w.members[0]
	w.crash(a, 1)
	if len(a.disk.logs) != 1 {
		t.Fatalf("%d logs have begun", len(a.disk.logs))
	}
	w.pass(time.Second)
	w.crash(w.members[2], 0)
	w.begin(a)
	w.show(2, w.members[:2]...)
	w.pass(3 * time.Second)
	for _, p := range a.machine.parts {
		if p.shard == nil || p.leader == 0 {
			t.Errorf("shard %d: %s", p.index, a.machine.trouble())
		}
	}
}

// TestMissedFounding checks that a founder that never had a view of all founders learns from the others with which
// members the logs have begun.
func TestMissedFounding(t *testing.T) {
	w := newWorld(t, 3, 1)
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members[:2]...)
	if w.members[0].disk.logs[firstLog] != nil {
		t.Fatal("a log has begun without all founders")
	}
	view := func(of ...*member) *protocol.View {
		v := &protocol.View{Number: 2, Epoch: protocol.Epoch{Counter: 1, Candidate: 1}, Coordinator: 1, Installed: true}
		for _, m := range of {
			v.Members = append(v.Members, protocol.Member{ID: m.id, Founder: true})
		}
		return v
	}
	for _, m := range w.members[:2] {
		w.step(m, protocol.Event{Kind: protocol.Raised, Fact: view(w.members...)})
	}
	c := w.members[2]
	w.step(c, protocol.Event{Kind: protocol.Raised, Fact: view(w.members[1:]...)})
	w.pass(time.Second)
	w.crash(w.members[0], 0) // two of three are a quorum, if the third has begun
	w.pass(3 * time.Second)
	if c.machine.parts[0].shard == nil || c.machine.parts[0].leader == 0 {
		t.Errorf("the one that missed it: %s", c.machine.trouble())
	}
}

// TestStartedAgainWithoutAView checks that a member with a log and without a view reports that no leader is known, and
// names no members, whose names it only knows from views.
func TestStartedAgainWithoutAView(t *testing.T) {
	w := newWorld(t, 3, 1)
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(3 * time.Second)
	for _, m := range w.members {
		w.crash(m, 0)
	}
	a := w.members[0]
	w.begin(a)
	w.pass(10 * time.Second)
	if got, want := a.machine.condition().Why, "no leader is known of shard 0; that takes 2 of 3 voters"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
