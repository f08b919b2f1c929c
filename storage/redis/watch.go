package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// Watch calls changed after every write of the row.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	if s.connections.isClosed() {
		return fmt.Errorf("watch redis: %w", errClosed)
	}
	// Ends a watch that never started; otherwise ctx does.
	watching, cancel := context.WithCancel(ctx)
	if err := s.hub.Watch(watching, key, changed); err != nil {
		cancel()
		return fmt.Errorf("watch redis: %w", err)
	}
	name := s.key(key)
	row, err := s.tracker.join(name)
	if err != nil {
		cancel()
		return fmt.Errorf("watch redis: %w", err)
	}
	context.AfterFunc(watching, func() { s.tracker.leave(name) })
	limited, end := context.WithTimeout(ctx, s.config.timeout)
	defer end()
	select {
	case <-row:
		context.AfterFunc(ctx, cancel)
		return nil
	case <-s.tracker.ended:
		cancel()
		return fmt.Errorf("watch redis: %w", errClosed)
	case <-limited.Done():
		cancel()
		return fmt.Errorf("watch redis: %w: %w", storage.ErrRefused, errors.Join(limited.Err(), s.tracker.why()))
	}
}

// tracker registers rows with the server for reports of writes, on a separate connection.
type tracker struct {
	client  rueidis.Client
	hub     *watch.Hub
	prefix  string
	timeout time.Duration
	wake    chan struct{} // has room for one
	ended   chan struct{}
	work    sync.WaitGroup

	mu      sync.Mutex
	rows    map[string]*tracked
	running bool
	closed  bool
	err     error // of the latest connection
}

// tracked is a row with watchers.
type tracked struct {
	watchers int
	tracked  bool // on this connection, since the server last reported it
	once     sync.Once
	ready    chan struct{} // closed when it was registered for the first time
}

func newTracker(client rueidis.Client, hub *watch.Hub, prefix string, timeout time.Duration) *tracker {
	return &tracker{
		client: client, hub: hub, prefix: prefix, timeout: timeout,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), rows: map[string]*tracked{},
	}
}

// join adds a watcher of a row, and returns a channel that is closed once every write is reported.
func (k *tracker) join(name string) (<-chan struct{}, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	row := k.rows[name]
	if row == nil {
		row = &tracked{ready: make(chan struct{})}
		k.rows[name] = row
		k.rouse()
	}
	row.watchers++
	if !k.running {
		k.running = true
		k.work.Go(k.run)
	}
	return row.ready, nil
}

// leave removes a watcher. The server reports the row at most once more.
func (k *tracker) leave(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if row := k.rows[name]; row != nil {
		if row.watchers--; row.watchers == 0 {
			delete(k.rows, name)
		}
	}
}

// why returns the error of the latest connection.
func (k *tracker) why() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// rouse makes the tracker look for rows to register.
func (k *tracker) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// end ends the tracker, once, and lets no further watcher join. It does not wait for it.
func (k *tracker) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	close(k.ended)
}

// run keeps one connection after another.
func (k *tracker) run() {
	pause := firstPause
	for {
		began := time.Now()
		err := k.follow()
		k.mu.Lock()
		k.err = err
		for _, row := range k.rows {
			row.tracked = false
		}
		k.mu.Unlock()
		if time.Since(began) > mostPause {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-k.ended:
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, mostPause)
	}
}

// follow registers rows, and again each reported one, until the connection is lost.
func (k *tracker) follow() error {
	connection, release := k.client.Dedicate()
	defer release()
	defer connection.Close()
	lost := connection.SetOnInvalidations(k.invalidated)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-k.ended:
			cancel()
		case <-stop:
		}
	}()
	limited, end := context.WithTimeout(ctx, k.timeout)
	err := connection.Do(limited, connection.B().ClientTracking().On().Build()).Error()
	end()
	if err != nil {
		return err
	}
	for {
		if err := k.track(ctx, connection); err != nil {
			return err
		}
		select {
		case <-k.wake:
		case err := <-lost:
			return err
		case <-k.ended:
			return errClosed
		}
	}
}

// trackBatch is the number of rows registered at once.
const trackBatch = 500

// track registers pending rows, and notifies their watchers: the server will report the next write, and the watchers
// must look for earlier ones themselves.
func (k *tracker) track(ctx context.Context, connection rueidis.DedicatedClient) error {
	for {
		var names []string
		k.mu.Lock()
		for name, row := range k.rows {
			if !row.tracked && len(names) < trackBatch {
				row.tracked = true
				names = append(names, name)
			}
		}
		k.mu.Unlock()
		if len(names) == 0 {
			return nil
		}
		limited, end := context.WithTimeout(ctx, k.timeout)
		err := connection.Do(limited, connection.B().Exists().Key(names...).Build()).Error()
		end()
		if err != nil {
			return err
		}
		for _, name := range names {
			k.mu.Lock()
			row := k.rows[name]
			k.mu.Unlock()
			if row != nil {
				row.once.Do(func() { close(row.ready) })
			}
			k.hub.Notify(strings.TrimPrefix(name, k.prefix))
		}
	}
}

// invalidated handles a report of the server: these rows were written, or any. It is called on the connection's own
// goroutine, and also when that ends.
func (k *tracker) invalidated(names []rueidis.RedisMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if names == nil {
		for _, row := range k.rows {
			row.tracked = false
		}
	}
	for i := range names {
		name, err := names[i].ToString()
		if row := k.rows[name]; err == nil && row != nil {
			row.tracked = false
		}
	}
	k.rouse()
}
