package run_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// TestStoreRequests: each request is answered once, whether it comes alone, with few others or with more than
// are asked at a time, and a goroutine that has asked before goes on to ask. A driver that is closed then leaves none
// behind.
func TestStoreRequests(t *testing.T) {
	store := memory.New(memory.Config{})
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	answered := make(chan uint64, 2000)
	m := &scripted{wake: protocol.Never}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		switch fact := ev.Fact.(type) {
		case storage.Mutated:
			if fact.Err != nil {
				t.Error(fact)
			}
			answered <- fact.ID
		case storage.Mutate:
			out.Send(protocol.Storage, fact)
		}
	}
	d, err := run.New(run.Config{Machine: m, Stores: map[protocol.Port]storage.Store{0: store}})
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for _, count := range []int{1, 1, 5, 1500, 1, 100} {
		var events []protocol.Event
		var want []uint64
		for range count {
			last++
			want = append(want, last)
			events = append(events, protocol.Event{Kind: protocol.Raised, Fact: storage.Mutate{
				ID: last, Key: fmt.Sprint("k", last%7), Additions: []storage.Entry{{Column: fmt.Sprint("c", last), Value: "v"}},
			}})
		}
		d.Step(events...)
		var got []uint64
		for range count {
			got = append(got, <-answered)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("of %d requests these are answered: %v", count, got)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if len(answered) > 0 {
		t.Errorf("%d answers too many", len(answered))
	}
}
