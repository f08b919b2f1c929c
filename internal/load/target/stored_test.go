package target

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// kept is a store in memory for a test.
func kept(url string) Kept {
	return Kept{URL: url, Open: Together(func(context.Context) (storage.Store, error) { return memory.New(memory.Config{}), nil })}
}

// TestStored: a lock costs two writes and a read by claims, and two conditional writes with CAS;
// where processes want one name, they exclude each other, and the figures say how often one that tries
// wins, and how much of the time no process has it.
func TestStored(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	targets := StoredTargets([]Kept{kept("memory://")}, []string{Claims, CAS, CASKept}, []time.Duration{10 * time.Millisecond})
	const think, window = 10 * time.Millisecond, 300 * time.Millisecond
	result, err := load.Run(limitedContext(t), load.Config{
		Targets: targets, Workloads: []string{load.Uncontended, load.Hot}, Workers: []int{4}, Think: []time.Duration{0, think},
		Rounds: 1, Duration: window,
	})
	if err != nil || result.FirstError != nil {
		t.Fatal(err, result)
	}
	if n := result.Sum(load.Violations) + result.Sum(load.Errors); n > 0 {
		t.Errorf("%v violations and errors", n)
	}
	if testing.Short() {
		return // the figures are those of a machine without the race detector
	}
	alone, hot := load.Cell{Workload: load.Uncontended, Workers: 4, Think: think}, load.Cell{Workload: load.Hot, Workers: 4, Think: think}
	idle := load.Cell{Workload: load.Uncontended, Workers: 4}
	for _, tt := range []struct {
		target      string
		cell        load.Cell
		metric      load.Metric
		least, most float64
	}{
		{"store-memory-10ms", alone, load.WritesPerLock, 1.9, 2.1}, {"store-memory-10ms", alone, load.ReadsPerLock, 0.9, 1.1},
		{"store-memory-10ms", alone, load.TriesWon, 0.9, 1.1},
		{"store-memory-cas", alone, load.WritesPerLock, 1.9, 2.1}, {"store-memory-cas", alone, load.ReadsPerLock, 0, 0},
		{"store-memory-cas", alone, load.TriesWon, 0.9, 1.1},
		{"store-memory-cas-kept", idle, load.WritesPerLock, 0, 1.5}, {"store-memory-cas-kept", idle, load.ReadsPerLock, 0, 0},
		{"store-memory-cas-kept", hot, load.OfPossible, 0, 1.05},
		{"store-memory-10ms", hot, load.OfPossible, 0.01, 1.05}, {"store-memory-cas", hot, load.OfPossible, 0.01, 1.05},
		{"store-memory-10ms", hot, load.TriesWon, 0.01, 1.3}, {"store-memory-cas", hot, load.TriesWon, 0.01, 1.3},
	} {
		// At either edge of the window each worker may have asked for a lock that is counted beyond it. On a busy machine the
		// window has few locks, and these are a large part of them.
		edge := 2 * 4 / max(1, figure(t, result, tt.target, tt.cell, load.OpsPerS)*window.Seconds())
		if tt.metric == load.OfPossible || tt.most == 0 {
			edge = 0 // no edge adds hand-offs, or reads that are never made
		}
		if got := figure(t, result, tt.target, tt.cell, tt.metric); got < tt.least-edge || got > tt.most+edge {
			t.Errorf("%s, %v: %s is %v, want %v to %v, and %.2f at the edges", tt.target, tt.cell, tt.metric, got, tt.least, tt.most, edge)
		}
	}
	headers := map[string]bool{}
	for _, table := range result.Tables() {
		for _, header := range table.Header {
			headers[header] = true
		}
	}
	for _, header := range []string{"WRITES", "READS", "TRIES-WON", "OF-POSSIBLE"} {
		if !headers[header] {
			t.Errorf("no column %s in %v", header, headers)
		}
	}
}

// TestStoredNames: a target says of which store it is, and of which kind.
func TestStoredNames(t *testing.T) {
	stores := []Kept{{URL: "redis://a"}, {URL: "PEBBLE:///x"}, {URL: "redis://b"}}
	var names []string
	for _, target := range StoredTargets(stores, []string{CASKept, CAS, Claims}, []time.Duration{time.Second, time.Millisecond}) {
		names = append(names, target.Name())
		if target.Supports(load.Cell{Workload: load.Hold}) || target.Supports(load.Cell{Workload: load.Drain}) {
			t.Errorf("%s is measured with hold or drain", target.Name())
		}
	}
	want := []string{
		"store-redis-1s", "store-redis-1ms", "store-redis-cas", "store-redis-cas-kept", "store-pebble-1s", "store-pebble-1ms", "store-pebble-cas", "store-pebble-cas-kept",
		"store-redis-2-1s", "store-redis-2-1ms", "store-redis-2-cas", "store-redis-2-cas-kept",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// TestStoredNotThere: what opens no store, and one whose locks cannot be had, start nothing.
func TestStoredNotThere(t *testing.T) {
	failed := errors.New("no server is there")
	absent := Over(Stored{Name: "absent", Open: func(context.Context) (storage.Store, error) { return nil, failed }})
	if err := absent.Start(limitedContext(t)); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	if err := absent.Stop(); err != nil {
		t.Error(err)
	}
	wrong := Over(Stored{Name: "wrong", Open: kept("memory://").Open, Wait: time.Hour})
	if err := wrong.Start(limitedContext(t)); err == nil {
		t.Error("a wait of an hour is taken")
	}
	if err := wrong.Stop(); err != nil {
		t.Error(err)
	}
}

// TestTogether: a store that is opened several times is closed when all are closed, and opened anew
// afterwards.
func TestTogether(t *testing.T) {
	opened := 0
	opens := Together(func(context.Context) (storage.Store, error) {
		opened++
		return memory.New(memory.Config{}), nil
	})
	read := func(s storage.Store) error {
		_, err := s.Slice(limitedContext(t), &storage.Slice{Key: "k"})
		return err
	}
	for times := 1; times <= 2; times++ {
		first, err := opens(limitedContext(t))
		if err != nil {
			t.Fatal(err)
		}
		second, err := opens(limitedContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(first.Close(), read(second)); err != nil || opened != times {
			t.Errorf("one of two is closed: %v; opened %d times, want %d", err, opened, times)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if err := read(second); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("both are closed: %v", err)
		}
	}
}
