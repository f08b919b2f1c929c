package session_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stretched is how long the member waits for what its client counts as d.
func stretched(d time.Duration) time.Duration { return d + d/20 + 1 }

func TestLastingSpacesAreInOrder(t *testing.T) {
	for _, wrong := range [][]protocol.Port{{0}, {4}, {2, 2}, {3, 1}} {
		_, err := session.New(session.Config{Member: 1, Rand: seeded(), Spaces: 3, Lasting: wrong}, promising{})
		if err == nil || !strings.Contains(err.Error(), "Lasting is") || !strings.Contains(err.Error(), "from 1 to 3") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// TestEnrollmentComesFirst: a lasting space knows who asks before it is asked, once.
func TestEnrollmentComesFirst(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, shelfPort, s.ID, 1, "a")
	if d.vault.said() != "" {
		t.Error("a space has heard of a session that has asked nothing of it")
	}
	d.lock(1, vaultPort, s.ID, 2, "b")
	d.lock(1, vaultPort, s.ID, 3, "c")
	if said := d.vault.said(); said != "enroll" || d.second.said() != "" {
		t.Errorf("said: %s", said)
	}
	want := protocol.Enroll{Session: s.ID, TTL: 2 * time.Second, Proof: sha256.Sum256(s.Secret[:]), Client: "c", Identity: "i", Tied: true}
	if got := d.vault.enrolled[s.ID]; got != want {
		t.Errorf("enrolled %+v, want %+v", got, want)
	}
	d.renew(s, time.Second) // the ttl of another space is the same
	d.lock(1, secondPort, s.ID, 4, "d")
	if got := d.second.enrolled[s.ID]; got != want {
		t.Errorf("enrolled %+v, want %+v", got, want)
	}
	local := d.open(2, session.Local, 0)
	d.lock(2, vaultPort, local.ID, 1, "e")
	if got := d.vault.enrolled[local.ID]; !got.Own || got.TTL != 2*time.Second {
		t.Errorf("a session of the process is enrolled as %+v", got)
	}
	d.vault.said()
	if answered[*session.Renewed](d, d.renew(local, 0)) == nil || d.vault.said() != "" {
		t.Error("the space beats for the process by itself")
	}
}

// TestEnrollmentCoversWhatIsPromised: a session that was promised more than it wants now is kept for so long.
func TestEnrollmentCoversWhatIsPromised(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 2*time.Second)
	d.renew(s, 100*time.Millisecond)
	d.at(d.now + 500*time.Millisecond)
	d.lock(1, vaultPort, s.ID, 1, "a")
	if got := d.vault.enrolled[s.ID].TTL; got < 1500*time.Millisecond || got > 2*time.Second {
		t.Errorf("its client believes for 1.5 s, and it is kept for %v", got)
	}
	want := d.vault.enrolled[s.ID].TTL
	if renewed := answered[*session.Renewed](d, d.renew(s, 10*time.Second)); renewed == nil || renewed.Err != nil || renewed.TTL != want {
		t.Errorf("kept for %v, and promised %+v", want, renewed)
	}
	if renewed := answered[*session.Renewed](d, d.renew(s, time.Second)); renewed == nil || renewed.TTL != time.Second {
		t.Errorf("it may want less: %+v", renewed)
	}
}

// TestRenewalWaitsForTheSpace: nothing is promised that the spaces have not confirmed, and what is counts from
// when they were asked.
func TestRenewalWaitsForTheSpace(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.lock(1, secondPort, s.ID, 2, "a")
	d.vault.mute, d.second.mute = true, true
	d.at(2 * time.Second)
	arrived := d.now - 200*time.Millisecond
	call := d.call(1, protocol.Below, &session.Renew{ID: s.ID, Proven: true, Arrived: arrived})
	d.at(2500 * time.Millisecond)
	d.release(vaultPort, 1)
	if answered[*session.Renewed](d, call) != nil {
		t.Fatal("answered before all spaces have confirmed it")
	}
	d.release(secondPort, 1)
	renewed := answered[*session.Renewed](d, call)
	if renewed == nil || renewed.Err != nil {
		t.Fatalf("answered %+v", renewed)
	}
	if most := 2*time.Second + 200*time.Millisecond*20/21; renewed.TTL > most || renewed.TTL < 2100*time.Millisecond {
		t.Errorf("promised %v, 0.2 s after it was sent and 0.5 s before the answer; at most %v", renewed.TTL, most)
	}
	known := answered[*session.Known](d, d.call(1, protocol.Below, &session.Who{ID: s.ID}))
	if want := arrived + stretched(renewed.TTL); known.Until != want {
		t.Errorf("kept until %v, want %v", known.Until, want)
	}
}

// TestBeatsCountForEarlierOnes, and not for later ones.
func TestBeatsCountForEarlierOnes(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.vault.mute = true
	var calls []protocol.CallID
	for range 3 {
		calls = append(calls, d.renew(s, 0))
	}
	count := func() (n int) {
		for _, call := range calls {
			if r := answered[*session.Renewed](d, call); r != nil {
				if r.Err != nil {
					t.Error(r.Err)
				}
				n++
			}
		}
		return n
	}
	d.in(vaultPort, func(v *vault, out *protocol.Effects) { v.answer(&v.waiting[1], out) })
	if n := count(); n != 2 {
		t.Errorf("the second beat was answered, and %d renewals are", n)
	}
	d.in(vaultPort, func(v *vault, out *protocol.Effects) { v.answer(&v.waiting[0], out) }) // late
	if n := count(); n != 0 {
		t.Errorf("the first beat was answered late, and %d more renewals are", n)
	}
	d.in(vaultPort, func(v *vault, out *protocol.Effects) { v.answer(&v.waiting[2], out) })
	if n := count(); n != 1 {
		t.Errorf("the third beat was answered, and %d more renewals are", n)
	}
}

// TestLimitOfWaitingRenewals: of one session, and of all.
func TestLimitOfWaitingRenewals(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.vault.mute = true
	var calls []protocol.CallID
	for range 9 {
		calls = append(calls, d.renew(s, 0))
	}
	if r := answered[*session.Renewed](d, calls[0]); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
		t.Errorf("the oldest of nine renewals is answered %+v", r)
	}
	d.release(vaultPort, 9)
	for _, call := range calls[1:] {
		if r := answered[*session.Renewed](d, call); r == nil || r.Err != nil {
			t.Errorf("answered %+v", r)
		}
	}
	d = newLastingOf(t, 7, 2)
	s = d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.vault.mute = true
	d.renew(s, 0)
	d.renew(s, 0)
	if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
		t.Errorf("the third renewal is answered %+v, where two may wait", r)
	}
	d.release(vaultPort, 2)
	d.vault.mute = false
	if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || r.Err != nil {
		t.Errorf("there is room again: %+v", r)
	}
}

// TestExpiryWithoutTheSpace: while no member is in charge a session expires here, and its holds in the space stay.
func TestExpiryWithoutTheSpace(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, shelfPort, s.ID, 1, "a")
	d.lock(1, vaultPort, s.ID, 2, "b")
	d.vault.mute = true
	call := d.renew(s, 0)
	d.vault.said()
	d.at(4 * time.Second)
	if r := answered[*session.Renewed](d, call); r == nil || r.Err != session.ErrUnknown {
		t.Errorf("the renewal is answered %+v", r)
	}
	if e := d.expired(1); e == nil || e.Err != nil {
		t.Errorf("the client got %+v", e)
	}
	if said := d.vault.said(); said != "dismiss" || d.vault.held(s.ID) != 1 || d.shelf.held(s.ID) != 0 {
		t.Errorf("the space got %q, and has %d holds; the other one %d", said, d.vault.held(s.ID), d.shelf.held(s.ID))
	}
	d.release(vaultPort, 1) // too late
	if len(d.replies) > 0 && d.replies[len(d.replies)-1].To == call {
		t.Error("the renewal is answered twice")
	}
}

// TestEndedInTheSpace: a session that its space has ended is ended, and its client gets Expired. A name that its client
// may believe to hold elsewhere is no other session's until its deadline.
func TestEndedInTheSpace(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		d := newLasting(t, 7)
		s := d.open(1, session.Stream, 0)
		d.lock(1, vaultPort, s.ID, 1, "a")
		if elsewhere {
			d.lock(1, shelfPort, s.ID, 2, "b")
		}
		d.vault.err = holdfast.SessionExpired
		if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || r.Err != session.ErrUnknown {
			t.Errorf("answered %+v", r)
		}
		if e := d.expired(1); e == nil || e.Err != nil {
			t.Errorf("the client got %+v", e)
		}
		d.lock(1, shelfPort, s.ID, 3, "c")
		if !slices.Equal(d.decided(1, 3), []lock.Kind{lock.Refused}) {
			t.Errorf("a request of a session that has ended: %v", d.decided(1, 3))
		}
		if held := d.shelf.held(s.ID); (held == 1) != elsewhere {
			t.Errorf("%d holds are kept for a client that may believe", held)
		}
		d.at(time.Second + stretched(2*time.Second))
		if d.shelf.held(s.ID) != 0 || d.expired(1) != nil {
			t.Error("it has not ended, or its client heard twice")
		}
	}
}

// TestEndedInTheSpaceWhileCallsWait: a caller that waits for a session that its space has ended gets an answer, in all
// spaces.
func TestEndedInTheSpaceWhileCallsWait(t *testing.T) {
	d := newLasting(t, 7)
	other, s := d.open(1, session.Stream, 0), d.open(2, session.OneShot, 0)
	d.lock(1, shelfPort, other.ID, 1, "a")
	d.lock(1, vaultPort, other.ID, 2, "b")
	d.lock(2, shelfPort, s.ID, 1, "held")
	d.lock(3, shelfPort, s.ID, 3, "a")
	d.lock(4, vaultPort, s.ID, 4, "b")
	d.vault.err = holdfast.SessionExpired
	d.renew(s, 0)
	for sink, request := range map[uint64]uint64{3: 3, 4: 4} {
		if got := d.decided(sink, request); !slices.Equal(got, []lock.Kind{lock.Queued, lock.Refused}) {
			t.Errorf("request %d: %v", request, got)
		}
	}
	d.at(time.Second + stretched(2*time.Second))
	if d.shelf.held(s.ID) != 0 {
		t.Error("it lives on")
	}
}

// TestConnectionIsPresence: a one-shot session whose request waits is kept by its space, as long as it waits.
func TestConnectionIsPresence(t *testing.T) {
	d := newLasting(t, 7)
	other, s := d.open(1, session.Local, 0), d.open(2, session.OneShot, 0)
	d.lock(1, vaultPort, other.ID, 1, "a")
	d.lock(2, vaultPort, s.ID, 2, "a")
	d.vault.said()
	d.at(7100 * time.Millisecond) // three ttls
	if n := len(strings.Fields(d.vault.said())); n != 9 {
		t.Errorf("%d beats in three ttls", n)
	}
	d.vault.mute = true // a beat that is lost holds up no other one
	d.at(30 * time.Second)
	d.vault.mute = false
	if got := d.decided(2, 2); !slices.Equal(got, []lock.Kind{lock.Queued}) {
		t.Errorf("the request got %v", got)
	}
	d.call(1, vaultPort, &protocol.Release{Session: other.ID, Name: "a", Request: 1})
	if got := d.decided(2, 2); !slices.Equal(got, []lock.Kind{lock.Queued, lock.Granted}) {
		t.Errorf("the request got %v", got)
	}
	d.vault.said()
	d.at(d.now + stretched(2*time.Second) + time.Second)
	if said := d.vault.said(); said != "dismiss" {
		t.Errorf("no client waits, and the space got %q", said)
	}
}

// TestSilentSpaceHoldsNoCall: a call is answered when its session goes, though the space has not answered yet.
func TestSilentSpaceHoldsNoCall(t *testing.T) {
	d := newLasting(t, 7)
	other, s := d.open(1, session.Local, 0), d.open(2, session.OneShot, 0)
	d.lock(1, vaultPort, other.ID, 1, "a")
	d.lock(2, vaultPort, s.ID, 2, "a")
	d.call(3, protocol.Below, &session.Drain{})
	if got := d.decided(2, 2); !slices.Equal(got, []lock.Kind{lock.Queued, lock.Refused}) {
		t.Errorf("the request got %v", got)
	}
	last := d.replies[slices.IndexFunc(d.replies, func(r protocol.Reply) bool { return r.Decision.Kind == lock.Refused })]
	if !errors.Is(last.Decision.Err, holdfast.ErrUnavailable) || last.Decision.Name != "a" || last.Port != vaultPort {
		t.Errorf("got %+v", last)
	}
}

// TestEndOfWhoWaits: its client's own request ends a session in its space, and who waits for it hears of that.
func TestEndOfWhoWaits(t *testing.T) {
	d := newLasting(t, 7)
	other, s := d.open(1, session.Local, 0), d.open(2, session.OneShot, 0)
	d.lock(1, vaultPort, other.ID, 1, "a")
	d.lock(2, vaultPort, s.ID, 2, "a")
	d.vault.said()
	d.call(3, protocol.Below, &session.End{ID: s.ID, Secret: s.Secret, Identity: "i"})
	if kinds := d.decided(2, 2); kinds[len(kinds)-1] != lock.Released {
		t.Errorf("the waiting client got %v", kinds)
	}
	if said := d.vault.said(); said != "end" {
		t.Errorf("its client has ended it, and the space got %q", said)
	}
}

// TestLapseEndsWhatEndsWithIt, and nothing in a lasting space.
func TestLapseEndsWhatEndsWithIt(t *testing.T) {
	d := newLasting(t, 7)
	local, s, lasts := d.open(1, session.Local, 0), d.open(2, session.Stream, 0), d.open(3, session.Stream, 0)
	d.lock(1, shelfPort, local.ID, 1, "a")
	d.lock(1, vaultPort, local.ID, 2, "a")
	d.lock(2, shelfPort, s.ID, 1, "b")
	d.lock(2, vaultPort, s.ID, 2, "b")
	d.lock(3, vaultPort, lasts.ID, 1, "c")
	d.vault.said()
	d.vault.mute = true
	call := d.renew(s, 0)
	d.order(order{verb: "lapse"})
	if e := d.expired(2); e == nil || e.ID != s.ID || !errors.Is(e.Err, holdfast.ErrUnavailable) || d.dismissed(2) != nil {
		t.Errorf("the stream of a session that is tied to this member got %+v", e)
	}
	if e := d.dismissed(3); e == nil || e.ID != lasts.ID || !errors.Is(e.Err, holdfast.ErrUnavailable) || d.expired(3) != nil {
		t.Errorf("the stream of one that is not got %+v", e)
	}
	if r := answered[*session.Renewed](d, call); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
		t.Errorf("the renewal is answered %+v", r)
	}
	if d.vault.held(s.ID) != 1 || d.vault.held(lasts.ID) != 1 || d.vault.held(local.ID) != 1 || d.shelf.held(s.ID) != 0 {
		t.Error("the wrong space has ended the session")
	}
	if said := d.vault.said(); said != "beat dismiss dismiss" {
		t.Errorf("the space got %q", said)
	}
}

// TestLeaseBoundsNothingWhereAllLasts: a member that has lost its place in the view promises as before until its lease
// is over, and then sends its clients elsewhere, with all of their ttl before them. No member has to remember what it
// has promised, nor to wait for it when it leaves.
func TestLeaseBoundsNothingWhereAllLasts(t *testing.T) {
	d := newAllLasting(t, 7)
	notes := len(d.notes)
	d.order(order{verb: "lease", span: 300 * time.Millisecond})
	s, long := d.open(1, session.Stream, 0), d.open(2, session.Stream, time.Hour)
	if s.TTL != 2*time.Second || long.TTL != time.Hour {
		t.Errorf("promised %v and %v, with a lease of 300ms", s.TTL, long.TTL)
	}
	d.lock(1, onlyPort, s.ID, 1, "a")
	d.lock(2, onlyPort, long.ID, 1, "b")
	d.at(d.now + 290*time.Millisecond)
	if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || r.Err != nil || r.TTL != 2*time.Second {
		t.Errorf("10ms before the lease is over it is renewed for %+v", r)
	}
	d.order(order{verb: "lapse"})
	if d.dismissed(1) == nil || d.dismissed(2) == nil || d.expired(1) != nil || d.vault.held(s.ID) != 1 {
		t.Error("the clients were not sent elsewhere with what they hold")
	}
	if r := answered[*session.Renewed](d, d.renew(s, 0)); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
		t.Errorf("without a lease it is renewed for %+v", r)
	}
	next := newAllLasting(t, 8)
	next.now, next.vault.table, next.vault.enrolled = d.now, d.vault.table, d.vault.enrolled
	call := next.call(5, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: []uint64{1}, Last: 1})
	if r := answered[*session.Renewed](next, call); r == nil || r.Err != nil || r.TTL != 2*time.Second || next.vault.held(s.ID) != 1 {
		t.Errorf("at another member it got %+v", r)
	}
	left := d.call(3, protocol.Below, &membership.Leave{})
	if !gone(d, left) {
		t.Error("the member waits for clients that go on elsewhere")
	}
	if got := d.notes[notes:]; !slices.Equal(got, []string{"leaves empty=true"}) {
		t.Errorf("the membership got %q", got)
	}
}

// TestLeavingLeavesWhatLasts: a hold in a lasting space alone does not hold up a member that leaves, and its client gets
// neither a revocation nor an end.
func TestLeavingLeavesWhatLasts(t *testing.T) {
	for _, how := range []any{&membership.Leave{}, &session.Drain{}} {
		d := newLasting(t, 7)
		local, lasts, both := d.open(1, session.Local, 0), d.open(2, session.Stream, 0), d.open(3, session.Stream, 0)
		d.lock(1, vaultPort, local.ID, 1, "a")
		d.lock(2, vaultPort, lasts.ID, 1, "b")
		d.lock(3, vaultPort, both.ID, 1, "c")
		d.lock(3, shelfPort, both.ID, 2, "c")
		d.vault.said()
		call := d.call(4, protocol.Below, how)
		if e := d.dismissed(2); e == nil || e.ID != lasts.ID || !errors.Is(e.Err, holdfast.ErrUnavailable) || d.expired(2) != nil {
			t.Errorf("the client that holds in a lasting space alone got %+v", e)
		}
		if said := d.vault.said(); said != "dismiss" || d.vault.held(lasts.ID) != 1 || d.vault.held(local.ID) != 1 {
			t.Errorf("the space got %q", said)
		}
		if d.expired(3) != nil || d.dismissed(3) != nil || gone(d, call) {
			t.Error("the member does not wait for a holder in another space")
		}
		_, leaves := how.(*membership.Leave)
		if got := slices.Contains(d.decided(3, 2), lock.Revoked); got != leaves {
			t.Errorf("revoked: %v", got)
		}
		d.call(3, shelfPort, &protocol.Release{Session: both.ID, Name: "c", Request: 2})
		if d.expired(3) == nil || d.dismissed(3) != nil || !gone(d, call) || d.vault.held(both.ID) != 1 {
			t.Error("it has given up what ends here, and the member does not go")
		}
	}
}

// gone reports whether who wishes a member to leave or drain was answered.
func gone(d *machine, call protocol.CallID) bool {
	return slices.ContainsFunc(d.replies, func(r protocol.Reply) bool { return r.To == call })
}

// TestLastReleaseQueriesTheSpaces: a one-shot session ends with its last lock, regardless of where that came from.
func TestLastReleaseQueriesTheSpaces(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.OneShot, 0)
	d.lock(1, vaultPort, s.ID, session.SingleCall|1, "a")
	// Another member has served it, too.
	d.in(vaultPort, func(v *vault, _ *protocol.Effects) {
		v.table.Acquire(d.now, &lock.Request{Session: s.ID, ID: session.SingleCall | 2, Name: "b", WaitEnd: lock.Never}, &v.out)
		v.out = v.out[:0]
	})
	d.vault.said()
	d.call(1, vaultPort, &protocol.Release{Session: s.ID, Name: "a", Request: session.SingleCall | 1})
	if said := d.vault.said(); said != "" || d.vault.held(s.ID) != 1 {
		t.Errorf("it has another lock, and the space got %q", said)
	}
	d.lock(1, secondPort, s.ID, session.SingleCall|3, "c")
	d.call(1, secondPort, &protocol.Release{Session: s.ID, Name: "c", Request: session.SingleCall | 3})
	d.second.said()
	d.call(1, vaultPort, &protocol.Release{Session: s.ID, Name: "b", Request: session.SingleCall | 2})
	if said, other := d.vault.said(), d.second.said(); said != "end" || other != "dismiss" {
		t.Errorf("the space of its last lock got %q, the other one %q", said, other)
	}
}

// TestRevokedInALastingSpace: a revoked grant is given up at the deadline by a member that knows
// that the holder has heard.
func TestRevokedInALastingSpace(t *testing.T) {
	for _, renews := range []bool{false, true} {
		d := newLasting(t, 7)
		s := d.open(1, session.Stream, 0)
		d.lock(1, vaultPort, s.ID, 1, "a")
		d.in(vaultPort, func(v *vault, _ *protocol.Effects) {
			v.table.RevokeSession(d.now, s.ID, holdfast.Broken, holdfast.ErrUnavailable, &v.out)
		})
		d.in(vaultPort, func(v *vault, out *protocol.Effects) { v.shelf.Step(d.now, protocol.Event{}, out) })
		if !slices.Contains(d.decided(1, 1), lock.Revoked) {
			t.Fatalf("got %v", d.decided(1, 1))
		}
		if renews {
			d.at(2 * time.Second)
			d.renew(s, 0)
		}
		d.at(time.Second + stretched(2*time.Second))
		if held := d.vault.held(s.ID); (held == 0) != renews {
			t.Errorf("renewed %v, and %d are held at the deadline", renews, held)
		}
	}
}

// TestRevokedHolderMayHaveGoneElsewhere: another member may have renewed its session just before, so the grant stays
// for a ttl from its revocation, however soon this member's own promise ends.
func TestRevokedHolderMayHaveGoneElsewhere(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.at(2 * time.Second)
	d.in(vaultPort, func(v *vault, out *protocol.Effects) {
		v.table.RevokeSession(d.now, s.ID, holdfast.Broken, holdfast.ErrUnavailable, &v.out)
		v.shelf.Step(d.now, protocol.Event{}, out)
	})
	d.at(2500 * time.Millisecond)
	d.renew(s, 0)
	end := 2*time.Second + stretched(2*time.Second)
	d.at(end - time.Millisecond)
	if d.vault.held(s.ID) != 1 {
		t.Error("it is given up, and its holder may believe in it")
	}
	d.at(end)
	if d.vault.held(s.ID) != 0 {
		t.Error("it was revoked, its client has been heard since, and keeps the name")
	}
}

// TestRevokedWhileAConnectionWaits: a connection is no sign that its client has heard what it must stop using. Its next
// renewal is.
func TestRevokedWhileAConnectionWaits(t *testing.T) {
	d := newLasting(t, 7)
	other, s := d.open(1, session.Local, 0), d.open(2, session.OneShot, 0)
	d.lock(2, vaultPort, s.ID, 1, "a")
	d.lock(1, shelfPort, other.ID, 1, "b")
	d.lock(3, shelfPort, s.ID, 2, "b") // waits in another space
	d.in(vaultPort, func(v *vault, out *protocol.Effects) {
		v.table.RevokeSession(d.now, s.ID, holdfast.Broken, holdfast.ErrUnavailable, &v.out)
		v.shelf.Step(d.now, protocol.Event{}, out)
	})
	d.vault.said()
	d.at(10 * time.Second)
	if n := strings.Count(d.vault.said(), "beat"); n != 13 {
		t.Errorf("%d beats in 9 s, while it waits in another space", n)
	}
	if d.vault.held(s.ID) != 1 || !slices.Equal(d.decided(3, 2), []lock.Kind{lock.Queued}) {
		t.Fatalf("%d are held, and the waiting client got %v", d.vault.held(s.ID), d.decided(3, 2))
	}
	renewed := answered[*session.Renewed](d, d.renew(s, 0))
	if renewed == nil || renewed.Err != nil || len(renewed.Lost) != 1 {
		t.Fatalf("answered %+v", renewed)
	}
	d.at(10*time.Second + time.Millisecond)
	if d.vault.held(s.ID) != 0 {
		t.Error("it was revoked, and its client has been heard since: its deadline is over")
	}
}

// TestWaitThatCameThroughAnother: what a one-shot session that was taken over waits for keeps it as long as it waits.
func TestWaitThatCameThroughAnother(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	far := lock.SessionID{Member: 8, Number: 1}
	d.grant(far, 1, "a")
	d.vault.table.Acquire(d.now, &lock.Request{Session: id, ID: session.SingleCall | 1, Name: "a", WaitEnd: d.now + time.Second, Arrived: d.now}, &d.vault.out)
	d.vault.out = d.vault.out[:0]
	d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})
	d.lock(1, vaultPort, id, session.SingleCall|2, "b")
	d.vault.said()
	d.call(1, vaultPort, &protocol.Release{Session: id, Name: "b", Request: session.SingleCall | 2})
	if said := d.vault.said(); said != "" {
		t.Errorf("it waits, and the space got %q", said)
	}
	d.at(2100 * time.Millisecond)
	d.lock(1, vaultPort, id, session.SingleCall|3, "b")
	d.call(1, vaultPort, &protocol.Release{Session: id, Name: "b", Request: session.SingleCall | 3})
	if said := d.vault.said(); said != "end" {
		t.Errorf("it neither holds nor waits, and the space got %q", said)
	}
}

// TestWaitsEndWithTheirSession: another client ends a session that waits in a lasting space. Each of its requests is
// refused, and the session ends.
func TestWaitsEndWithTheirSession(t *testing.T) {
	d := newLasting(t, 7)
	holder, s := d.open(1, session.Stream, 0), d.open(2, session.Stream, 0)
	d.lock(1, vaultPort, holder.ID, 1, "a")
	d.lock(2, vaultPort, s.ID, 1, "a")
	d.lock(2, vaultPort, s.ID, 2, "a")
	d.replies = nil
	end := d.call(3, protocol.Below, &session.End{ID: s.ID, Secret: s.Secret, Identity: "i"})
	if ended := answered[*session.Ended](d, end); ended == nil || ended.Err != nil {
		t.Errorf("the session has not ended: %+v", ended)
	}
	refused := 0
	for i := range d.replies {
		if reply := &d.replies[i]; reply.Decision.Kind == lock.Refused && reply.Decision.Err == holdfast.EndedByAnother && reply.To.Sink == 2 {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of two requests are refused: %+v", refused, d.replies)
	}
}

// TestLimitOfRecalls: so many calls wait for the end of one hold, or of one session; one more is refused.
func TestLimitOfRecalls(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	refused := func(err error) bool {
		limit, is := errors.AsType[*holdfast.LimitError](err)
		return is && limit.Limit == "recalls" && limit.Value == 16
	}
	for n := range 17 {
		d.replies = nil
		call := d.call(2, vaultPort, &protocol.Release{Session: s.ID, Name: "a", Request: 1})
		is := false
		for i := range d.replies {
			is = is || d.replies[i].To == call && refused(d.replies[i].Decision.Err)
		}
		if is != (n == 16) {
			t.Errorf("release %d is refused for the limit: %v", n+1, is)
		}
	}
	for n := range 17 {
		ended := answered[*session.Ended](d, d.call(3, protocol.Below, &session.End{ID: s.ID, Secret: s.Secret, Identity: "i"}))
		if is := ended != nil && refused(ended.Err); is != (n == 16) {
			t.Errorf("end %d is refused for the limit: %v", n+1, is)
		}
	}
}

// TestNumbers: calls without a stream get ids that follow one another, above all of a stream's client; others at a member of
// another life, and where the count is at its end; and none when the session has ended.
func TestNumbers(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.OneShot, 0)
	number := func(id lock.SessionID, count int) uint64 {
		return answered[*session.Numbered](d, d.call(2, protocol.Below, &session.Number{ID: id, Count: count})).First
	}
	first := number(s.ID, 3)
	if next := number(s.ID, 1); first < session.SingleCall || next != first+3 || number(s.ID, 1) != next+1 {
		t.Errorf("numbered %d, and behind three of them %d", first, next)
	}
	if other := newLasting(t, 8); number(s.ID, 1)>>24 == answered[*session.Numbered](other, other.call(1, protocol.Below, &session.Number{ID: other.open(1, session.OneShot, 0).ID, Count: 1})).First>>24 {
		t.Error("two members number alike")
	}
	last := uint64(0)
	for i := 0; i < 40; i++ { // more than one prefix has room for
		from := number(s.ID, session.MostNumbered)
		if to := from + session.MostNumbered - 1; from>>24 != to>>24 || from <= last && from>>24 == last>>24 {
			t.Fatalf("numbers %d to %d behind %d", from, to, last)
		} else {
			last = to
		}
	}
	d.call(1, protocol.Below, &session.End{ID: s.ID, Proven: true})
	if n := number(s.ID, 1); n != 0 {
		t.Errorf("a session that has ended is numbered %d", n)
	}
}
