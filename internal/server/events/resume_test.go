package events

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// idsOf reads what a feed has, and returns the ids of the events that have one.
func idsOf(b *harness, f *Feed, want ...string) (ids []string) {
	b.Helper()
	pass(2 * pause)
	f.source.flush()
	var got []string
	for _, item := range flat(f.take().batches) {
		got = append(got, line(item.WatchEvent))
		if item.GetId() != "" {
			ids = append(ids, item.GetId())
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("got %q, want %q", got, want)
	}
	return ids
}

// again watches behind an event.
func (b *harness) again(prefix, after string) *Feed {
	b.Helper()
	f, err := b.Watch(b.Context(), Filter{"", prefix}, after, "a", 100)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// TestResume: a watcher that comes again gets what has happened through any member meanwhile, once and in order, or a report of
// what is missing.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t, 2)
		defer b.Close()
		see(b.own, 1, 1, 2)
		f := b.watch("", "")
		grant(b.own, "x", 1)
		ids := idsOf(b, f, "a granted x 1", "a released x 1")
		f.Close()
		grant(b.life(2), "y", 2)
		pass(10 * pause)
		grant(b.own, "x", 3)
		f = b.again("", ids[1])
		more := idsOf(b, f, "b granted y 2", "b released y 2", "a granted x 3", "a released x 3")
		f.Close()
		f = b.again("", ids[0])
		idsOf(b, f, "a released x 1", "b granted y 2", "b released y 2", "a granted x 3", "a released x 3")
		f.Close()
		f = b.again("", more[3])
		idsOf(b, f)
		grant(b.own, "x", 4)
		idsOf(b, f, "a granted x 4", "a released x 4")
		other := b.again("y", more[3]) // a watcher of other names has had others
		missing(b, other)
		other.Close()
		f.Close()
		pass(time.Minute)
		grant(b.own, "x", 5)
		f = b.again("", more[3])
		missing(b, f)
		f.Close()
		f = b.again("", "1-1-0")
		missing(b, f)
		f.Close()
		if _, err := b.Watch(t.Context(), Filter{}, "7", "a", 100); api.Code(err) != api.CodeBadRequest {
			t.Errorf("an id of none: %v", err)
		}
	})
}

// missing wants a feed to begin with a gap, and nothing else.
func missing(b *harness, f *Feed) {
	b.Helper()
	pass(2 * pause)
	items := flat(f.take().batches)
	if len(items) != 1 || items[0].Member != "a" || items[0].Since == nil || items[0].Until == nil || items[0].GetId() != "" {
		b.Errorf("got %v, want that events are missing", items)
	}
}

// TestKeepersAreBounded: as many filters without a watcher as may be are kept, and as many events of each.
func TestKeepersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHarness(t)
		defer b.Close()
		f := b.watch("", "")
		grant(b.own, "x", 1)
		ids := idsOf(b, f, "a granted x 1", "a released x 1")
		f.Close()
		for i := range kept {
			grant(b.own, "x", holdfast.Token(i+2))
			pass(2 * pause)
		}
		f = b.again("", ids[1])
		missing(b, f)
		f.Close()
		for i := range 2 * keptAlone {
			b.watch("", fmt.Sprint(i)).Close()
		}
		if n := len(b.kept); n > keptAlone {
			t.Errorf("%d filters are kept", n)
		}
	})
}
