package session_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// uses is a client that uses a session.
func uses(number, generation uint64, former ...uint64) (a lock.Attachments) {
	a.Attachment = lock.Attachment{Client: number, Generation: generation}
	copy(a.Former[:], former)
	return a
}

// openAs opens a session for a client with a number, which holds a name in the vault and one on the shelf, and waits
// for one in each.
func (d *machine) openAs(sink, number uint64) *session.Opened {
	d.t.Helper()
	opened := d.openLastingAs(sink, number)
	d.lock(sink, shelfPort, opened.ID, 2, "b")
	return opened
}

// openLastingAs does the same without the lock that ends with the member.
func (d *machine) openLastingAs(sink, number uint64) *session.Opened {
	d.t.Helper()
	opened := answered[*session.Opened](d, d.call(sink, protocol.Below, &session.Open{Kind: session.Stream, Client: "c", Identity: "i", Number: number}))
	if opened == nil || opened.Err != nil || opened.Generation != 1 {
		d.t.Fatalf("opening is answered by %+v", opened)
	}
	d.lock(sink, vaultPort, opened.ID, 1, "a")
	return opened
}

func (d *machine) resumeAs(sink uint64, opened *session.Opened, number, generation uint64) protocol.CallID {
	return d.call(sink, protocol.Below, &session.Resume{ID: opened.ID, Secret: opened.Secret, Identity: "i", Number: number, Generation: generation})
}

// takenOver returns the TakenOver that a sink got, or nil.
func (d *machine) takenOver(sink uint64) *session.TakenOver {
	return answered[*session.TakenOver](d, protocol.CallID{Sink: sink})
}

// beats has a vault also record, from now on, whose beats it is asked for.
func (v *vault) beats(to *[]lock.Attachments) {
	v.heard = func(beat *protocol.Beat) { *to = append(*to, beat.Attached) }
}

// TestTakenOverElsewhere has a session be taken over through another member: its client here gets TakenOver, what it
// waits for in spaces that end with the member ends, and what it holds there is kept. The later client can come here;
// the former one cannot.
func TestTakenOverElsewhere(t *testing.T) {
	d := newLasting(t, 1)
	opened := d.openAs(1, 7)
	other := d.open(2, session.Stream, 0)
	d.lock(2, shelfPort, other.ID, 1, "c")
	d.lock(1, shelfPort, opened.ID, 3, "c")
	if who := d.vault.enrolled[opened.ID]; who.Attached != uses(7, 1) {
		t.Errorf("it is enrolled as %+v", who)
	}
	d.vault.mute = true
	waiting := d.call(1, protocol.Below, &session.Renew{ID: opened.ID, Proven: true})
	d.in(vaultPort, func(_ *vault, out *protocol.Effects) {
		out.Reply(protocol.CallID{}, &protocol.Attached{Session: opened.ID, Now: uses(5, 2, 7)})
	})
	if d.takenOver(1) == nil {
		t.Error("its client is not told")
	}
	if renewed := answered[*session.Renewed](d, waiting); renewed == nil || renewed.Err != session.ErrTakenOver {
		t.Errorf("its renewal is answered by %+v", renewed)
	}
	d.vault.mute = false
	d.release(vaultPort, len(d.vault.waiting))
	if d.shelf.held(opened.ID) != 1 {
		t.Error("what it holds in memory has ended")
	}
	d.call(2, shelfPort, &protocol.Release{Session: other.ID, Name: "c", Request: 1})
	if d.shelf.held(opened.ID) != 1 {
		t.Error("what it has waited for in memory is granted")
	}
	if renewed := answered[*session.Renewed](d, d.resumeAs(3, opened, 7, 1)); renewed == nil || renewed.Err != session.ErrTakenOver {
		t.Errorf("the former client's resume is answered by %+v", renewed)
	}
	var heard []lock.Attachments
	d.vault.beats(&heard)
	if renewed := answered[*session.Renewed](d, d.resumeAs(4, opened, 5, 2)); renewed == nil || renewed.Err != nil || renewed.Generation != 2 {
		t.Errorf("the later client's resume is answered by %+v", renewed)
	}
	if !slices.Equal(heard, []lock.Attachments{uses(5, 2, 7)}) {
		t.Errorf("the space has heard %+v", heard)
	}
}

// TestTakeOverOfWhatIsElsewhere has a client take over a session that another member serves. The spaces learn it by its
// first beat, and a former client, or one that they know to be taken over, is refused.
func TestTakeOverOfWhatIsElsewhere(t *testing.T) {
	first, d := newLasting(t, 1), newLasting(t, 2)
	opened := first.openLastingAs(1, 7)
	d.vault.enrolled, d.second.enrolled = first.vault.enrolled, first.second.enrolled
	var heard []lock.Attachments
	d.vault.beats(&heard)
	check := &session.Check{ID: opened.ID, Secret: opened.Secret, Identity: "i", Number: 5}
	if checked := answered[*session.Renewed](d, d.call(9, protocol.Below, check)); checked == nil || checked.Err != nil || !checked.Takes {
		t.Errorf("whether it would take the session over is answered by %+v", checked)
	}
	if renewed := answered[*session.Renewed](d, d.resumeAs(1, opened, 5, 0)); renewed == nil || renewed.Err != nil || renewed.Generation != 2 {
		t.Fatalf("the resume is answered by %+v", renewed)
	}
	if !slices.Equal(heard, []lock.Attachments{uses(5, 2, 7)}) {
		t.Errorf("the space has heard %+v", heard)
	}
	if renewed := answered[*session.Renewed](d, d.resumeAs(2, opened, 7, 1)); renewed == nil || !errors.Is(renewed.Err, holdfast.EndedByAnother) {
		t.Errorf("the former client's resume is answered by %+v", renewed)
	}
	d.vault.later = uses(3, 3, 5, 7)
	if renewed := answered[*session.Renewed](d, d.call(1, protocol.Below, &session.Renew{ID: opened.ID, Proven: true})); renewed == nil || renewed.Err != session.ErrTakenOver {
		t.Errorf("the beat of a client that was taken over elsewhere is answered by %+v", renewed)
	}
	if d.takenOver(1) == nil {
		t.Error("it is not told")
	}
	heard = nil
	if renewed := answered[*session.Renewed](d, d.renew(opened, 0)); renewed == nil || renewed.Err != nil {
		t.Errorf("a call of its own is answered by %+v", renewed)
	}
	if !slices.Equal(heard, []lock.Attachments{{}}) {
		t.Errorf("a call that comes over no stream says that it is of %+v", heard)
	}
}

// TestTakerIsUnconfirmed: a member that cannot renew a session answers its client that comes back with what is left of
// its promise. A later client is promised nothing of that while the spaces do not know it, because the one before may
// be renewed through another member. Without the rule it is.
func TestTakerIsUnconfirmed(t *testing.T) {
	defer mutation.Switch("")
	for rule, promised := range map[string]bool{"": false, "a later client waits until the spaces know it": true} {
		mutation.Switch(rule)
		d := newLasting(t, 1)
		opened := d.openAs(1, 7)
		d.order(order{verb: "lease", span: 0})
		if renewed := answered[*session.Renewed](d, d.resumeAs(2, opened, 7, 1)); renewed == nil || renewed.Err != nil || renewed.TTL <= 0 {
			t.Errorf("without %q its client that comes back is answered by %+v", rule, renewed)
		}
		renewed := answered[*session.Renewed](d, d.resumeAs(3, opened, 5, 0))
		if renewed == nil || (renewed.Err == nil) != promised || !promised && !errors.Is(renewed.Err, holdfast.ErrUnavailable) {
			t.Errorf("without %q a later client is answered by %+v", rule, renewed)
		}
	}
}

// TestReleaseWaitsForConfirmation: what a later client gives up in a lasting space stays taken until the space knows
// that client, and the one before believes no longer.
func TestReleaseWaitsForConfirmation(t *testing.T) {
	d := newAllLasting(t, 1)
	opened := answered[*session.Opened](d, d.call(1, protocol.Below, &session.Open{Kind: session.Stream, Identity: "i", Number: 7}))
	d.lock(1, onlyPort, opened.ID, 1, "a")
	d.vault.mute = true
	resumed := d.resumeAs(2, opened, 5, 0)
	d.call(2, onlyPort, &protocol.Release{Session: opened.ID, Name: "a", Request: 1})
	d.at(d.now + time.Second)
	d.vault.mute = false
	d.release(onlyPort, len(d.vault.waiting))
	confirmed := d.now
	if renewed := answered[*session.Renewed](d, resumed); renewed == nil || renewed.Err != nil {
		t.Fatalf("the later client is answered by %+v", renewed)
	}
	for d.now < confirmed+2*opened.TTL && d.vault.held(opened.ID) == 1 {
		d.call(2, protocol.Below, &session.Renew{ID: opened.ID, Proven: true})
		d.at(d.now + 100*time.Millisecond)
	}
	if wait := d.now - confirmed; wait < opened.TTL || wait > opened.TTL*5/4 || d.vault.held(opened.ID) != 0 {
		t.Errorf("it holds %d names %v after the space knows the later client, and the one before believes for %v", d.vault.held(opened.ID), wait, opened.TTL)
	}
	if !slices.Contains(d.decided(2, 1), lock.Released) {
		t.Errorf("the release is answered by %v", d.decided(2, 1))
	}
}

// TestLimitOfGivenUp: so many releases wait until the client before believes no longer, and one more is refused.
func TestLimitOfGivenUp(t *testing.T) {
	d := newAllLasting(t, 1)
	opened := answered[*session.Opened](d, d.call(1, protocol.Below, &session.Open{Kind: session.Stream, Identity: "i", Number: 7}))
	d.lock(1, onlyPort, opened.ID, 1, "a")
	d.resumeAs(2, opened, 5, 0)
	const most = 16_384
	for request := range uint64(most + 1) {
		d.call(2, onlyPort, &protocol.Release{Session: opened.ID, Name: "b", Request: 100 + request})
		if refused := slices.Contains(d.decided(2, 100+request), lock.Refused); refused != (request == most) {
			t.Fatalf("release %d is refused: %v", request+1, refused)
		}
		d.replies = nil
	}
}

// TestEndOfATakenSession: the End of a stream's client says which one it is, so that it ends no later one's session; a
// call of its own does not.
func TestEndOfATakenSession(t *testing.T) {
	for name, end := range map[string]struct {
		sink uint64
		want lock.Attachment
	}{"its stream": {1, lock.Attachment{Client: 7, Generation: 1}}, "another call": {9, lock.Attachment{}}} {
		d := newAllLasting(t, 1)
		opened := answered[*session.Opened](d, d.call(1, protocol.Below, &session.Open{Kind: session.Stream, Identity: "i", Number: 7}))
		d.lock(1, onlyPort, opened.ID, 1, "a")
		if end.sink == 1 {
			d.call(1, protocol.Below, &session.End{ID: opened.ID, Proven: true})
		} else {
			d.call(end.sink, protocol.Below, &session.End{ID: opened.ID, Secret: opened.Secret, Identity: "i"})
			d.call(1, onlyPort, &protocol.Release{Session: opened.ID, Name: "a", Request: 1})
		}
		if d.vault.ended == nil || d.vault.ended.Attached != end.want {
			t.Errorf("%s: the space got %+v", name, d.vault.ended)
		}
	}
}
