package pebble_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/pebble"
)

// pair is two columns that one Mutate adds.
const pairOf = 2

// TestCrash cuts the power while many write: what was answered until then is there when the disk
// comes back, with any part of the rest that it had; what was not is there whole or not at all;
// and what was shown stays.
func TestCrash(t *testing.T) {
	const rounds, writers = 6, 8
	lost := 0
	for round := range rounds {
		disk := vfs.NewCrashableMem()
		store, err := pebble.OpenFS(t.Context(), disk, "folder", pebble.Config{})
		if err != nil {
			t.Fatal(err)
		}
		w := work{T: t, store: store, enough: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() { w.write(ctx, i) })
			all.Go(func() { w.count(ctx, i) })
		}
		<-w.enough
		before := w.now()
		after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 20 * round, RNG: rand.New(rand.NewPCG(uint64(round), 0))})
		w.later()
		stop()
		all.Wait()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		lost += w.compare(after, before)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if lost == 0 {
		t.Error("after each crash there is all that was written after it, so none was one")
	}
	t.Logf("%d pairs that were answered after the crashes are not there", lost)
}

// state is what was answered.
type state struct {
	pairs   int
	written map[string]bool
	counted int
}

// work is what goes on before a crash.
type work struct {
	*testing.T
	store  *pebble.Store
	enough chan struct{} // closed when there is something to be lost

	mu       sync.Mutex
	isEnough bool
	state
}

// now is what was answered until now.
func (w *work) now() state {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	s.written = map[string]bool{}
	for name := range w.written {
		s.written[name] = true
	}
	return s
}

// look closes enough when there is enough of everything.
func (w *work) look() {
	if w.pairs >= 300 && w.counted >= 10 && !w.isEnough {
		w.isEnough = true
		close(w.enough)
	}
}

// later adds a pair that comes after the crash, so that there is one that it must have lost.
func (w *work) later() {
	m := storage.Mutate{Key: "all", Additions: []storage.Entry{{Column: "a later", Value: "later"}, {Column: "b later", Value: "later"}}}
	if err := w.store.Mutate(w.Context(), &m); err != nil {
		w.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pairs++
}

// write adds pairs, in rows of its own and in one of all, until ctx ends.
func (w *work) write(ctx context.Context, i int) {
	for n := 0; ; n++ {
		key := "all"
		if n%2 == 0 {
			key = strconv.Itoa(i)
		}
		name := fmt.Sprintf("%d %06d", i, n)
		err := w.store.Mutate(ctx, &storage.Mutate{Key: key, Additions: []storage.Entry{{Column: "a " + name, Value: name}, {Column: "b " + name, Value: name}}})
		if err != nil {
			w.ended(ctx, err)
			return
		}
		w.mu.Lock()
		if w.written == nil {
			w.written = map[string]bool{}
		}
		w.written[name] = true
		w.pairs++
		w.look()
		w.mu.Unlock()
	}
}

// count adds one to a number, again and again, and holds to what it has been shown.
func (w *work) count(ctx context.Context, i int) {
	swap := storage.Swap{Key: "counter", Column: "c", Absent: true, New: "1"}
	for seen := 0; ; {
		swapped, err := w.store.Swap(ctx, &swap)
		if err != nil {
			w.ended(ctx, err)
			return
		}
		if seen++; !swapped.Done {
			if seen, err = strconv.Atoi(swapped.Value); err != nil {
				w.Errorf("the counter of %d: %v", i, err)
				return
			}
		}
		swap = storage.Swap{Key: "counter", Column: "c", Old: strconv.Itoa(seen), New: strconv.Itoa(seen + 1)}
		w.mu.Lock()
		w.counted = max(w.counted, seen)
		w.look()
		w.mu.Unlock()
	}
}

func (w *work) ended(ctx context.Context, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		w.Errorf("a request: %v", err)
	}
}

// compare looks what a crash has left, and says how much is not there of what came after it.
func (w *work) compare(disk *vfs.MemFS, before state) (lost int) {
	store, err := pebble.OpenFS(context.Background(), disk, "folder", pebble.Config{})
	if err != nil {
		w.Fatalf("open after a crash: %v", err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			w.Errorf("close after a crash: %v", err)
		}
	}()
	columns := map[string]int{}
	for _, key := range []string{"all", "0", "1", "2", "3", "4", "5", "6", "7"} {
		entries, err := store.Slice(context.Background(), &storage.Slice{Key: key})
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range entries {
			columns[e.Value]++
		}
	}
	for name, n := range columns {
		if n != pairOf {
			w.Errorf("of the pair %q there is half", name)
		}
	}
	for name := range before.written {
		if columns[name] == 0 {
			w.Errorf("the pair %q was answered before the crash, and is lost", name)
		}
	}
	entries, err := store.Slice(context.Background(), &storage.Slice{Key: "counter", Serial: true})
	if err != nil || len(entries) != 1 {
		w.Fatalf("the counter: %v, %v", entries, err)
	}
	if n, err := strconv.Atoi(entries[0].Value); err != nil || n < before.counted {
		w.Errorf("the counter is at %q, and was seen at %d before the crash", entries[0].Value, before.counted)
	}
	return w.pairs - len(columns)
}
