package events

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Gap says what an event reports of the events of its member.
type Gap int

const (
	NoGap  Gap = iota // it is no such report
	Silent            // they may be missing from now on
	Heard             // they come again, and none is missing
	Missed            // they come again, and some are missing
)

// unheard returns the event that a member's events are missing from a time on.
func (f *following) unheard(since time.Time) *Item {
	text := "events of member " + f.member.Name + " may be missing from then on: it does not answer"
	if !f.here {
		text = "events of member " + f.member.Name + " may be missing from then on: it is not in the view any more"
	}
	return &Item{Gap: Silent, WatchEvent: &schema.WatchEvent{
		Event: Space, Time: api.Stamp(time.Now()), Member: f.member.Name, Since: api.Stamp(since), Why: text,
	}}
}

// heard returns the event that a member is heard again, from a time on; lost reports whether any of its events is
// missing.
func (f *following) heard(lost bool, until time.Time) *Item {
	gap, text := Missed, "events of member "+f.member.Name+" are missing from then until it was heard again"
	if !lost {
		gap, text = Heard, "member "+f.member.Name+" is heard again: no events of it are missing"
	}
	return &Item{Gap: gap, WatchEvent: &schema.WatchEvent{
		Event: Space, Time: api.Stamp(time.Now()), Member: f.member.Name,
		Since: api.Stamp(f.at), Until: api.Stamp(until), Why: text,
	}}
}

// publishMissing sends a gap to all watchers.
func (f *following) publishMissing(e *Item) {
	f.of.of.source.flush()
	//tidy:unordered every feed gets the event
	for feed := range f.of.feeds {
		feed.addMissing(e)
	}
}

// addMissing adds an event of a gap. Its space is the watched one.
func (f *Feed) addMissing(e *Item) {
	here := &schema.WatchEvent{
		Event: e.Event, Time: e.Time, Space: f.want.Space, Member: e.Member, Since: e.Since, Until: e.Until, Why: e.Why,
	}
	f.add(&Batch{Items: []*Item{{WatchEvent: here, Gap: e.Gap}}})
}
