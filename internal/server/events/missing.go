package events

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// unheard is the event that a member's events are missing from a moment on.
func (f *following) unheard(since time.Time) api.Event {
	text := "events of member " + f.member.Name + " may be missing from then on: it does not answer"
	if !f.here {
		text = "events of member " + f.member.Name + " may be missing from then on: it is not in the view any more"
	}
	return api.Event{
		Event: Space, Time: api.At(time.Now()), Member: f.member.Name, Since: api.At(since), Why: text,
	}
}

// heard is the event that a member tells again, from a moment on; lost says whether
// anything has happened that it has not told.
func (f *following) heard(lost bool, until time.Time) api.Event {
	text := "events of member " + f.member.Name + " are missing from then until it was heard again"
	if !lost {
		text = "member " + f.member.Name + " is heard again: no events of it are missing"
	}
	return api.Event{
		Event: Space, Time: api.At(time.Now()), Member: f.member.Name,
		Since: api.At(f.at), Until: api.At(until), Why: text,
	}
}

// publishMissing tells all watchers.
func (f *following) publishMissing(e api.Event) {
	f.of.of.source.flush()
	//tidy:unordered every feed gets the event
	for feed := range f.of.feeds {
		feed.addMissing(e)
	}
}

// addMissing adds an event of a gap. Its space is that which is watched.
func (f *Feed) addMissing(e api.Event) {
	e.Space = f.want.Space
	f.add(&Batch{Items: []*Item{{Event: e}}})
}
