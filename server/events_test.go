package server

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/wire"
	"github.com/holdfast-locks/holdfast/wire/api"
)

// TestToldAgainIsNoEvent: a stream that was resumed asks again for what it waits
// for, and a holder asks for another hold limit; neither is news to anybody else.
func TestToldAgainIsNoEvent(t *testing.T) {
	b := newBed(t, nil, nil)
	f, err := b.service.watch("", "")
	must(t, err)
	defer f.close()
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
	events, err := f.next(t.Context())
	must(t, err)
	want := []string{eventGranted, eventWaiting, eventReleased, eventGranted}
	var got []string
	for _, e := range events {
		got = append(got, e.Event)
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

// TestSlowWatchIsALimit: who reads too slowly is told which bound it met, and not
// that something was too large.
func TestSlowWatchIsALimit(t *testing.T) {
	b := newBed(t, nil, nil)
	watch, err := api.NewLocksClient(b.conn).Watch(t.Context(), &api.WatchRequest{})
	must(t, err)
	_, err = watch.Header()
	must(t, err)
	feeds := &b.service.observer.feeds
	feeds.mu.Lock()
	for one := range feeds.byID {
		one.mu.Lock()
		one.slow = true
		one.mu.Unlock()
	}
	feeds.mu.Unlock()
	feeds.publish(wire.Event{Event: eventSpace})
	_, err = watch.Recv()
	err = wire.FromStatus("watch", err)
	var limit *holdfast.LimitError
	if wire.Code(err) != wire.CodeLimit || !errors.As(err, &limit) || limit.Value != feedBound {
		t.Errorf("too slow: %v", err)
	}
}
