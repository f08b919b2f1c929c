package bakery

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/protocol"
)

// farCable is a cable with latency.
type farCable struct {
	*cable
	way    time.Duration
	flight []flown
	posted [2]int // envelopes of each end
}

// flown is an envelope in flight.
type flown struct {
	Envelope
	arrives time.Duration
}

// tick lets 5 ms pass, and delivers arrivals.
func (w *farCable) tick() {
	w.depart()
	w.pass(5 * time.Millisecond)
	w.depart()
	for len(w.flight) > 0 && w.flight[0].arrives <= w.now {
		w.transit = append(w.transit, w.flight[0].Envelope)
		w.flight = w.flight[1:]
		w.deliverThis(0)
		w.depart()
	}
}

// depart sends envelopes.
func (w *farCable) depart() {
	for _, envelope := range w.transit {
		w.posted[envelope.From.ID-1]++
		w.flight = append(w.flight, flown{envelope, w.now + w.way})
	}
	w.transit = nil
}

// burst sends thousands of envelopes at once, of which the first is lost, and returns how long it takes until all are
// heard.
func (w *farCable) burst() time.Duration {
	began := w.now
	w.say(0)
	w.transit = nil
	for range 3000 {
		w.say(0)
	}
	for len(w.ends[0].linkTo(2).queue) > 0 && w.now < began+time.Minute {
		w.tick()
	}
	return w.now - began
}

// TestALinkWaitsForARoundTrip checks that with a round trip of twice the initial timeout, a link that is behind catches
// up in a few round trips, and later sends an envelope once: not again before its confirmation can have come. Without
// the rule the link sends the oldest envelopes again and again, and catches up by only as many per round trip.
func TestALinkWaitsForARoundTrip(t *testing.T) {
	defer mutation.Switch("")
	for _, rule := range []string{"", "a link waits for a round trip"} {
		mutation.Switch(rule)
		w := &farCable{cable: newCable(t, 1), way: 250 * time.Millisecond}
		w.bad = false
		took := w.burst()
		before := w.posted[0]
		for range 5 {
			w.say(0)
			for range 400 { // 2 s
				w.tick()
			}
		}
		again := w.posted[0] - before - 5
		if rule == "" && (took > 20*2*w.way || again > 0) {
			t.Errorf("the link has caught up after %v, and has then sent %d of 5 letters again", took, again)
		}
		if rule != "" && (took <= 20*2*w.way || again == 0) {
			t.Errorf("without the rule the link has caught up after %v, and has then sent %d of 5 letters again", took, again)
		}
	}
}

// TestCopiesThatComeTogetherAreHeardOnce checks that of copies that come together one is confirmed, and once more a
// while later, because the first confirmation may be lost.
func TestCopiesThatComeTogetherAreHeardOnce(t *testing.T) {
	w := &farCable{cable: newCable(t, 1), way: time.Millisecond}
	w.bad = false
	for range maxCopies {
		w.say(0)
	}
	copies := w.transit
	for range 100 { // all are taken and confirmed
		w.tick()
	}
	before := w.posted[1]
	w.transit = nil
	for _, envelope := range copies {
		w.flight = append(w.flight, flown{envelope, w.now})
	}
	w.tick()
	if heard := w.posted[1] - before; heard != 1 {
		t.Errorf("%d copies are confirmed %d times at once, want 1", len(copies), heard)
	}
	for range 100 {
		w.tick()
	}
	if heard := w.posted[1] - before; heard != 2 {
		t.Errorf("%d copies are confirmed %d times, want 2", len(copies), heard)
	}
	if at := w.ends[1].linksWake(); at != protocol.Never {
		t.Errorf("the link wakes at %v, and has nothing to say", at)
	}
}
