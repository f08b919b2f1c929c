package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestSwapsTogetherUseTheIndex: the plan of a statement for many rows, which is made when the table is
// small and kept, looks each of them up; and no other is made.
func TestSwapsTogetherUseTheIndex(t *testing.T) {
	b := newHarness(t, "-c", "autovacuum=off")
	store := b.open(b.server.URL())
	const rows = 200
	swapAll := func(w storage.Swap, want bool) {
		var work sync.WaitGroup
		for i := range rows {
			work.Go(func() {
				mine := w
				mine.Key = fmt.Sprint("k", i)
				if swapped, err := store.Swap(t.Context(), &mine); err != nil || swapped.Done != want {
					t.Error(swapped, err)
				}
			})
		}
		work.Wait()
	}
	const rounds = 20
	for range rounds { // each connection comes to its plan while there is nothing
		swapAll(storage.Swap{Column: "c", Old: "0", New: "1"}, false)
	}
	swapAll(storage.Swap{Column: "c", Absent: true, New: "0"}, true)
	for i := range rounds {
		swapAll(storage.Swap{Column: "c", Old: fmt.Sprint(i), New: fmt.Sprint(i + 1)}, true)
	}
	if count, err := store.Replanned(t.Context()); err != nil || count > 0 {
		t.Errorf("plans were made anew %d times (%v)", count, err)
	}
	if err := store.Close(); err != nil { // by then the server has counted
		t.Fatal(err)
	}
	var all, looked int
	for try := 0; looked < rows*rounds && try < 1000; try++ {
		if err := b.admin.QueryRow(t.Context(), "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'holdfast_locks'").Scan(&all, &looked); err != nil {
			t.Fatal(err)
		}
	}
	if all > 20 || looked < rows*rounds {
		t.Errorf("the table was read whole %d times, and rows were looked up %d times, in %d swaps", all, looked, rows*rounds)
	}
}
