package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestZerosAhead: the database's log is longer than what is written there, so that it seldom grows.
func TestZerosAhead(t *testing.T) {
	const count, ahead = 3000, 512 << 10
	folder := t.TempDir()
	j := open(t, nil, folder)
	requests, sizes, changes := newSubmitter(t, j), map[string]int64{}, 0
	for i := range uint64(count) {
		requests.do(storage.Append{Log: 1, First: i + 1, Records: records("something that is kept")})
		requests.wait()
		logs, err := filepath.Glob(filepath.Join(folder, "journal", "records", "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("logs: %v, %v", logs, err)
		}
		for _, name := range logs {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if size := info.Size(); sizes[name] != size {
				sizes[name] = size
				if changes++; size%ahead != 0 {
					t.Errorf("%s has %d bytes after append %d; want a multiple of %d", name, size, i, ahead)
				}
			}
		}
	}
	if changes > 20 {
		t.Errorf("logs have grown %d times in %d appends", changes, count)
	}
	closeJournal(t, j)
	again := open(t, nil, folder)
	log, err := again.Recover(1)
	if err != nil || log.Last != count {
		t.Errorf("it has %d records of %d: %v", log.Last, count, err)
	}
	closeJournal(t, again)
}
