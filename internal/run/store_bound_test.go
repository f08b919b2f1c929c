package run_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// slowStore answers no read before it is let to.
type slowStore struct {
	storage.Store
	let chan struct{}

	mu         sync.Mutex
	now, most  int
	keys       []string // in the order in which they were asked for
	unexpected error
}

func (s *slowStore) Slice(ctx context.Context, r *storage.Slice) ([]storage.Entry, error) {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.keys = append(s.keys, r.Key)
	s.mu.Unlock()
	select {
	case <-s.let:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.unexpected = errors.Join(s.unexpected, ctx.Err())
	return nil, nil
}

// TestRequestsToAStore: 512 of a space are with its store at a time. The others wait for their turn,
// and all are answered.
func TestRequestsToAStore(t *testing.T) {
	t.Parallel()
	const bound, all = 512, 700
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{let: make(chan struct{})}
		answers := 0
		m := &scripted{wake: protocol.Never}
		m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
			switch ev.Fact.(type) {
			case string:
				for i := range all {
					out.Sends = append(out.Sends, protocol.Envelope{To: protocol.Storage, Port: 1, Message: storage.Slice{ID: uint64(i), Key: fmt.Sprint(i)}})
				}
			case storage.Sliced:
				answers++
			}
		}
		d := start(t, run.Config{Machine: m, Clock: clocktest.NewManual(), Stores: map[protocol.Port]storage.Store{1: store}})
		d.Step(call(1, 1, "go"))
		synctest.Wait()
		store.mu.Lock()
		if store.now != bound {
			t.Errorf("%d requests are with the store, want %d", store.now, bound)
		}
		store.mu.Unlock()
		close(store.let)
		synctest.Wait()
		if store.most != bound || len(store.keys) != all || answers != all || store.unexpected != nil {
			t.Errorf("%d at a time at most, %d asked and %d answered, %v; want %d, and twice %d", store.most, len(store.keys), answers, store.unexpected, bound, all)
		}
	})
}
