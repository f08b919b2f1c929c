package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/storage"
)

// channel returns the name of a table's notification channel, within PostgreSQL's maximum length.
func channel(schema, table string) string {
	sum := sha256.Sum256([]byte(schema + "\x00" + table))
	return "holdfast_" + hex.EncodeToString(sum[:16])
}

// news is the rows with pending notifications to watchers elsewhere.
type news struct {
	mu      sync.Mutex
	waiting map[string]struct{}
	come    chan struct{} // has room for one: there is something to send
}

// mostNews is the maximum number of pending rows while the server accepts none: further ones are dropped.
const mostNews = 10000

// publish notifies the watchers of a row: this Store's now, all others soon.
func (s *Store) publish(key string) {
	s.hub.Notify(key)
	s.news.mu.Lock()
	if len(s.news.waiting) < mostNews {
		s.news.waiting[key] = struct{}{}
	}
	s.news.mu.Unlock()
	select {
	case s.news.come <- struct{}{}:
	default:
	}
}

// take returns all pending notifications.
func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	rows := make([]string, 0, len(n.waiting))
	for key := range n.waiting {
		// A notification is text of up to 8000 bytes.
		rows = append(rows, base64.RawStdEncoding.EncodeToString([]byte(key)))
	}
	clear(n.waiting)
	return rows
}

// spread notifies watchers elsewhere, until the store is closed.
func (s *Store) spread() {
	var rows []string
	for failed := 0; ; {
		if failed == 0 {
			select {
			case <-s.news.come:
			case <-s.ctx.Done():
				return
			}
		}
		rows = append(rows, s.news.take()...)
		ctx, leave := s.lingering()
		err := s.notify(ctx, rows)
		leave()
		if err == nil {
			rows, failed = nil, 0
			continue
		}
		failed++
		rows = rows[:min(len(rows), mostNews)]
		if backoff.Sleep(s.ctx, delay(failed)) != nil {
			return
		}
	}
}

// lingering returns the context of notifications, which ends only some time after the store is closed: a cancelled
// statement costs its connection, and with TLS the pool waits 15 s for the server to notice.
func (s *Store) lingering() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), s.settings.timeout)
	forget := context.AfterFunc(s.ctx, func() { time.AfterFunc(flushTimeout, cancel) })
	return ctx, func() {
		forget()
		cancel()
	}
}

// flushTimeout is how long a closed store still sends notifications.
const flushTimeout = time.Second

func (s *Store) notify(ctx context.Context, rows []string) error {
	if len(rows) == 0 {
		return nil
	}
	return s.once(ctx, false, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, s.statements.notify, s.channel, rows)
		return err
	})
}

// last sends the remaining notifications when the store is closed.
func (s *Store) last() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = s.notify(ctx, s.news.take()) // watches are hints, and this was the last attempt
}

// delay returns the pause after that many failed attempts: twice as long each time, up to some seconds, with jitter for
// processes that lost a server at the same time.
func delay(failed int) time.Duration {
	longest := min(20*time.Millisecond<<min(failed, 10), 5*time.Second)
	return longest/2 + rand.N(longest/2)
}

// listener is the connection on which the store receives notifications.
type listener struct {
	quiet time.Duration // idle time after which the server is pinged

	mu      sync.Mutex
	begun   bool
	ready   chan struct{} // closed while it listens
	isReady bool
}

// Watch calls changed after the row has changed, in any process. The first Watch of a Store makes a connection.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	waiting, leave, err := s.enter(ctx, (storage.Slice{Key: key}).Check())
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer leave()
	// The watch ends with ctx, and at once if it cannot start.
	watching, end := context.WithCancel(ctx)
	if err := s.hub.Watch(watching, key, changed); err != nil {
		end()
		return err
	}
	select {
	case <-s.listening():
		context.AfterFunc(ctx, end) // ends watching anyway, and frees it
		return nil
	case <-waiting.Done():
		end()
		return fmt.Errorf("watch: no connection that listens: %w: %w", storage.ErrRefused, waiting.Err())
	}
}

// listening starts to listen, if needed, and returns a channel that is closed while the store listens.
func (s *Store) listening() <-chan struct{} {
	s.listen.mu.Lock()
	defer s.listen.mu.Unlock()
	if !s.listen.begun {
		s.listen.begun = true
		s.helpers.Go(s.hear)
	}
	return s.listen.ready
}

// set sets whether the store listens now.
func (l *listener) set(ready bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ready && !l.isReady:
		close(l.ready)
	case !ready && l.isReady:
		l.ready = make(chan struct{})
	}
	l.isReady = ready
}

// hear listens until the store is closed, on one connection after another.
func (s *Store) hear() {
	for failed := 0; s.ctx.Err() == nil; failed++ {
		if s.hearOne() {
			failed = 0
		}
		s.listen.set(false)
		if backoff.Sleep(s.ctx, delay(failed)) != nil {
			return
		}
	}
}

// hearOne listens on one connection until it is lost, and reports whether there was one.
func (s *Store) hearOne() (heard bool) {
	connecting, cancel := context.WithTimeout(s.ctx, s.settings.timeout)
	defer cancel()
	c, err := pgx.ConnectConfig(connecting, s.pool.Config().ConnConfig)
	if err != nil {
		return false // the caller retries, as long as the store is open
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ending) // it is lost, or no longer needed
	}()
	if _, err := c.Exec(connecting, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return false
	}
	s.listen.set(true)
	s.hub.NotifyAll() // earlier changes may have been missed
	for {
		waiting, cancel := context.WithTimeout(s.ctx, s.listen.quiet)
		notification, err := c.WaitForNotification(waiting)
		over := waiting.Err() != nil
		cancel()
		if notification != nil {
			// A foreign notification on our channel is ignored.
			if key, err := base64.RawStdEncoding.DecodeString(notification.Payload); err == nil {
				s.hub.Notify(string(key))
			}
		}
		switch {
		case err == nil:
		case s.ctx.Err() != nil || !over || c.IsClosed():
			return true
		default:
			pingCtx, cancel := context.WithTimeout(s.ctx, s.settings.timeout)
			err := c.Ping(pingCtx)
			cancel()
			if err != nil {
				return true
			}
		}
	}
}
