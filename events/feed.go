package events

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/wire"
)

// FeedBound is how many events may wait for one watcher. A watcher that lets them pile
// up to this is dropped: telling it some of what happened would be worse.
const FeedBound = 4096

// ErrSlow ends a feed whose watcher was too slow.
var ErrSlow error = &wire.Failure{
	Code:   wire.CodeLimit,
	Detail: "the reader was too slow; events were lost, read the state anew",
	Err:    &holdfast.LimitError{Limit: "unread_events", Value: FeedBound},
}

// errEnded ends the feed of another member when this one leaves.
var errEnded = errors.New("this member is leaving")

// Filter says which events are wanted: those of names that begin with Prefix, in Space or
// in all with "". Events that are about no name, or about no space, are always wanted.
type Filter struct {
	Space  string
	Prefix string
}

// covers reports whether everything that other wants is wanted here.
func (f Filter) covers(other Filter) bool {
	return (f.Space == "" || f.Space == other.Space) && strings.HasPrefix(other.Prefix, f.Prefix)
}

func (f Filter) wants(e *wire.Event) bool {
	return (f.Space == "" || e.Space == "" || f.Space == e.Space) && (e.Name == "" || strings.HasPrefix(e.Name, f.Prefix))
}

// Feed is what one watcher has not read yet. One goroutine reads it.
type Feed struct {
	source *Source
	want   Filter
	member string     // whose events the source's are, for those who watch here
	other  bool       // another member reads it: it wants events about locks, and how many there were
	shares *gathering // where the events of other members come from; nil without others

	mu     sync.Mutex
	queue  []wire.Event
	count  uint64 // of the last event about a lock that there was, wanted or not
	slow   bool
	ended  bool
	signal chan struct{} // holds one when there is something to take
}

// watch opens a feed for a watcher at this member, whose name is member; nil where there
// are most already.
func (s *Source) watch(want Filter, member string, most int) *Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers >= most {
		return nil
	}
	s.watchers++
	return s.admit(&Feed{source: s, want: want, member: member})
}

// Watchers returns how many feeds are open for watchers at this member.
func (s *Source) Watchers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchers
}

// admit is called with the mutex held.
func (s *Source) admit(one *Feed) *Feed {
	one.signal = make(chan struct{}, 1)
	s.feeds[one] = struct{}{}
	s.open.Store(int32(len(s.feeds)))
	// Whoever counts another one from now on finds the feed, and tells it.
	one.count = s.count.Load()
	return one
}

// put adds an event of this member, if it is wanted. With a count it is about a lock,
// and count its number.
func (f *Feed) put(e wire.Event, count uint64) {
	e.Member = f.member
	wanted := f.want.wants(&e)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count = max(f.count, count)
	if wanted {
		f.insert(e)
	}
}

// add adds an event of another member, or about one.
func (f *Feed) add(e wire.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.insert(e)
}

// insert adds an event without waiting for the watcher. It is called with the mutex held.
func (f *Feed) insert(e wire.Event) {
	if len(f.queue) >= FeedBound {
		f.slow = true
	}
	if !f.slow {
		f.queue = append(f.queue, e)
	}
	f.wake()
}

// end ends the feed behind what it has.
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

// Next returns what has happened since the last call, at least one event, as soon
// as there is one. The error is ErrSlow once the watcher was too slow and has read
// what was kept for it, or the context's.
func (f *Feed) Next(ctx context.Context) ([]wire.Event, error) {
	for {
		taken := f.take()
		switch {
		case len(taken.events) > 0:
			return taken.events, nil
		case taken.slow:
			return nil, ErrSlow
		case taken.ended:
			return nil, errEnded
		}
		select {
		case <-f.signal:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// portion is what a feed had at a moment.
type portion struct {
	events      []wire.Event
	count       uint64
	at          time.Time
	slow, ended bool
}

// take empties the feed. Under the mutex of the source no event is between having
// its time and number and being in the feed: what it returns is whole.
func (f *Feed) take() portion {
	f.source.mu.Lock()
	defer f.source.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.queue
	f.queue = nil
	return portion{events, f.count, time.Now(), f.slow, f.ended}
}

// Close ends the feed.
func (f *Feed) Close() {
	f.source.remove(f)
	if f.shares != nil {
		f.shares.leave(f)
	}
}

func (s *Source) remove(f *Feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.feeds[f]; !open {
		return
	}
	delete(s.feeds, f)
	s.open.Store(int32(len(s.feeds)))
	if !f.other {
		s.watchers--
	}
	s.seeQuiet()
}
