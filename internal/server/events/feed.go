package events

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// FeedBound is the maximum number of unread events of one watcher. A watcher that lets more pile up is dropped, with
// its unread events: an incomplete sequence would be worse.
const FeedBound = 16384

// ErrSlow ends a feed whose watcher was too slow.
var ErrSlow error = &api.Failure{
	Code:   api.CodeLimit,
	Detail: "the reader was too slow; events were lost, read the state anew",
	Err:    &holdfast.LimitError{Limit: "unread_events", Value: FeedBound},
}

// errEnded ends the feed of another member when this one leaves.
var errEnded = errors.New("this member is leaving")

// Filter selects events: those of names that begin with Prefix, in Space or in all with "". Events without a name, or
// without a space, always match.
type Filter struct {
	Space  string
	Prefix string
}

// covers reports whether f matches everything that other matches.
func (f Filter) covers(other Filter) bool {
	return (f.Space == "" || f.Space == other.Space) && strings.HasPrefix(other.Prefix, f.Prefix)
}

func (f Filter) wants(e *schema.WatchEvent) bool {
	return (f.Space == "" || e.Space == "" || f.Space == e.Space) && (e.Name == "" || strings.HasPrefix(e.Name, f.Prefix))
}

// Feed queues the unread events of one watcher. One goroutine reads it.
type Feed struct {
	source *Source
	want   Filter
	other  bool       // read by another member: it wants events about locks, and their count
	keeper bool       // without a reader: it keeps the last events of its filter for returning watchers
	own    bool       // read by this member itself
	shares *gathering // source of other members' events; nil without others
	ends   func()     // called at its end; may be nil

	mu     sync.Mutex
	queue  []*Batch
	unread int    // number of events in it
	gone   uint64 // keeper: number of the latest event that it no longer has; it has all later ones
	count  uint64 // number of the last event about a lock, matching or not
	slow   bool
	ended  bool
	signal chan struct{} // holds one when there is something to take
}

// watch opens a feed for a watcher at this member, whose name is member; nil if the maximum is reached.
func (s *Source) watch(want Filter, member string, most int) *Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers >= most {
		return nil
	}
	s.hand() // earlier events are for the earlier watchers
	s.watchers++
	s.member = member
	return s.admit(&Feed{source: s, want: want})
}

// attend opens a feed for a reader of this member itself, which is none of its watchers.
func (s *Source) attend(want Filter, member string) *Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand()
	s.keepers++
	s.member = member
	return s.admit(&Feed{source: s, want: want, own: true})
}

// keep opens a keeper.
func (s *Source) keep(want Filter) *Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand()
	s.keepers++
	s.order.Lock()
	defer s.order.Unlock()
	s.number++ // skipped: events while nothing was kept had no number
	return s.admit(&Feed{source: s, want: want, keeper: true, gone: s.number})
}

// Watchers returns the number of feeds of watchers at this member.
func (s *Source) Watchers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchers
}

// admit adds a feed. It is called with the mutex held.
func (s *Source) admit(one *Feed) *Feed {
	one.signal = make(chan struct{}, 1)
	s.feeds[one] = struct{}{}
	s.open.Store(int32(len(s.feeds)))
	// A goroutine that counts another event from now on finds the feed, and reports to it.
	one.count = s.count.Load()
	return one
}

// put adds an event of this member about a lock, if it matches; count is its number.
func (f *Feed) put(item *Item, count uint64) {
	wanted := f.want.wants(item.WatchEvent)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count = max(f.count, count)
	if wanted {
		f.insert(&Batch{Items: []*Item{item}})
	}
}

// add adds matching events.
func (f *Feed) add(b *Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.insert(b)
}

// insert adds events without waiting for the watcher. It is called with the mutex held.
func (f *Feed) insert(b *Batch) {
	f.wake()
	if f.slow {
		return
	}
	f.unread += len(b.Items)
	if f.keeper {
		f.queue = append(f.queue, b)
		for f.unread > kept && len(f.queue) > 1 {
			f.gone = max(f.gone, f.queue[0].Items[len(f.queue[0].Items)-1].number)
			f.unread -= len(f.queue[0].Items)
			f.queue = f.queue[1:]
		}
		return
	}
	if f.unread > FeedBound {
		f.slow, f.queue = true, nil
		return
	}
	f.queue = append(f.queue, b)
}

// end ends the feed after its queued events.
func (f *Feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.wake()
}

func (f *Feed) wake() {
	select {
	case f.signal <- struct{}{}:
	default: // it is awake
	}
}

// portionEvents is the approximate maximum number of events that Next returns.
const portionEvents = 1024

// Next waits for events since the last call and returns them; if there are many, the first part. The error is ErrSlow
// once the watcher was too slow, or the context's.
func (f *Feed) Next(ctx context.Context) ([]*Batch, error) {
	for {
		f.mu.Lock()
		batches, slow, ended := f.first(), f.slow, f.ended
		f.mu.Unlock()
		switch {
		case slow:
			return nil, ErrSlow
		case len(batches) > 0:
			return batches, nil
		case ended:
			return nil, errEnded
		}
		select {
		case <-f.signal:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// first returns the first part of the queue. It is called with the mutex held.
func (f *Feed) first() []*Batch {
	count := 0
	for i, batch := range f.queue {
		if count += len(batch.Items); count >= portionEvents && i+1 < len(f.queue) {
			batches := f.queue[: i+1 : i+1]
			f.queue, f.unread = f.queue[i+1:], f.unread-count
			return batches
		}
	}
	return f.empty()
}

// empty empties the queue. It is called with the mutex held.
func (f *Feed) empty() []*Batch {
	batches := f.queue
	f.queue, f.unread = nil, 0
	return batches
}

// portion is a snapshot of another member's feed.
type portion struct {
	batches     []*Batch
	count       uint64
	at          time.Time
	slow, ended bool
}

// take empties the feed of another member. Under the mutex of the source no event is between getting its time and
// number and being in the feed: so the result is complete.
func (f *Feed) take() portion {
	f.source.mu.Lock()
	defer f.source.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	return portion{f.empty(), f.count, time.Now(), f.slow, f.ended}
}

// Close ends the feed.
func (f *Feed) Close() {
	if !f.source.remove(f) {
		return
	}
	if f.shares != nil {
		f.shares.leave(f)
	}
	if f.ends != nil {
		f.ends()
	}
}

func (s *Source) remove(f *Feed) (open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open = s.feeds[f]; !open {
		return false
	}
	delete(s.feeds, f)
	s.open.Store(int32(len(s.feeds)))
	switch {
	case f.keeper, f.own:
		s.keepers--
	case !f.other:
		s.watchers--
	}
	s.seeQuiet()
	return true
}
