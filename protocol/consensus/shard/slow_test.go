package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
)

// TestASlowMemberCatchesUp checks a member that needs a snapshot, whose parts take some round trips in which the log
// grows by more entries than it keeps. The leader keeps the snapshot and the entries after it until the member has
// them. Without that rule each snapshot is replaced before the member has it, or the entries after it are compacted
// away, and the member never catches up.
func TestASlowMemberCatchesUp(t *testing.T) {
	defer mutation.Switch("")
	const rule = "a slow member catches up"
	for _, without := range []string{"", rule} {
		mutation.Switch(without)
		w := newWorld(t, 1, 3)
		lacks, known := w.slow()
		t.Logf("without %q: member 3 lacks %d entries", without, lacks)
		if !known {
			t.Fatalf("without %q: the leader knows nothing of member 3", without)
		}
		if w.taken == 0 && without == "" {
			t.Error("member 3 has taken no snapshot, so it was never behind")
		}
		switch caught := lacks < 80; { // in two round trips 80 are decided
		case without == "" && !caught:
			t.Errorf("member 3 lacks %d entries", lacks)
		case without != "" && caught:
			t.Errorf("without the rule %q member 3 lacks only %d entries", rule, lacks)
		}
	}
}

// slow removes member 3 until it needs a snapshot, puts it behind a slow link, and returns how many entries it lacks
// after 20 s more of load.
func (w *world) slow() (lacks uint64, known bool) {
	w.every, w.part, w.users = 50, 1, nil
	for _, m := range w.members {
		w.crash(m)
		w.start(m)
	}
	away := w.members[2]
	w.crash(away)
	w.opens = true
	w.load(2 * time.Second)
	w.far, w.way, w.opens = away.id, 100*time.Millisecond, false
	w.start(away)
	w.load(20 * time.Second)
	return w.leader().shard.Lacks(away.id)
}

func (w *world) leader() *member {
	for _, m := range w.members {
		if m.shard != nil && m.shard.Leads() {
			return m
		}
	}
	w.fatalf("no member leads")
	return nil
}

// load makes the leader submit an operation every 5 ms.
func (w *world) load(d Time) {
	for end := w.now + d; w.now < end; w.run(5 * time.Millisecond) {
		for _, m := range w.members {
			if m.shard == nil || !m.shard.Leads() {
				continue
			}
			w.lastRead++
			id := lock.SessionID{Member: m.id, Number: w.lastRead}
			var out Output
			op := replica.Op{Kind: replica.Acquire, Session: id, Request: 1, Name: fmt.Sprint(w.lastRead % 9)}
			if w.opens {
				op = opens(id)
			}
			if _, err := m.shard.Submit(m.local(w.now), op, &out); err != nil {
				w.fatalf("%v", err)
			}
			w.carry(m, &out)
		}
	}
}
