package events

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// unheard returns the event that a member's events are missing from a time on.
func (f *following) unheard(since time.Time) *schema.WatchEvent {
	text := "events of member " + f.member.Name + " may be missing from then on: it does not answer"
	if !f.here {
		text = "events of member " + f.member.Name + " may be missing from then on: it is not in the view any more"
	}
	return &schema.WatchEvent{
		Event: Space, Time: api.Stamp(time.Now()), Member: f.member.Name, Since: api.Stamp(since), Why: text,
	}
}

// heard returns the event that a member is heard again, from a time on; lost reports whether any of its events is
// missing.
func (f *following) heard(lost bool, until time.Time) *schema.WatchEvent {
	text := "events of member " + f.member.Name + " are missing from then until it was heard again"
	if !lost {
		text = "member " + f.member.Name + " is heard again: no events of it are missing"
	}
	return &schema.WatchEvent{
		Event: Space, Time: api.Stamp(time.Now()), Member: f.member.Name,
		Since: api.Stamp(f.at), Until: api.Stamp(until), Why: text,
	}
}

// publishMissing sends a gap to all watchers.
func (f *following) publishMissing(e *schema.WatchEvent) {
	f.of.of.source.flush()
	//tidy:unordered every feed gets the event
	for feed := range f.of.feeds {
		feed.addMissing(e)
	}
}

// addMissing adds an event of a gap. Its space is the watched one.
func (f *Feed) addMissing(e *schema.WatchEvent) {
	here := &schema.WatchEvent{
		Event: e.Event, Time: e.Time, Space: f.want.Space, Member: e.Member, Since: e.Since, Until: e.Until, Why: e.Why,
	}
	f.add(&Batch{Items: []*Item{{WatchEvent: here}}})
}
