package journal_test

import (
	"reflect"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestKept: what a log's machine is made from is all that was written and is not removed, the chunks
// of the snapshot in their order; and a log that was never written is not known.
func TestKept(t *testing.T) {
	folder := t.TempDir()
	j := open(t, nil, folder)
	do(t, j,
		storage.Append{ID: 1, Log: 3, First: 1, Records: [][]byte{[]byte("one"), {}, []byte("three")}, State: []byte("former")},
		storage.Chunk{ID: 2, Log: 3, Snapshot: 5, Number: 0, Data: []byte("half")},
		storage.Chunk{ID: 3, Log: 3, Snapshot: 5, Number: 1, Data: []byte("another")},
		storage.Install{ID: 4, Log: 3, Snapshot: 5, Chunks: 2, Meta: []byte("mark"), Drop: 1, State: []byte("state")},
		storage.Chunk{ID: 5, Log: 3, Snapshot: 6, Number: 0, Data: []byte("unfinished")},
		storage.Append{ID: 6, Log: 4, State: []byte("only a state")},
		storage.Install{ID: 7, Log: 5, Snapshot: 1, Drop: 70, Anew: true},
	)
	want := map[uint64]storage.Kept{
		3: {
			Log: 3, First: 2, Records: [][]byte{{}, []byte("three")}, State: []byte("state"),
			Snapshot: 5, Meta: []byte("mark"), Chunks: [][]byte{[]byte("half"), []byte("another")},
		},
		4: {Log: 4, First: 1, State: []byte("only a state")},
		5: {Log: 5, First: 71, Snapshot: 1, Meta: []byte{}},
	}
	for _, when := range []string{"at once", "after another start"} {
		for log, has := range want {
			if kept, known, err := j.Kept(log); err != nil || !known || !reflect.DeepEqual(kept, has) {
				t.Errorf("%s log %d has %+v, known: %v, %v; want %+v", when, log, kept, known, err, has)
			}
		}
		if kept, known, err := j.Kept(6); err != nil || known || kept.First != 1 {
			t.Errorf("%s a log that was never written has %+v, known: %v, %v", when, kept, known, err)
		}
		closeJournal(t, j)
		j = open(t, nil, folder)
	}
	closeJournal(t, j)
}
