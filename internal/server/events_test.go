package server

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// Where a test calls its watcher events.
const (
	eventWaiting   = events.Waiting
	eventGranted   = events.Granted
	eventReleased  = events.Released
	eventCancelled = events.Cancelled
	eventLost      = events.Lost
)

// TestRepeatedAnswerIsNoEvent: a stream that was resumed asks again for what it waits
// for, and a holder asks for another hold limit; neither is news to other clients.
func TestRepeatedAnswerIsNoEvent(t *testing.T) {
	b := newHarness(t, nil, nil)
	f, err := b.service.watch(t.Context(), &schema.WatchRequest{})
	must(t, err)
	defer f.Close()
	holder, waiter := b.open(), b.open()
	holder.say(opAcquire(1, "x"))
	token := holder.granted(1).GetToken()
	waiter.say(opAcquire(1, "x"))
	waiter.queued(1, 0)
	waiter.say(opAcquire(1, "x"))
	waiter.queued(1, 0)
	holder.say(opExtend(1, "x", token, time.Hour))
	if event := holder.hear(); event.GetExtended() == nil {
		t.Fatalf("extend was answered with %v", event)
	}
	holder.say(opRelease(1, "x", token))
	holder.released(1)
	waiter.granted(1)
	want := []string{events.Granted, events.Waiting, events.Released, events.Granted}
	var got []string
	for len(got) < len(want) {
		for _, e := range happened(t, f) {
			got = append(got, e.Event)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	families, err := b.service.observer.registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() != "holdfast_wait_seconds" {
			continue
		}
		for _, one := range family.GetMetric() {
			if n := one.GetHistogram().GetSampleCount(); n != 0 && n != 2 {
				t.Errorf("%d waits were measured for two grants", n)
			}
		}
	}
}

// happened returns events that a feed has.
func happened(t testing.TB, f *events.Feed) (all []*schema.WatchEvent) {
	t.Helper()
	batches, err := f.Next(t.Context())
	must(t, err)
	for _, batch := range batches {
		for _, item := range batch.Items {
			all = append(all, item.WatchEvent)
		}
	}
	return all
}

// TestSlowWatchIsALimit: the error of a watcher that reads too slowly names the bound it met, not
// something that was too large.
func TestSlowWatchIsALimit(t *testing.T) {
	b := newHarness(t, nil, nil)
	watch, err := schema.NewLocksClient(b.conn).Watch(t.Context(), &schema.WatchRequest{})
	must(t, err)
	_, err = watch.Header()
	must(t, err)
	b.flood(3 * events.FeedBound)
	for err == nil {
		_, err = watch.Recv()
	}
	err = api.FromStatus("watch", err)
	var limit *holdfast.LimitError
	if api.Code(err) != api.CodeLimit || !errors.As(err, &limit) || limit.Value != events.FeedBound {
		t.Errorf("too slow: %v", err)
	}
}

// flood lets so much happen that a watcher who does not read meanwhile is too slow.
func (b *harness) flood(count int) { floodFrom(b.service, count) }

func floodFrom(s *service, count int) {
	text := strings.Repeat("x", 4<<10) // so that the network does not hold it all
	for range count {
		s.observer.source.Publish(&schema.WatchEvent{Event: events.Space, Why: text})
	}
}
