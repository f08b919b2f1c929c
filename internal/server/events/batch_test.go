package events

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// readAll reads a feed until it has had count events, and returns what both kinds of
// readers make of them, each with encode.
func readAll(t *testing.T, f *Feed, count int, encode func(*schema.WatchEvent) ([]byte, error), join func([]*Item) ([]byte, error)) (documents, text string) {
	var both [2]strings.Builder
	for count > 0 {
		batches, err := f.Next(t.Context())
		if err != nil {
			t.Error(err)
			return "", ""
		}
		for _, batch := range batches {
			joined, err := batch.Text.Of(func() ([]byte, error) { return join(batch.Items) })
			if err != nil {
				t.Error(err)
			}
			both[1].Write(joined)
			for _, item := range batch.Items {
				one, err := item.Text.Of(func() ([]byte, error) { return encode(item.WatchEvent) })
				if err != nil {
					t.Error(err)
				}
				both[0].Write(one)
			}
			count -= len(batch.Items)
		}
	}
	return both[0].String(), both[1].String()
}

// TestAnEventIsEncodedOnce, however many watchers there are, regardless of which names they want, and in whichever
// form they get it; and every one of them has all events that it wants, in their order.
func TestAnEventIsEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		const events, watchers = 1000, 40
		var encoded, joined atomic.Int64
		encode := func(e *schema.WatchEvent) ([]byte, error) {
			encoded.Add(1)
			return []byte(e.Member + e.Name + ";"), nil
		}
		join := func(items []*Item) (all []byte, err error) {
			joined.Add(int64(len(items)))
			for _, item := range items {
				one, _ := item.Text.Of(func() ([]byte, error) { return encode(item.WatchEvent) })
				all = append(all, one...)
			}
			return all, nil
		}
		var all, evens strings.Builder
		for i := range events {
			fmt.Fprintf(&all, "an%d/%d;", i%2, i)
			if i%2 == 0 {
				fmt.Fprintf(&evens, "an0/%d;", i)
			}
		}
		var readers sync.WaitGroup
		for i := range watchers {
			prefix, count, want := "", events, all.String()
			if i%2 == 1 {
				prefix, count, want = "n0/", events/2, evens.String()
			}
			f := b.watch("", prefix)
			defer f.Close()
			readers.Go(func() {
				if documents, text := readAll(t, f, count, encode, join); documents != want || text != want {
					t.Errorf("watcher %d has %d and %d bytes, want %d", i, len(documents), len(text), len(want))
				}
			})
		}
		for i := range events {
			b.own.emit(uint64(i+1), &schema.WatchEvent{Event: Granted, Name: fmt.Sprintf("n%d/%d", i%2, i)})
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		readers.Wait()
		if encoded.Load() != events {
			t.Errorf("%d events are encoded %d times", events, encoded.Load())
		}
		if joined.Load() != events+events/2 {
			t.Errorf("%d events, of which half are wanted by others, are joined %d times", events, joined.Load())
		}
	})
}

// TestAWatcherBeginsNow: what happened before it watched is for others.
func TestAWatcherBeginsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t)
		defer b.Close()
		early := b.watch("", "")
		defer early.Close()
		grant(b.own, "x", 1)
		late := b.watch("", "")
		defer late.Close()
		grant(b.own, "y", 2)
		wants(b, late, "a granted y 2", "a released y 2")
		wants(b, early, "a granted x 1", "a released x 1", "a granted y 2", "a released y 2")
	})
}
