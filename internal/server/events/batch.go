package events

import (
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Item is one event as all watchers share it.
type Item struct {
	*schema.WatchEvent
	Wire, Text Encoded

	number uint64 // of the events that watchers here have been handed; 0 where it says what is missing
}

// Batch is events that happened one after the other, as all watchers with one filter share them.
// Nothing in it may be changed.
type Batch struct {
	Items []*Item
	Text  Encoded
}

// Encoded is the bytes of something that is shared: they are made once, for any number of watchers.
type Encoded struct {
	once  sync.Once
	bytes []byte
	err   error
}

// Of returns the bytes that encode has made, which is called the first time alone.
func (e *Encoded) Of(encode func() ([]byte, error)) ([]byte, error) {
	e.once.Do(func() { e.bytes, e.err = encode() })
	return e.bytes, e.err
}

// The first event is handed on at once, and what follows within a pause goes together: as soon as it
// is a full batch, or when the pause is over.
const (
	fullBatch = 256
	pause     = 2 * time.Millisecond
)

// spread numbers events, and puts them into the feeds that want some of them: feeds with one filter share a batch.
// It costs the number of feeds, and of filters times events. In all feeds numbers go up.
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

// of returns the events that are wanted.
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

// gather keeps an event for those who watch here. It is called with the mutex held.
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

// hand hands on what was gathered. It is called with the mutex held.
func (s *Source) hand() {
	if len(s.gathered) > 0 {
		s.spread(s.gathered, s.feeds)
		s.gathered = nil
	}
}

// flush hands on what was gathered, so that what is published next comes after it.
func (s *Source) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand()
}

// handOn hands on what was gathered in a pause, and again after the next, until a pause has brought nothing.
func (s *Source) handOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handing = len(s.gathered) > 0; s.handing {
		s.hand()
		s.timer.Reset(pause)
	}
}
