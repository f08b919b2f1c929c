package etcd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/storage"
)

// watched is a row with watchers.
type watched struct {
	watchers int
	cancel   context.CancelFunc
	once     sync.Once
	ready    chan struct{} // closed when the server watches it for the first time
}

// Watch calls changed after deletions of columns and after each Swap of the row.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	what := "watch etcd"
	// Ends a watch that never started; otherwise ctx does.
	watching, cancel := context.WithCancel(ctx)
	if err := s.hub.Watch(watching, key, changed); err != nil {
		cancel()
		return fmt.Errorf("%s: %w", what, err)
	}
	row, err := s.join(key)
	if err != nil {
		cancel()
		return fmt.Errorf("%s: %w", what, err)
	}
	context.AfterFunc(watching, func() { s.leave(key) })
	limited, end := context.WithTimeout(ctx, s.config.timeout)
	defer end()
	select {
	case <-row.ready:
		context.AfterFunc(ctx, cancel)
		return nil
	case <-s.ended:
		cancel()
		return fmt.Errorf("%s: %w", what, errClosed)
	case <-limited.Done():
		cancel()
		return fmt.Errorf("%s: %w: no member of the cluster watches: %w", what, storage.ErrRefused, limited.Err())
	}
}

// join adds a watcher of a row.
func (s *Store) join(key string) (*watched, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	row := s.rows[key]
	if row == nil {
		ctx, cancel := context.WithCancel(context.Background())
		row = &watched{cancel: cancel, ready: make(chan struct{})}
		s.rows[key] = row
		s.work.Go(func() {
			defer cancel()
			s.follow(ctx, key, row)
		})
	}
	row.watchers++
	return row, nil
}

// leave takes a watcher of a row away.
func (s *Store) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[key]
	if row == nil {
		return
	}
	if row.watchers--; row.watchers == 0 {
		row.cancel()
		delete(s.rows, key)
	}
}

// The pause before an ended watch is restarted, which doubles up to the maximum.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = time.Second
)

// follow watches a row until ctx ends or the store is closed.
func (s *Store) follow(ctx context.Context, key string, row *watched) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.client.Ctx(), cancel) // ends with the client
	defer stop()
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		if s.watchOnce(ctx, key, row) {
			pause = firstPause
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// watchOnce watches until the server or the client ends the watch, and reports whether it started. A member without a
// leader ends it, so that another one is used.
func (s *Store) watchOnce(ctx context.Context, key string, row *watched) (began bool) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	prefix := s.config.row(key)
	for response := range s.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify()) {
		if response.Created {
			began = true
			row.once.Do(func() { close(row.ready) })
			s.hub.Notify(key) // of missed changes, if any
		}
		if response.Err() != nil {
			return began
		}
		for _, event := range response.Events {
			if event.Type == clientv3.EventTypeDelete || strings.HasPrefix(string(event.Kv.Value), noStamp) {
				s.hub.Notify(key)
				break
			}
		}
	}
	return began
}
