package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/wire"
)

// The names of events.
const (
	eventWaiting   = "waiting"
	eventGranted   = "granted"
	eventReleased  = "released"
	eventCancelled = "cancelled"
	eventLost      = "lost"
	eventBroken    = "broken"
	eventView      = "view"
	eventSpace     = "space"
)

// feedBound is how many events may wait for one reader. A reader that lets them
// pile up to this is dropped: telling it some of what happened would be worse.
const feedBound = 4096

// errSlow ends a feed whose reader was too slow.
var errSlow error = &wire.Failure{
	Code:   wire.CodeLimit,
	Detail: "the reader was too slow; events were lost, read the state anew",
	Err:    &holdfast.LimitError{Limit: "unread_events", Value: feedBound},
}

// feeds are the readers of events.
type feeds struct {
	open atomic.Int32 // how many there are, so that nobody makes events for nobody

	mu   sync.Mutex
	byID map[*feed]struct{}
}

// feed is one reader's events.
type feed struct {
	feeds  *feeds
	space  string
	prefix string

	mu     sync.Mutex
	queue  []wire.Event
	slow   bool
	signal chan struct{} // holds one when there is something to take
}

func (f *feeds) subscribe(space, prefix string, most int) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byID) >= most {
		return nil
	}
	one := &feed{feeds: f, space: space, prefix: prefix, signal: make(chan struct{}, 1)}
	f.byID[one] = struct{}{}
	f.open.Store(int32(len(f.byID)))
	return one
}

// publish gives an event to whom it concerns, without waiting for anybody.
func (f *feeds) publish(e wire.Event) {
	if f.open.Load() == 0 {
		return
	}
	e.Time = wire.At(time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	//tidy:unordered every feed gets the event, each its own copy
	for one := range f.byID {
		if one.concerns(&e) {
			one.put(e)
		}
	}
}

func (f *feed) concerns(e *wire.Event) bool {
	return (f.space == "" || e.Space == "" || f.space == e.Space) && (e.Name == "" || strings.HasPrefix(e.Name, f.prefix))
}

func (f *feed) put(e wire.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) >= feedBound {
		f.slow = true
	}
	if !f.slow {
		f.queue = append(f.queue, e)
	}
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// next returns what has happened since the last call, at least one event, as soon
// as there is one. The error is errSlow once the reader was too slow and has read
// what was kept for it, or the context's.
func (f *feed) next(ctx context.Context) ([]wire.Event, error) {
	for {
		f.mu.Lock()
		events, slow := f.queue, f.slow
		f.queue = nil
		f.mu.Unlock()
		switch {
		case len(events) > 0:
			return events, nil
		case slow:
			return nil, errSlow
		}
		select {
		case <-f.signal:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// close ends the feed.
func (f *feed) close() {
	f.feeds.mu.Lock()
	defer f.feeds.mu.Unlock()
	delete(f.feeds.byID, f)
	f.feeds.open.Store(int32(len(f.feeds.byID)))
}

// eventOf says what a decision is as an event; waited says that it is about a request
// that was queued before. It is "" for what changes nothing for others: a refusal at
// once, another hold limit, a queued request that asks for its position.
func eventOf(d *lock.Decision, waited bool) (event, why string) {
	switch {
	case d.Kind == lock.Queued && !waited && d.Position >= 0:
		return eventWaiting, fmt.Sprintf("%d before it", d.Position)
	case d.Kind == lock.Queued, extends(d):
		return "", ""
	case d.Kind == lock.Granted:
		return eventGranted, ""
	case d.Token == 0 && waited:
		if d.Err != nil {
			return eventCancelled, d.Err.Error()
		}
		return eventCancelled, string(d.Loss)
	case d.Token == 0:
		return "", ""
	case d.Kind == lock.Released:
		return eventReleased, ""
	case d.Kind == lock.Lost:
		return eventLost, string(d.Loss)
	case d.Kind == lock.Revoked:
		return eventBroken, string(d.Loss)
	}
	return "", ""
}

// extends reports whether d answers a wish for another hold limit: it names the grant,
// and is none.
func extends(d *lock.Decision) bool { return d.Kind == lock.Granted && d.Since == 0 }

// viewText says in a line who is here.
func viewText(view *protocol.View) string {
	var names []string
	coordinator := ""
	for _, member := range view.Members {
		names = append(names, member.Name)
		if member.ID == view.Coordinator {
			coordinator = member.Name
		}
	}
	return fmt.Sprintf("view %d: %s; coordinator %s", view.Number, strings.Join(names, ", "), coordinator)
}
