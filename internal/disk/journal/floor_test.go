package journal

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestFloorOfBefore: a folder whose floor names no log, and which has no file "reached", is opened, and names both from
// then on.
func TestFloorOfBefore(t *testing.T) {
	memory := vfs.NewMem()
	options := Options{Identity: []byte("mine"), FS: memory}
	closeJournal := func(j *Journal, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	closeJournal(Open("f", options))
	at := memory.PathJoin("f", journalName)
	before := &disk{FS: memory, failed: func(err error) { t.Fatal(err) }}
	if err := before.replace(at, floorName, floor{batches: 0}.encode()); err != nil {
		t.Fatal(err)
	}
	if err := memory.Remove(memory.PathJoin(at, reachedName)); err != nil {
		t.Fatal(err)
	}
	closeJournal(Open("f", options))
	f, err := readFloor(memory, "f", at)
	if err != nil || f.log == "" {
		t.Errorf("the floor is %+v, %v; want one that names a log", f, err)
	}
}
