package session_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// another returns the session machine of another member, whose lasting spaces are the same.
func (d *machine) another(member protocol.ID) *machine {
	other := newLasting(d.t, member)
	other.now = d.now
	other.vault.table, other.vault.enrolled = d.vault.table, d.vault.enrolled
	other.second.table, other.second.enrolled = d.second.table, d.second.enrolled
	return other
}

// TestSessionGoesOnElsewhere: a client of a member that leaves goes on at another one with all that it holds and waits for,
// and all that was on its way to the member that has left is asked again there.
func TestSessionGoesOnElsewhere(t *testing.T) {
	for _, how := range []any{&membership.Leave{}, &session.Drain{}, &session.LeaveNow{}} {
		d := newLasting(t, 7)
		other, s := d.open(1, session.Stream, 0), d.open(2, session.Stream, 0)
		d.lock(1, vaultPort, other.ID, 1, "a")
		d.lock(2, vaultPort, s.ID, 1, "b")
		d.lock(2, vaultPort, s.ID, 2, "a")
		left := d.call(4, protocol.Below, how)
		if e := d.dismissed(2); e == nil || e.ID != s.ID || !errors.Is(e.Err, holdfast.ErrUnavailable) || !gone(d, left) {
			t.Fatalf("%T: the client got %+v; answered: %v", how, e, gone(d, left))
		}
		before := len(d.replies)
		d.lock(2, vaultPort, s.ID, 3, "c")
		d.call(2, vaultPort, &protocol.Release{Session: s.ID, Name: "b", Request: 1})
		d.call(2, vaultPort, &protocol.Extend{Session: s.ID, Name: "b", Request: 1, Hold: time.Second})
		d.call(2, vaultPort, &protocol.Cancel{Session: s.ID, Name: "a", Request: 2})
		d.call(2, protocol.Below, &session.Renew{ID: s.ID, Proven: true})
		d.call(2, protocol.Below, &session.End{ID: s.ID, Proven: true})
		if len(d.replies) > before {
			t.Errorf("%T: what was on its way is answered: %+v", how, d.replies[before:])
		}
		if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
			t.Errorf("%T: a client that shows its secret got %+v", how, r)
		}
		next := d.another(8)
		call := next.call(5, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: []uint64{1, 2}, Last: 2})
		if r := answered[*session.Renewed](next, call); r == nil || r.Err != nil || r.TTL < 1900*time.Millisecond || len(r.Lost) > 0 {
			t.Fatalf("%T: at another member it got %+v", how, r)
		}
		next.lock(5, vaultPort, s.ID, 2, "a")
		next.in(vaultPort, func(v *vault, out *protocol.Effects) {
			v.table.EndSession(next.now, other.ID, "", &v.out)
			v.shelf.Step(next.now, protocol.Event{}, out)
		})
		if got := next.decided(5, 2); !slices.Equal(got, []lock.Kind{lock.Queued, lock.Granted}) || next.vault.held(s.ID) != 2 {
			t.Errorf("%T: the request that waited got %v, and it holds %d", how, got, next.vault.held(s.ID))
		}
	}
}

// TestOneShotGoesOnElsewhere: so does a session of single calls. Its waiting requests are taken back, and a waiting
// caller is refused, so that it asks elsewhere.
func TestOneShotGoesOnElsewhere(t *testing.T) {
	d := newLasting(t, 7)
	other, s := d.open(1, session.Local, 0), d.open(2, session.OneShot, 0)
	d.lock(1, vaultPort, other.ID, 1, "a")
	held := d.lock(2, vaultPort, s.ID, session.SingleCall|1, "b")
	d.lock(3, vaultPort, s.ID, session.SingleCall|2, "a")
	d.lock(3, vaultPort, s.ID, session.SingleCall|3, "c")
	left := d.call(4, protocol.Below, &membership.Leave{})
	if got := d.decided(3, session.SingleCall|2); !slices.Equal(got, []lock.Kind{lock.Queued, lock.Refused}) {
		t.Fatalf("the waiting client got %v", got)
	}
	d.call(1, vaultPort, &protocol.Release{Session: other.ID, Name: "a", Request: 1})
	if got := d.vault.held(s.ID); got != 2 {
		t.Errorf("it holds %d: no client would know of the lock it waited for", got)
	}
	// The call that waited was for several names, and gives back what it has got.
	d.call(3, vaultPort, &protocol.Cancel{Session: s.ID, Name: "c", Request: session.SingleCall | 3})
	if d.vault.held(s.ID) != 1 || gone(d, left) {
		t.Errorf("it holds %d, and the member has left: %v", d.vault.held(s.ID), gone(d, left))
	}
	d.at(d.now + 100*time.Millisecond)
	if !gone(d, left) {
		t.Error("the member does not leave")
	}
	next := d.another(8)
	if r := answered[*session.Renewed](next, next.renew(s, 0)); r == nil || r.Err != nil || r.TTL < 1900*time.Millisecond {
		t.Errorf("renewed at another member: %+v", r)
	}
	next.call(2, vaultPort, &protocol.Release{Session: s.ID, Name: "b", Request: held.Op})
	if next.vault.held(s.ID) != 0 || next.vault.enrolled[s.ID].Session != (lock.SessionID{}) {
		t.Error("with its last lock it ends there")
	}
}

// TestDismissedBehindTheHandOver: clients go when others lead what the member has led, so that they are taken over at
// once, or when that takes too long. What they ask for meanwhile they ask for again.
func TestDismissedBehindTheHandOver(t *testing.T) {
	for _, how := range []any{&membership.Leave{}, &session.Drain{}} {
		for _, slow := range []bool{false, true} {
			d := newLasting(t, 7)
			s, single, idle := d.open(1, session.Stream, 0), d.open(2, session.OneShot, 0), d.open(3, session.Stream, 0)
			d.lock(1, vaultPort, s.ID, 1, "a")
			d.lock(2, vaultPort, single.ID, 1, "b")
			d.step(protocol.Event{Kind: protocol.Receive, From: 9, Port: vaultPort, Fact: order{verb: "office"}})
			began := d.now
			left := d.call(4, protocol.Below, how)
			if e := d.expired(3); e == nil || e.ID != idle.ID {
				t.Errorf("the client without anything lasting got %+v", e)
			}
			d.lock(1, vaultPort, s.ID, 2, "c")
			d.lock(2, vaultPort, single.ID, 2, "c")
			if first, second := d.decided(1, 2), d.decided(2, 2); first != nil || !slices.Equal(second, []lock.Kind{lock.Refused}) {
				t.Errorf("%T: the client that asks meanwhile got %v and %v", how, first, second)
			}
			if d.dismissed(1) != nil || gone(d, left) {
				t.Fatalf("%T: it goes though no other member leads", how)
			}
			if slow {
				d.at(began + 3*time.Second/4)
			} else {
				d.step(protocol.Event{Kind: protocol.Receive, From: 9, Port: vaultPort, Fact: order{verb: "vacated"}})
			}
			if d.dismissed(1) == nil || d.vault.held(s.ID) != 1 || d.vault.held(single.ID) != 1 {
				t.Errorf("%T, slow %v: it does not go", how, slow)
			}
			d.at(began + 3*time.Second/2)
			if !gone(d, left) {
				t.Errorf("%T, slow %v: the call is not answered", how, slow)
			}
		}
	}
}

// TestBackAfterALapse: a session that uses lasting spaces alone outlasts the lease of its member, and may come back to
// it. Once it has used another space it ends with the lease, and no member adopts it. Its client counts once among
// those who may believe, as long as it may believe in something that has ended with the lease.
func TestBackAfterALapse(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 8*time.Second)
	d.lock(1, vaultPort, s.ID, 1, "a")
	resume := &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: []uint64{1}, Last: 1}
	for sink := uint64(1); sink < 4; sink++ {
		d.order(order{verb: "lapse"})
		if e := d.dismissed(sink); e == nil || d.expired(sink) != nil {
			t.Fatalf("got %+v", e)
		}
		if r := answered[*session.Renewed](d, d.call(sink+1, protocol.Below, resume)); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
			t.Errorf("without a lease it got %+v", r)
		}
		d.order(order{verb: "lease", span: 24 * time.Hour})
		d.at(d.now + time.Second)
		if r := answered[*session.Renewed](d, d.call(sink+1, protocol.Below, resume)); r == nil || r.Err != nil || d.vault.held(s.ID) != 1 {
			t.Fatalf("it comes back, and got %+v", r)
		}
	}
	d.lock(4, shelfPort, s.ID, 5, "b")
	d.order(order{verb: "horizon", span: 16 * time.Second})
	if d.shelf.held(s.ID) != 1 || !d.vault.enrolled[s.ID].Tied {
		t.Fatal("it holds nothing in memory, or the other space does not know that")
	}
	d.order(order{verb: "lapse"})
	if e := d.expired(4); e == nil || d.dismissed(4) != nil {
		t.Errorf("with something in memory it got %+v", e)
	}
	d.order(order{verb: "lease", span: 24 * time.Hour})
	if r := answered[*session.Renewed](d, d.call(6, protocol.Below, resume)); r == nil || !errors.Is(r.Err, session.ErrUnknown) {
		t.Errorf("it comes back, and got %+v", r)
	}
	before := len(d.notes)
	d.at(d.now + stretched(8*time.Second))
	d.lock(5, shelfPort, d.open(5, session.Stream, 8*time.Second).ID, 1, "c")
	if len(d.notes) == before {
		t.Error("no client believes any more, and the horizon has not sunk")
	}
}
