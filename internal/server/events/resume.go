package events

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// What a returning watcher may get: as many events of its filter, for so many filters without a watcher.
const (
	kept      = 4096
	keptAlone = 32
)

// keeping is a keeper, and the watchers that share its filter.
type keeping struct {
	feed     *Feed
	watchers int
	timer    *time.Timer // runs without a watcher
}

// place returns the id of an event: this life of the member, the event's number, and its time in milliseconds, from
// which another member can tell what is missing.
func (s *Source) place(item *Item) string {
	return strings.Join([]string{
		strconv.FormatUint(s.process, 36), strconv.FormatUint(item.number, 36), strconv.FormatInt(api.TimeOf(item.Time).UnixMilli(), 36),
	}, "-")
}

// placeOf parses the id of an event. It reports false for one that no member has made.
func placeOf(id string) (process, number uint64, at time.Time, ok bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return 0, 0, at, false
	}
	process, err1 := strconv.ParseUint(parts[0], 36, 64)
	number, err2 := strconv.ParseUint(parts[1], 36, 64)
	millis, err3 := strconv.ParseInt(parts[2], 36, 64)
	const year9999 = 253402300799999
	ok = err1 == nil && err2 == nil && err3 == nil && 0 <= millis && millis <= year9999
	return process, number, time.UnixMilli(millis), ok
}

// resume makes a feed begin after an event that its watcher has had, if the keeper of its filter has the later ones;
// otherwise the feed reports from when on events are missing. The keeper has had every event of the feed.
func (f *Feed) resume(keeper *Feed, process, number uint64, at time.Time, member string) {
	s := f.source
	s.mu.Lock()
	s.hand()
	s.mu.Unlock()
	s.order.Lock()
	defer s.order.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	keeper.mu.Lock()
	defer keeper.mu.Unlock()
	if process != s.process || number < keeper.gone || number > s.number {
		f.queue = append([]*Batch{{Items: []*Item{{WatchEvent: &schema.WatchEvent{
			Event: Space, Time: api.Stamp(time.Now()), Space: f.want.Space, Member: member, Since: api.Stamp(at), Until: api.Stamp(time.Now()),
			Why: "events are missing from then until now: member " + member + " does not have them any more",
		}}}}}, f.queue...)
		f.unread++
		f.wake()
		return
	}
	f.queue, f.unread = nil, 0
	for i, batch := range keeper.queue {
		had := 0
		for j, item := range batch.Items {
			if item.number != 0 && item.number <= number {
				had = j + 1
			}
		}
		switch {
		case had == len(batch.Items):
			f.queue, f.unread = nil, 0 // its earlier reports of gaps were read, too
		case had > 0:
			f.queue, f.unread = []*Batch{{Items: batch.Items[had:]}}, len(batch.Items)-had
		default:
			f.queue, f.unread = append(f.queue, keeper.queue[i]), f.unread+len(batch.Items)
		}
	}
	if len(f.queue) > 0 {
		f.wake()
	}
}

// keeperFor returns the keeper of a filter, made if necessary, for one more watcher. It is called with the mutex held.
func (g *Gatherer) keeperFor(want Filter) *keeping {
	k := g.kept[want]
	if k == nil {
		k = &keeping{feed: g.source.keep(want)}
		g.kept[want] = k
		if g.peers != nil {
			g.share(k.feed)
		}
	} else if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	k.watchers++
	return k
}

// unwatch records that a watcher with a filter has gone: its keeper stays for a while.
func (g *Gatherer) unwatch(want Filter) {
	g.mu.Lock()
	k := g.kept[want]
	k.watchers--
	alone := 0
	//tidy:unordered they are counted
	for _, one := range g.kept {
		if one.watchers == 0 {
			alone++
		}
	}
	drop := k.watchers == 0 && (alone > keptAlone || g.living.Err() != nil)
	if k.watchers == 0 && !drop {
		k.timer = time.AfterFunc(g.keep, func() { g.forget(want, k) })
	}
	g.mu.Unlock()
	if drop {
		g.forget(want, k)
	}
}

// forget ends a keeper whose filter has no watcher.
func (g *Gatherer) forget(want Filter, k *keeping) {
	g.mu.Lock()
	if g.kept[want] != k || k.watchers > 0 {
		g.mu.Unlock()
		return
	}
	delete(g.kept, want)
	g.mu.Unlock()
	k.feed.Close()
}
