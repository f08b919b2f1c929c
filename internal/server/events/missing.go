package events

import (
	"time"

	"github.com/holdfast-locks/holdfast/wire"
)

// unheard is the event that a member's events are missing from a moment on.
func (f *following) unheard(since time.Time) wire.Event {
	text := "events of member " + f.member.Name + " may be missing from then on: it does not answer"
	if !f.here {
		text = "events of member " + f.member.Name + " may be missing from then on: it is not in the view any more"
	}
	return wire.Event{
		Event: Space, Time: wire.At(time.Now()), Member: f.member.Name, Since: wire.At(since), Why: text,
	}
}

// heard is the event that a member tells again, from a moment on; lost says whether
// anything has happened that it has not told.
func (f *following) heard(lost bool, until time.Time) wire.Event {
	text := "events of member " + f.member.Name + " are missing from then until it was heard again"
	if !lost {
		text = "member " + f.member.Name + " is heard again: no events of it are missing"
	}
	return wire.Event{
		Event: Space, Time: wire.At(time.Now()), Member: f.member.Name,
		Since: wire.At(f.at), Until: wire.At(until), Why: text,
	}
}

// tellMissing tells all watchers.
func (f *following) tellMissing(e wire.Event) {
	f.of.of.source.flush()
	//tidy:unordered every feed gets the event
	for feed := range f.of.feeds {
		feed.addMissing(e)
	}
}

// addMissing adds an event of a gap. Its space is that which is watched.
func (f *Feed) addMissing(e wire.Event) {
	e.Space = f.want.Space
	f.add(&Batch{Items: []*Item{{Event: e}}})
}
