package shard

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// TestASnapshotIsOfItsBeginning checks that entries applied between the parts of a snapshot are in the log when a
// member restarts from it. Without the rule they are lost.
func TestASnapshotIsOfItsBeginning(t *testing.T) {
	defer mutation.Switch("")
	const rule = "a snapshot is of its beginning"
	for _, without := range []string{"", rule} {
		mutation.Switch(without)
		w := newWorld(t, 3, 3)
		w.every, w.part, w.users = 50, 100, nil
		for _, m := range w.members {
			w.crash(m)
			w.start(m)
		}
		between, differ := 0, 0
		for range 40 {
			w.load(100 * time.Millisecond)
			for _, m := range w.members {
				if k := m.shard.making; k != nil && m.shard.applied > k.mark.Index {
					between++
				}
			}
			again := w.members[2]
			w.crash(again)
			w.start(again)
			w.run(300 * time.Millisecond)
			leader := w.leader().shard
			if again.shard.applied == leader.applied && again.shard.Replica().Digest() != leader.Replica().Digest() {
				differ++
			}
		}
		t.Logf("without %q: %d snapshots, %d times entries were applied between the parts of one, %d starts into another state", without, w.snapshots, between, differ)
		if between == 0 || (differ > 0) != (without != "") {
			t.Error("that is not as it is to be")
		}
	}
}
