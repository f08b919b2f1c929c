package gather_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
)

// harness is a store whose requests end when the test says so. An answer has the key of its swap.
type harness struct {
	*gather.Gatherer
	begun chan []string // the keys of each request
	end   chan struct{} // one for each that may end
	work  sync.WaitGroup
}

func newHarness(lanes, most int) *harness {
	b := &harness{begun: make(chan []string, 100), end: make(chan struct{})}
	b.Gatherer = gather.New(gather.Config{
		Lanes: lanes, Most: most,
		One: func(ctx context.Context, s *storage.Swap) (storage.Swapped, error) {
			if ctx.Err() != nil {
				return storage.Swapped{}, storage.ErrRefused
			}
			a := b.send([]*storage.Swap{s})[0]
			return a.Swapped, a.Err
		},
		Many: b.send,
	})
	return b
}

func (b *harness) send(swaps []*storage.Swap) (answers []gather.Answer) {
	var keys []string
	for _, s := range swaps {
		keys = append(keys, s.Key)
		answers = append(answers, gather.Answer{Swapped: storage.Swapped{Present: true, Value: s.Key}})
	}
	b.begun <- keys
	<-b.end
	return answers
}

// ask asks for a swap, and checks that the answer is its own. It returns when the swap is under way or
// waits, which queued tells.
func (b *harness) ask(t *testing.T, key string) {
	b.work.Go(func() {
		if got, err := b.Swap(context.Background(), &storage.Swap{Key: key, Column: "c", New: "v"}); err != nil || got.Value != key {
			t.Errorf("the swap of %s is answered with %v, %v", key, got, err)
		}
	})
}

// TestTogether: what comes while all lanes are busy is sent together, as much as one request may have,
// and each gets its own answer. No request has a column twice.
func TestTogether(t *testing.T) {
	b := newHarness(1, 3)
	b.ask(t, "first")
	if keys := <-b.begun; len(keys) != 1 {
		t.Fatal(keys)
	}
	for i := range 4 {
		b.ask(t, strconv.Itoa(i))
	}
	b.ask(t, "0")
	b.AwaitQueue(5)
	b.end <- struct{}{}
	sent := 0
	for sent < 5 {
		keys := <-b.begun
		seen := map[string]bool{}
		for _, key := range keys {
			if seen[key] {
				t.Errorf("%v has a column twice", keys)
			}
			seen[key] = true
		}
		if sent == 0 && len(keys) != 3 || len(keys) > 3 {
			t.Errorf("%d are sent together: %v", len(keys), keys)
		}
		sent += len(keys)
		b.end <- struct{}{}
	}
	b.work.Wait()
	b.ask(t, "last") // the lane is free
	<-b.begun
	b.end <- struct{}{}
	b.work.Wait()
}

// TestEndOfContext: a caller whose context ends returns at once. What waited is refused, and never
// sent; what was sent with others is unknown.
func TestEndOfContext(t *testing.T) {
	b := newHarness(1, 10)
	b.ask(t, "first")
	<-b.begun
	ended := make(chan error)
	ask := func(ctx context.Context, key string) {
		b.work.Go(func() {
			_, err := b.Swap(ctx, &storage.Swap{Key: key, Column: "c", New: "v"})
			ended <- err
		})
	}
	waits, stop := context.WithCancel(t.Context())
	ask(waits, "waits")
	b.AwaitQueue(1)
	stop()
	if err := <-ended; !errors.Is(err, storage.ErrRefused) || !errors.Is(err, context.Canceled) {
		t.Errorf("one that waited: %v", err)
	}
	sent, stop := context.WithCancel(t.Context())
	ask(sent, "sent")
	b.ask(t, "along")
	b.AwaitQueue(2)
	b.end <- struct{}{}
	if keys := <-b.begun; len(keys) != 2 {
		t.Errorf("%v are sent", keys)
	}
	stop()
	if err := <-ended; !errors.Is(err, storage.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("one that was sent: %v", err)
	}
	if _, err := b.Swap(sent, &storage.Swap{Key: "late", Column: "c", New: "v"}); !errors.Is(err, storage.ErrRefused) {
		t.Errorf("one whose context had ended: %v", err)
	}
	b.end <- struct{}{}
	b.work.Wait()
	if len(b.begun) != 0 {
		t.Errorf("%v is sent", <-b.begun)
	}
}

// TestManyAtOnce: of many swaps that come at one time each gets its own answer, on no more lanes than
// there are.
func TestManyAtOnce(t *testing.T) {
	b := newHarness(2, 7)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range b.begun {
			b.end <- struct{}{}
		}
	}()
	for i := range 40 {
		for range 50 {
			b.ask(t, strconv.Itoa(i))
		}
	}
	b.work.Wait()
	close(b.begun)
	<-done
}
