package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestMemoryWaitsForTheHorizon: a session with a long ttl asks for no horizon before it asks for something in memory. That waits until
// the horizon is confirmed, and so do renewals. When it has nothing in memory any more the horizon sinks, and it keeps its ttl.
func TestMemoryWaitsForTheHorizon(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, longTTL)
	d.lock(1, vaultPort, s.ID, 1, "v")
	if r := answered[*session.Renewed](d, d.renew(s, longTTL)); s.TTL != longTTL || r == nil || r.TTL != longTTL || len(d.notes) > 0 {
		t.Fatalf("opened with %v, renewed %+v, noted %v", s.TTL, r, d.notes)
	}
	d.lock(1, shelfPort, s.ID, 2, "a")
	renewal := d.renew(s, longTTL)
	if got := d.decided(1, 2); len(got) > 0 || !slices.Equal(d.notes, []string{"wants horizon 19.6608s clients=true"}) {
		t.Fatalf("before the horizon is confirmed: decided %v, noted %v", got, d.notes)
	}
	if r := answered[*session.Renewed](d, renewal); r != nil {
		t.Fatalf("a renewal is answered before the horizon is confirmed: %+v", r)
	}
	d.order(order{verb: "horizon", span: d.below.need.Want})
	if r := answered[*session.Renewed](d, renewal); !slices.Equal(d.decided(1, 2), []lock.Kind{lock.Granted}) || r == nil || r.TTL != longTTL {
		t.Fatalf("when it is: decided %v, renewed %+v", d.decided(1, 2), r)
	}
	d.call(1, shelfPort, &protocol.Release{Session: s.ID, Name: "a", Request: 2})
	end := d.now + stretched(longTTL)
	for d.now < end-3*time.Second {
		d.at(d.now + 2*time.Second)
		if r := answered[*session.Renewed](d, d.renew(s, longTTL)); r == nil || r.TTL != longTTL || d.below.horizon.Confirmed == 0 {
			t.Fatalf("at %v, while its client may believe that it holds the name: %+v, horizon %v", d.now, r, d.below.horizon.Confirmed)
		}
	}
	d.at(end)
	if r := answered[*session.Renewed](d, d.renew(s, longTTL)); r == nil || r.TTL != longTTL || d.below.horizon.Confirmed != 0 {
		t.Errorf("afterwards: %+v, horizon %v", r, d.below.horizon.Confirmed)
	}
}

// TestMemoryWithoutTheHorizon: where no more than the lease can be promised in memory, a session that asks for something there is cut, and
// what it asks for waits until its earlier promise has passed. A request that does not want to wait is refused, with the reason.
func TestMemoryWithoutTheHorizon(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, longTTL)
	expires := d.now + stretched(longTTL)
	d.lock(1, shelfPort, s.ID, 1, "a")
	d.call(1, shelfPort, &lock.Request{Session: s.ID, ID: 2, Name: "b", Try: true, Arrived: d.now})
	d.call(1, shelfPort, &lock.Request{Session: s.ID, ID: 3, Name: "c", WaitEnd: d.now + 2*time.Second, Arrived: d.now})
	d.lock(1, shelfPort, s.ID, 4, "d")
	d.order(order{verb: "horizon", span: 0})
	refused := func(request uint64, left time.Duration) {
		t.Helper()
		var err error
		for _, reply := range d.replies {
			if reply.Decision.Kind == lock.Refused && reply.Decision.Request == request && reply.Port == shelfPort {
				err = reply.Decision.Err
			}
		}
		why, until := lock.WhyUnavailable(err)
		if !errors.Is(err, holdfast.ErrUnavailable) || !strings.Contains(why, "shorter ttl") || until < left-time.Second/10 || until > left {
			t.Errorf("#%d got %v; that ends in %v, want %v", request, err, until, left)
		}
	}
	refused(2, expires-d.now-3*time.Second)
	renewal := d.renew(s, longTTL)
	d.order(order{verb: "horizon", span: 0})
	if r := answered[*session.Renewed](d, renewal); r == nil || r.Cut != session.CutByHorizon || r.TTL > 3*time.Second {
		t.Errorf("while it waits it is renewed with %+v", r)
	}
	d.call(1, shelfPort, &protocol.Cancel{Session: s.ID, Name: "d", Request: 4})
	if kinds := d.decided(1, 4); !slices.Equal(kinds, []lock.Kind{lock.Released}) {
		t.Errorf("a cancelled request is answered %v", kinds)
	}
	d.at(d.now + 2*time.Second)
	refused(3, expires-d.now-3*time.Second)
	for d.now < expires-4*time.Second {
		d.at(d.now + time.Second)
		renewal := d.renew(s, longTTL)
		d.order(order{verb: "horizon", span: 0})
		if r := answered[*session.Renewed](d, renewal); r == nil || r.TTL > 3*time.Second || len(d.decided(1, 1)) > 0 {
			t.Fatalf("at %v: renewed %+v, decided %v", d.now, r, d.decided(1, 1))
		}
	}
	d.at(expires - 3*time.Second)
	if !slices.Equal(d.decided(1, 1), []lock.Kind{lock.Granted}) || d.shelf.held(s.ID) != 1 {
		t.Errorf("at %v: decided %v, %d held", d.now, d.decided(1, 1), d.shelf.held(s.ID))
	}
}

// TestLimitOfUnrecordedRequests: so many requests of one session wait until the horizon is confirmed. One more is refused, and they go on.
func TestLimitOfUnrecordedRequests(t *testing.T) {
	const most = 4096
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, longTTL)
	for id := uint64(1); id <= most+1; id++ {
		d.lock(1, shelfPort, s.ID, id, fmt.Sprint(id))
	}
	var limit *holdfast.LimitError
	for _, reply := range d.replies {
		if reply.Decision.Request != most+1 || !errors.As(reply.Decision.Err, &limit) {
			t.Fatalf("got %+v", reply)
		}
	}
	if limit == nil || limit.Limit != "unrecorded" || limit.Value != most {
		t.Fatalf("one more got %v", limit)
	}
	d.order(order{verb: "horizon", span: d.below.need.Want})
	if held := d.shelf.held(s.ID); held != most {
		t.Errorf("%d are held when the horizon is confirmed, want %d", held, most)
	}
}

// TestMemoryIsNotWaitedForInVain: what waits for the horizon ends as what waits in a space does: with its session, its stream, the
// lease, and when its member takes nothing new.
func TestMemoryIsNotWaitedForInVain(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(d *machine, s *session.Opened)
		want []lock.Kind // of request 1
	}{
		{"the client ends its session", func(d *machine, s *session.Opened) {
			d.call(1, protocol.Below, &session.End{ID: s.ID, Secret: s.Secret, Identity: "i"})
		}, []lock.Kind{lock.Released}},
		{"the session expires", func(d *machine, s *session.Opened) { d.at(d.now + stretched(longTTL)) }, []lock.Kind{lock.Refused}},
		{"the lease ends", func(d *machine, _ *session.Opened) { d.order(order{verb: "lapse"}) }, nil},
		{"the member is drained", func(d *machine, _ *session.Opened) { d.call(9, protocol.Below, &session.Drain{}) }, nil},
		{"the stream is gone", func(d *machine, _ *session.Opened) { d.call(1, protocol.Below, &session.Detach{}) }, nil},
		{"it comes back over another stream, and has settled it", func(d *machine, s *session.Opened) {
			d.call(2, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Last: 1})
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newLasting(t, 7)
			s := d.open(1, session.Stream, longTTL)
			if test.name == "the session expires" {
				d.order(order{verb: "lease", span: 0}) // or the request goes on when the promise is short enough
			}
			d.lock(1, shelfPort, s.ID, 1, "a")
			test.end(d, s)
			if got := d.decided(1, 1); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			d.order(order{verb: "lease", span: 24 * time.Hour})
			d.order(order{verb: "horizon", span: longTTL})
			if d.shelf.held(s.ID) != 0 || !slices.Equal(d.decided(1, 1), test.want) {
				t.Errorf("later: %d held, got %v", d.shelf.held(s.ID), d.decided(1, 1))
			}
		})
	}
}

// TestMemoryAfterAStreamBroke: a request that waits is asked for again over the next stream, and granted once.
func TestMemoryAfterAStreamBroke(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, longTTL)
	d.lock(1, shelfPort, s.ID, 1, "a")
	resumed := d.call(2, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: []uint64{1}, Last: 1})
	d.lock(2, shelfPort, s.ID, 1, "a")
	d.order(order{verb: "horizon", span: d.below.need.Want})
	if r := answered[*session.Renewed](d, resumed); r == nil || r.Err != nil {
		t.Fatalf("resumed with %+v", r)
	}
	if !slices.Equal(d.decided(2, 1), []lock.Kind{lock.Granted}) || len(d.decided(1, 1)) > 0 {
		t.Errorf("got %v at the new stream and %v at the old one", d.decided(2, 1), d.decided(1, 1))
	}
}

// TestMemoryOfASingleCall: a session of single calls whose request in memory waits does not end with the release of its last lock.
func TestMemoryOfASingleCall(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.OneShot, longTTL)
	d.lock(1, vaultPort, s.ID, lock.SingleCall+1, "v")
	d.lock(2, shelfPort, s.ID, lock.SingleCall+2, "a")
	d.call(3, vaultPort, &protocol.Release{Session: s.ID, Name: "v", Request: lock.SingleCall + 1})
	d.order(order{verb: "horizon", span: d.below.need.Want})
	if got := d.decided(2, lock.SingleCall+2); !slices.Equal(got, []lock.Kind{lock.Granted}) {
		t.Errorf("got %v", got)
	}
}

// TestLossWithLastingSpaces: a member is lost that has a space in memory and a lasting one. A client of its own with a long ttl
// that has locked in the lasting space alone costs names in memory nothing beyond the lease. One that holds a name in memory keeps
// it for as long as it may believe; without the rule it does not.
func TestLossWithLastingSpaces(t *testing.T) {
	defer mutation.Switch("")
	const rule = "what is held in memory is within what others wait for"
	for _, coordinator := range []bool{false, true} {
		for _, mutated := range []string{"", rule} {
			mutation.Switch(mutated)
			w := newSimClusterOf(t, 3, &simCluster{space: coordinated, lasting: true})
			w.run(10 * time.Second)
			lost, other := w.choose(coordinator)
			lasting := w.open(lost, longTTL, 0)
			if lasting.acquireAt(vaultPort, "kept"); lasting.answered != longTTL {
				t.Errorf("a session without locks in memory is answered %v", lasting.answered)
			}
			w.run(8 * time.Second)
			lost.dead = true
			since := w.now
			lasting.gone = true
			successor := w.open(other, drainLease/2, 0)
			successor.acquire("free")
			for !successor.granted && w.now < since+longTTL {
				w.run(time.Second / 10)
			}
			if w.now > since+found+leaseBound {
				t.Errorf("coordinator %v: a name that no client held is granted after %v", coordinator, w.now-since)
			}
			if mutated == "" {
				believedInMemory(t, coordinator, true)
			} else {
				believedInMemory(t, coordinator, false)
			}
		}
	}
}

// believedInMemory loses a member whose client has just been granted a name in memory, and a long ttl before, and says whether the
// name must be granted no sooner than the client has stopped.
func believedInMemory(t *testing.T, coordinator, waits bool) {
	w := newSimClusterOf(t, 3, &simCluster{space: coordinated, lasting: true})
	w.run(10 * time.Second)
	lost, other := w.choose(coordinator)
	c := w.open(lost, longTTL, 0)
	c.acquireAt(vaultPort, "kept")
	c.granted = false
	c.acquire("long")
	w.run(time.Second / 2)
	if !c.granted {
		t.Fatal("the name in memory is not granted")
	}
	believed := c.deadline
	lost.dead, c.gone = true, true
	successor := w.open(other, drainLease/2, 0)
	successor.acquire("long")
	for !successor.granted && w.now < believed+longTTL {
		w.run(time.Second / 10)
	}
	if !successor.granted || (w.now >= believed) != waits {
		t.Errorf("coordinator %v: granted %v at %v, and its holder believes until %v", coordinator, successor.granted, w.now, believed)
	}
}
