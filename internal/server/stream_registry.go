package server

import (
	"context"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
)

// liveStreams is the set of open streams, so that all can be ended.
type liveStreams struct {
	mu     sync.Mutex
	closed bool
	all    map[*stream]struct{}
}

// add reports whether the stream may begin.
func (l *liveStreams) add(s *stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.all[s] = struct{}{}
	return true
}

func (l *liveStreams) remove(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, s)
}

// announce sends all streams the addresses for clients.
func (l *liveStreams) announce(r *edge.Roster) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.all {
		s.change(func(o *edge.Outbox) { o.Move(r) })
		s.signal()
	}
}

// close ends all streams and allows no new one.
func (l *liveStreams) close(result error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for s := range l.all {
		s.end(result)
	}
}

// occupants records which stream serves a session. There is one at a time: a later one waits until nothing of the
// earlier can step the driver any more, so that no operation of an abandoned stream takes effect after the resumption
// (a cancelled acquire would come back).
type occupants struct {
	mu        sync.Mutex
	bySession map[lock.SessionID]*stream
}

// occupy ends the earlier stream of session id with a status, and waits until it is gone. It reports false if ctx ended
// before.
func (o *occupants) occupy(ctx context.Context, id lock.SessionID, s *stream, why error) bool {
	for {
		o.mu.Lock()
		earlier := o.bySession[id]
		if earlier == nil {
			o.bySession[id] = s
			s.session = id
			o.mu.Unlock()
			return true
		}
		o.mu.Unlock()
		earlier.end(why)
		select {
		case <-earlier.gone:
			o.leave(earlier)
		case <-ctx.Done():
			return false
		}
	}
}

// leave frees the session that s serves, if it still does.
func (o *occupants) leave(s *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bySession[s.session] == s {
		delete(o.bySession, s.session)
	}
}
