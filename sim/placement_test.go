package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// placed is a cluster of grantors with placement and without faults, and a user at each of three members. The first
// user's member is the coordinator, hence the elder.
func placed(t *testing.T, window time.Duration) (*world, []*client) {
	t.Helper()
	c := withoutFaults("grantor")
	c.Members = 3
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(&c, 1, nil, newCounts(false))
	w.weather = calm()
	w.settings.workers, w.settings.locals, w.visitors, w.settings.options = 0, false, nil, option.Values{"placement": option.Format(window)}
	for _, m := range w.members {
		w.do(0, m.start)
	}
	w.run(10 * time.Second)
	elder := w.coordinator()
	if elder == nil {
		t.Fatal("no member coordinates after 10 s without faults")
	}
	return w, w.payers(elder)
}

// cycle makes a user lock and unlock a number of times, all within a time.
func cycle(t *testing.T, w *world, who *client, times int, within time.Duration) {
	t.Helper()
	d := &doing{cost: &probe.Cost{Deed: probe.CycleAtCoordinator}, users: []*client{who}, left: times}
	d.begin()
	w.run(w.now + within)
	if d.left > 0 || d.err != nil {
		t.Fatalf("%d of %d locks of %s are not done after %v: %v", d.left, times, who, within, d.err)
	}
}

// watch records the messages between spaces while a function runs.
func (w *world) watch(happens func()) (seen []string) {
	w.meter = &meter{}
	happens()
	seen, w.meter = w.meter.seen, nil
	return seen
}

// TestTheLoadIsFollowed checks that the grantor moves to the load at the price of placement: 8 messages, in addition to
// those of the locks until then. From then on locks take none.
func TestTheLoadIsFollowed(t *testing.T) {
	const window = 4 * time.Second
	w, users := placed(t, window)
	grantor, busy := users[1], users[2]
	cycle(t, w, grantor, 1, window+time.Second) // from here on each window begins in a pause
	if w.decider() != grantor.places[0] {
		t.Fatalf("the grantor is %v, want %s, who has locked first", w.decider(), grantor.places[0])
	}
	cycle(t, w, busy, 1, window)
	locks := 0
	seen := w.watch(func() {
		for range 3 { // of which two are whole windows
			cycle(t, w, busy, 50, window)
			locks += 50
		}
	})
	if w.decider() != busy.places[0] || w.count.hits[followsLoad] != 1 {
		t.Fatalf("the grantor is %v after %d moves, want %s after one", w.decider(), w.count.hits[followsLoad], busy.places[0])
	}
	moves, uses := 0, 0
	for _, message := range seen {
		switch _, kind, _ := strings.Cut(message, " "); kind {
		case "authority.Acquire", "authority.Decided", "authority.Release":
			uses++
		case "authority.Acks":
		default:
			moves++
		}
	}
	if moves != 8 || uses > 3*locks || uses < 3*2*50 {
		t.Errorf("the move took %d messages, want 8; %d locks took %d, want 3 each as long as they were asked for elsewhere: %s",
			moves, locks, uses, strings.Join(seen[max(0, len(seen)-20):], ", "))
	}
	if seen := w.watch(func() { cycle(t, w, busy, 50, window) }); len(seen) > 0 {
		t.Errorf("at the grantor locks took %d messages: %s", len(seen), strings.Join(seen, ", "))
	}
	if w.judge.violation != nil {
		t.Error(w.judge.violation)
	}
}

// TestEqualLoadsAreNotFollowed checks that the grantor stays if two members, one of them the grantor, lock equally
// often.
func TestEqualLoadsAreNotFollowed(t *testing.T) {
	w, users := placed(t, time.Second)
	for range 30 {
		for _, who := range users[1:] {
			cycle(t, w, who, 30, 500*time.Millisecond)
		}
	}
	if w.count.hits[followsLoad] > 0 || w.judge.violation != nil {
		t.Errorf("%d moves, violation %v", w.count.hits[followsLoad], w.judge.violation)
	}
}

// TestPlacementIsExercised checks that in some seeds with all faults the grantor moves to the load, and that no promise
// is broken.
func TestPlacementIsExercised(t *testing.T) {
	manySeeds(t)
	s, err := RunMany(config("grantor"), 1, 60, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Worst; w != nil {
		t.Fatalf("seed %d: %v %v\n%s", w.Seed, w.Outcome, w.Violation, w.Settings)
	}
	if s.counts.hits[followsLoad] == 0 {
		t.Error("in 60 seeds grantorship never followed the load")
	}
}
