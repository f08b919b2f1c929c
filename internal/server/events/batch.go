package events

import (
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Item is one event, shared by all watchers.
type Item struct {
	*schema.WatchEvent
	Wire, Text Encoded

	Gap    Gap    // what it reports of a member's events
	number uint64 // among the events delivered to watchers here; 0 if it reports a gap
}

// Batch is a sequence of events, shared by all watchers with one filter. It is immutable.
type Batch struct {
	Items []*Item
	Text  Encoded
}

// Encoded is a shared encoding: it is computed once, for any number of watchers.
type Encoded struct {
	once  sync.Once
	bytes []byte
	err   error
}

// Of returns the bytes made by encode, which is called only the first time.
func (e *Encoded) Of(encode func() ([]byte, error)) ([]byte, error) {
	e.once.Do(func() { e.bytes, e.err = encode() })
	return e.bytes, e.err
}

// The first event is delivered at once, and later ones within a pause together: once the batch is full, or when the
// pause is over.
const (
	fullBatch = 256
	pause     = 2 * time.Millisecond
)

// spread numbers events, and puts them into the feeds that want some of them: feeds with one filter share a batch. Its
// cost is the number of feeds, plus filters times events. In every feed numbers ascend.
func (s *Source) spread(items []*Item, feeds map[*Feed]struct{}) {
	s.order.Lock()
	defer s.order.Unlock()
	for _, item := range items {
		s.number++
		item.number = s.number
		item.Id = s.place(item)
	}
	batches := map[Filter]*Batch{}
	//tidy:unordered every feed gets the batch of its filter
	for feed := range feeds {
		if feed.other {
			continue
		}
		batch := batches[feed.want]
		if batch == nil {
			batch = &Batch{Items: feed.want.of(items)}
			batches[feed.want] = batch
		}
		if len(batch.Items) > 0 {
			feed.add(batch)
		}
	}
}

// of returns the events that match.
func (f Filter) of(items []*Item) []*Item {
	if f == (Filter{}) {
		return items
	}
	var wanted []*Item
	for _, item := range items {
		if f.wants(item.WatchEvent) {
			wanted = append(wanted, item)
		}
	}
	return wanted
}

// gather adds an event for the watchers here. It is called with the mutex held.
func (s *Source) gather(e *schema.WatchEvent) {
	if s.watchers+s.keepers == 0 {
		return
	}
	e.Member = s.member
	s.gathered = append(s.gathered, &Item{WatchEvent: e})
	if !s.handing || len(s.gathered) >= fullBatch {
		s.hand()
	}
	if !s.handing {
		s.handing = true
		s.timer = time.AfterFunc(pause, s.handOn)
	}
}

// hand delivers the collected events. It is called with the mutex held.
func (s *Source) hand() {
	if len(s.gathered) > 0 {
		s.spread(s.gathered, s.feeds)
		s.gathered = nil
	}
}

// flush delivers the collected events, so that what is published next comes after them.
func (s *Source) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand()
}

// handOn delivers the events collected during a pause, and again after the next, until a pause has brought none.
func (s *Source) handOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handing = len(s.gathered) > 0; s.handing {
		s.hand()
		s.timer.Reset(pause)
	}
}
