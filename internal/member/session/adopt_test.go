package session_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// secretOf is that of the session that another member has opened.
var secretOf = session.Secret{1, 2, 3}

// elsewhere is a session that another member has opened, and enrolled in the first vault of a session machine.
func (d *machine) elsewhere() lock.SessionID {
	id := lock.SessionID{Member: 8, Number: 1<<32 + 5}
	d.vault.enrolled[id] = protocol.Enroll{
		Session: id, TTL: 1500 * time.Millisecond, Proof: sha256.Sum256(secretOf[:]), Client: "far", Identity: "i",
	}
	return id
}

// grant has a session hold a name in the first vault, without a word.
func (d *machine) grant(id lock.SessionID, request uint64, name string) lock.Decision {
	d.vault.table.Acquire(d.now, &lock.Request{Session: id, ID: request, Name: name, WaitEnd: lock.Never}, &d.vault.out)
	granted := d.vault.out[len(d.vault.out)-1]
	d.vault.out = d.vault.out[:0]
	return granted
}

// loses has the vault tell what its sessions have lost, and must stop using, behind their adoption.
func (d *machine) loses(decisions ...lock.Decision) { d.vault.decisions = decisions }

func resumeOf(id lock.SessionID, requests ...uint64) *session.Resume {
	return &session.Resume{ID: id, Secret: secretOf, Identity: "i", Requests: requests}
}

// TestResumeElsewhere: a stream goes on at another member with what it holds, and first learns what it must stop using and
// what it has lost.
func TestResumeElsewhere(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.grant(id, 1, "kept")
	d.grant(id, 2, "settled")
	revoked := d.grant(id, 4, "revoked")
	revoked.Kind, revoked.Loss = lock.Revoked, holdfast.Broken
	lost := lock.Decision{Kind: lock.Lost, Session: id, Request: 3, Name: "lost", Token: 9, Loss: holdfast.Broken}
	d.loses(lost, revoked)
	resume := resumeOf(id, 4, 1, 3)
	resume.Last = 4
	call := d.call(1, protocol.Below, resume)
	if said := d.vault.said(); said != "adopt[1 3 4] beat" {
		t.Errorf("the space was asked %q", said)
	}
	at := func(is func(protocol.Reply) bool) int { return slices.IndexFunc(d.replies, is) }
	stop := at(func(r protocol.Reply) bool { return r.To.Sink == 1 && r.Decision.Kind == lock.Revoked })
	answer := at(func(r protocol.Reply) bool { return r.To == call })
	if stop < 0 || answer < stop {
		t.Errorf("revoked at %d, answered at %d", stop, answer)
	}
	renewed := answered[*session.Renewed](d, call)
	if renewed == nil || renewed.Err != nil || renewed.TTL > 1500*time.Millisecond || renewed.TTL < 1400*time.Millisecond {
		t.Fatalf("answered %+v", renewed)
	}
	if len(renewed.Lost) != 1 || renewed.Lost[0] != (session.Lost{Port: vaultPort, Decision: lost}) {
		t.Errorf("lost: %+v", renewed.Lost)
	}
	if d.vault.held(id) != 2 {
		t.Errorf("%d holds are left, want those that it has not settled", d.vault.held(id))
	}
	d.call(1, vaultPort, &protocol.Release{Session: id, Name: "kept", Request: 1})
	d.lock(1, secondPort, id, 5, "more")
	if got := d.second.enrolled[id]; got.TTL != 1500*time.Millisecond || got.Client != "far" || got.Identity != "i" || got.Proof != sha256.Sum256(secretOf[:]) {
		t.Errorf("the other space got %+v", got)
	}
	if counted := answered[*session.Counted](d, d.call(1, protocol.Below, &session.Count{})); counted.Sessions != 1 {
		t.Errorf("%d sessions", counted.Sessions)
	}
	d.vault.said()
	d.at(5 * time.Second)
	if e := d.expired(1); e == nil || e.ID != id || d.vault.said() != "dismiss" {
		t.Errorf("it is not renewed, and got %+v", e)
	}
}

// TestNoOtherClientTakesASessionOver: a session is adopted only with its secret and by the client that opened it; a
// failed call leaves it with its client. A session that no space has is unknown; one that a space cannot answer for is
// not.
func TestNoOtherClientTakesASessionOver(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(d *machine, id lock.SessionID, r *session.Resume)
		want  error
		said  string
	}{
		"wrong secret": {func(_ *machine, _ lock.SessionID, r *session.Resume) { r.Secret[0]++ }, session.ErrUnknown, "adopt[] dismiss"},
		"foreign":      {func(_ *machine, _ lock.SessionID, r *session.Resume) { r.Identity = "j" }, session.ErrForeign, "adopt[] dismiss"},
		"of a process": {func(d *machine, id lock.SessionID, _ *session.Resume) {
			who := d.vault.enrolled[id]
			who.Own = true
			d.vault.enrolled[id] = who
		}, session.ErrUnknown, "adopt[] dismiss"},
		"ended":            {func(d *machine, id lock.SessionID, _ *session.Resume) { delete(d.vault.enrolled, id) }, session.ErrUnknown, "adopt[]"},
		"no space can say": {func(d *machine, _ lock.SessionID, _ *session.Resume) { d.vault.err = holdfast.ErrUnavailable }, holdfast.ErrUnavailable, "adopt[]"},
		"one does not":     {func(d *machine, _ lock.SessionID, _ *session.Resume) { d.second.err = holdfast.ErrUnavailable }, holdfast.ErrUnavailable, "adopt[] dismiss"},
		"draining": {func(d *machine, _ lock.SessionID, _ *session.Resume) {
			d.call(5, protocol.Below, &session.Drain{})
		}, holdfast.ErrUnavailable, ""},
		"no lease": {func(d *machine, _ lock.SessionID, _ *session.Resume) { d.order(order{verb: "lapse"}) }, holdfast.ErrUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newLasting(t, 7)
			id := d.elsewhere()
			resume := resumeOf(id)
			tt.spoil(d, id, resume)
			for _, fact := range []any{
				resume, &session.Renew{ID: id, Secret: resume.Secret, Identity: resume.Identity},
				&session.Check{ID: id, Secret: resume.Secret, Identity: resume.Identity},
			} {
				if r := answered[*session.Renewed](d, d.call(1, protocol.Below, fact)); r == nil || !errors.Is(r.Err, tt.want) {
					t.Errorf("%T is answered %+v, want %v", fact, r, tt.want)
				}
				if said := d.vault.said(); said != tt.said {
					t.Errorf("%T: the space got %q, want %q", fact, said, tt.said)
				}
			}
			end := &session.End{ID: id, Secret: resume.Secret, Identity: resume.Identity}
			if e := answered[*session.Ended](d, d.call(1, protocol.Below, end)); e == nil || !errors.Is(e.Err, tt.want) {
				t.Errorf("an end is answered %+v", e)
			}
			if counted := answered[*session.Counted](d, d.call(1, protocol.Below, &session.Count{})); counted.Sessions != 0 {
				t.Errorf("%d sessions are here", counted.Sessions)
			}
		})
	}
}

// TestOthersAreNotQueried: what an edge says of its own stream, and a session that is none, is asked of no space.
func TestOthersAreNotQueried(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	for _, fact := range []any{&session.Renew{ID: id, Proven: true}, &session.Check{}} {
		if r := answered[*session.Renewed](d, d.call(1, protocol.Below, fact)); r == nil || r.Err != session.ErrUnknown {
			t.Errorf("%+v is answered %+v", fact, r)
		}
	}
	d.lock(1, vaultPort, id, 1, "a")
	if got := d.decided(1, 1); !slices.Equal(got, []lock.Kind{lock.Refused}) || d.vault.said() != "" {
		t.Errorf("a request without a session got %v", got)
	}
}

// TestCallsTakeASessionOver: a call that needs no stream is enough, and what the session has there counts for its end.
func TestCallsTakeASessionOver(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.grant(id, session.SingleCall|1, "a")
	d.loses(lock.Decision{Kind: lock.Lost, Session: id, Request: session.SingleCall | 2, Name: "b", Token: 9, Loss: holdfast.Broken})
	if r := answered[*session.Renewed](d, d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})); r == nil || r.Err != nil {
		t.Fatalf("answered %+v", r)
	}
	renew := &session.Renew{ID: id, Secret: secretOf, Identity: "i"}
	if r := answered[*session.Renewed](d, d.call(1, protocol.Below, renew)); r == nil || r.Err != nil || len(r.Lost) != 1 {
		t.Fatalf("answered %+v", r)
	}
	if said := d.vault.said(); said != "adopt[] beat" {
		t.Errorf("the space got %q", said)
	}
	d.call(1, vaultPort, &protocol.Release{Session: id, Name: "a", Request: session.SingleCall | 1})
	if said := d.vault.said(); said != "end" {
		t.Errorf("its last lock is released, and the space got %q", said)
	}
}

// TestSessionForSeveralLocksGoesOnElsewhere: at another member, too, it outlasts the release of its last lock.
func TestSessionForSeveralLocksGoesOnElsewhere(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	opened := d.vault.enrolled[id]
	opened.Attached = lock.Attachments{Attachment: lock.Attachment{Client: 7, Generation: 1}}
	d.vault.enrolled[id] = opened
	d.grant(id, session.SingleCall|1, "a")
	d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})
	d.vault.said()
	d.call(1, vaultPort, &protocol.Release{Session: id, Name: "a", Request: session.SingleCall | 1})
	if said := d.vault.said(); said != "" || d.vault.held(id) != 0 {
		t.Errorf("its last lock is released, and the space got %q, with %d holds left", said, d.vault.held(id))
	}
	renew := &session.Renew{ID: id, Secret: secretOf, Identity: "i"}
	if r := answered[*session.Renewed](d, d.call(1, protocol.Below, renew)); r == nil || r.Err != nil {
		t.Errorf("renewed: %+v", r)
	}
}

// TestCallDoesNotEndAStream: what a stream has is not ended by a single call that gives up the last of it.
func TestCallDoesNotEndAStream(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.grant(id, 1, "a")
	d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})
	d.vault.said()
	d.call(1, vaultPort, &protocol.Release{Session: id, Name: "a", Request: 1})
	if said := d.vault.said(); said != "" {
		t.Errorf("the space got %q", said)
	}
}

// TestReleaseThroughAnotherMember: what a client asked for over a stream at another member is not released at once by a
// single call here, which another client makes: the space has the one at the stream stop, though the session had
// nothing yet when it was brought here.
func TestReleaseThroughAnotherMember(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})
	d.grant(id, 1, "a") // through the other member, behind that
	d.lock(2, vaultPort, d.open(2, session.Stream, 0).ID, 1, "a")
	release := &protocol.Release{Session: id, Name: "a", Request: 1}
	d.call(1, vaultPort, release)
	held := d.vault.table.Show("a")
	if len(held.Holders) != 1 || held.Holders[0].Session != id || !held.Holders[0].Revoked {
		t.Errorf("released by another client, the lock is %+v; want it to be revoked", held)
	}
	if got := d.decided(2, 1); slices.Contains(got, lock.Granted) {
		t.Errorf("the next got %v before the holder has stopped", got)
	}
}

// TestStreamComesBehindACall: a stream that comes to where a call has brought its session has the spaces asked what it may
// not have heard.
func TestStreamComesBehindACall(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.grant(id, session.SingleCall|1, "a")
	d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})
	d.loses(lock.Decision{Kind: lock.Lost, Session: id, Request: 3, Name: "b", Token: 9, Loss: holdfast.Broken})
	wrong := resumeOf(id, 3)
	wrong.Secret[5]++
	if r := answered[*session.Renewed](d, d.call(3, protocol.Below, wrong)); r == nil || r.Err != session.ErrUnknown {
		t.Errorf("answered %+v", r)
	}
	r := answered[*session.Renewed](d, d.call(2, protocol.Below, resumeOf(id, 3)))
	if r == nil || r.Err != nil || len(r.Lost) != 1 || r.Lost[0].Decision.Request != 3 {
		t.Errorf("answered %+v", r)
	}
	r = answered[*session.Renewed](d, d.call(2, protocol.Below, resumeOf(id, 3)))
	if said := d.vault.said(); r == nil || r.Err != nil || said != "adopt[] adopt[3] beat beat" {
		t.Errorf("the space got %q, and the second is answered %+v", said, r)
	}
	d.call(2, vaultPort, &protocol.Release{Session: id, Name: "a", Request: session.SingleCall | 1})
	if said := d.vault.said(); said != "" {
		t.Errorf("it is a stream's now, and the space got %q", said)
	}
}

// TestEndedWhileItsStreamComes: a session that a call has brought here, and its space has ended since.
func TestEndedWhileItsStreamComes(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"})
	delete(d.vault.enrolled, id)
	if r := answered[*session.Renewed](d, d.call(2, protocol.Below, resumeOf(id))); r == nil || r.Err != session.ErrUnknown {
		t.Errorf("answered %+v", r)
	}
	if counted := answered[*session.Counted](d, d.call(1, protocol.Below, &session.Count{})); counted.Sessions != 0 {
		t.Errorf("%d sessions are here", counted.Sessions)
	}
}

// TestResumesRace: two streams of one session share the question; the later one has the session.
func TestResumesRace(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.vault.mute = true
	first, second := d.call(1, protocol.Below, resumeOf(id, 1)), d.call(2, protocol.Below, resumeOf(id, 1))
	wrong := d.call(3, protocol.Below, &session.Check{ID: id, Identity: "i"})
	if said := d.vault.said(); said != "adopt[1]" {
		t.Errorf("the space was asked %q", said)
	}
	d.release(vaultPort, 1)
	d.release(vaultPort, 2) // the beats
	for _, call := range []protocol.CallID{first, second} {
		if r := answered[*session.Renewed](d, call); r == nil || r.Err != nil {
			t.Errorf("answered %+v", r)
		}
	}
	if r := answered[*session.Renewed](d, wrong); r == nil || r.Err != session.ErrUnknown {
		t.Errorf("a client without the secret is answered %+v", r)
	}
	if answered[*session.Superseded](d, protocol.CallID{Sink: 1}) == nil {
		t.Error("the first stream gets no Superseded")
	}
	d.lock(2, vaultPort, id, 7, "a")
	if got := d.decided(2, 7); !slices.Equal(got, []lock.Kind{lock.Granted}) {
		t.Errorf("the second stream got %v", got)
	}
}

// TestRacingResumesDiffer: a stream that names more than the spaces were asked about has them asked again.
func TestRacingResumesDiffer(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.vault.mute = true
	first, second := d.call(1, protocol.Below, resumeOf(id, 1)), d.call(2, protocol.Below, resumeOf(id, 1, 2))
	d.release(vaultPort, 1)
	d.release(vaultPort, 2) // the beat of the first, and the second question
	d.release(vaultPort, 1) // the beat of the second
	for _, call := range []protocol.CallID{first, second} {
		if r := answered[*session.Renewed](d, call); r == nil || r.Err != nil {
			t.Errorf("answered %+v", r)
		}
	}
	if said := d.vault.said(); said != "adopt[1] beat adopt[1 2] beat" {
		t.Errorf("the space got %q", said)
	}
}

// TestLaterHelloHasSettledMore: a stream waits while the spaces are asked for its session, and its client says hello
// again and names less, because another member has refused a request meanwhile. The spaces are asked again: what comes
// of the request later is granted to no client. The same holds for a client that has given more numbers since, and has
// settled them all.
func TestLaterHelloHasSettledMore(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second session.Resume
		want          string
	}{
		{"less", session.Resume{Requests: []uint64{1, 2}, Last: 5}, session.Resume{Requests: []uint64{2}, Last: 5}, "adopt[1 2] beat adopt[2] beat"},
		{"later", session.Resume{Requests: []uint64{1}, Last: 5}, session.Resume{Requests: []uint64{1}, Last: 7}, "adopt[1] beat adopt[1] beat"},
		{"the same", session.Resume{Requests: []uint64{1}, Last: 5}, session.Resume{Requests: []uint64{1}, Last: 5}, "adopt[1] beat beat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newLasting(t, 7)
			id := d.elsewhere()
			d.vault.mute = true
			var calls []protocol.CallID
			for i, resume := range []session.Resume{c.first, c.second} {
				proven := resumeOf(id, resume.Requests...)
				proven.Last = resume.Last
				calls = append(calls, d.call(uint64(i+1), protocol.Below, proven))
			}
			for len(d.vault.waiting) > 0 {
				d.release(vaultPort, len(d.vault.waiting))
			}
			for i, call := range calls {
				if r := answered[*session.Renewed](d, call); r == nil || r.Err != nil {
					t.Errorf("hello %d is answered %+v", i+1, r)
				}
			}
			if said := d.vault.said(); said != c.want {
				t.Errorf("the space got %q, want %q", said, c.want)
			}
		})
	}
}

// TestGivenUpWhileItIsTakenOver: a space answers in the same moment that a session has ended in one of its shards, and
// that it lives in another one. With the first answer this member gives the session up there, so the second one is
// asked for again: what it says was true before that, and the session would be served by no member.
func TestGivenUpWhileItIsTakenOver(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 3, "a")
	d.vault.said()
	d.vault.mute, d.vault.expired = true, holdfast.SessionExpired
	renewal := d.call(1, protocol.Below, &session.Renew{ID: s.ID, Proven: true})
	back := d.call(2, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: []uint64{3}, Last: 5})
	d.release(vaultPort, 2)
	if r := answered[*session.Renewed](d, renewal); r == nil || r.Err != session.ErrUnknown {
		t.Errorf("the renewal is answered %+v", r)
	}
	if r := answered[*session.Renewed](d, back); r != nil {
		t.Errorf("the stream is answered %+v before the space is asked again", r)
	}
	d.vault.expired = nil
	d.release(vaultPort, 1) // the second question
	d.release(vaultPort, 1) // the beat
	if r := answered[*session.Renewed](d, back); r == nil || r.Err != nil {
		t.Errorf("the stream is answered %+v", r)
	}
	if said := d.vault.said(); said != "beat adopt[3] dismiss adopt[3] beat" {
		t.Errorf("the space got %q", said)
	}
}

// TestEndWhileItIsTakenOver: a client that comes after the end of a session does not bring it back.
func TestEndWhileItIsTakenOver(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.vault.mute = true
	end := d.call(1, protocol.Below, &session.End{ID: id, Secret: secretOf, Identity: "i"})
	late := d.call(2, protocol.Below, &session.Renew{ID: id, Secret: secretOf, Identity: "i"})
	d.release(vaultPort, 1)
	if e := answered[*session.Ended](d, end); e == nil || e.Err != nil {
		t.Errorf("answered %+v", e)
	}
	if r := answered[*session.Renewed](d, late); r == nil || r.Err != session.ErrUnknown {
		t.Errorf("answered %+v", r)
	}
	if said := d.vault.said(); said != "adopt[] end dismiss" {
		t.Errorf("the space got %q", said)
	}
}

// TestStreamGoesBeforeItsSessionComes: nothing is attached to a sink that is gone.
func TestStreamGoesBeforeItsSessionComes(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.vault.mute = true
	call := d.call(1, protocol.Below, resumeOf(id))
	d.call(1, protocol.Below, &session.Detach{})
	d.release(vaultPort, 1)
	if said := d.vault.said(); said != "adopt[] dismiss" || answered[*session.Renewed](d, call) != nil {
		t.Errorf("the space got %q", said)
	}
}

// TestLimitOfTakenOverSessions: what is taken over counts among the sessions, and what waits for that, too.
func TestLimitOfTakenOverSessions(t *testing.T) {
	d := newLastingOf(t, 7, 2)
	d.open(1, session.Stream, 0)
	id := d.elsewhere()
	d.vault.mute = true
	var calls []protocol.CallID
	for range 65 {
		calls = append(calls, d.call(1, protocol.Below, &session.Check{ID: id, Secret: secretOf, Identity: "i"}))
	}
	other := id
	other.Number++
	for _, call := range []protocol.CallID{calls[64], d.call(2, protocol.Below, resumeOf(other))} {
		if r := answered[*session.Renewed](d, call); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
			t.Errorf("one too many is answered %+v", r)
		}
	}
	var limit *holdfast.LimitError
	if opened := answered[*session.Opened](d, d.call(2, protocol.Below, &session.Open{Kind: session.Stream})); opened == nil || !errors.As(opened.Err, &limit) {
		t.Errorf("a new session is answered %+v", opened)
	}
	d.release(vaultPort, 1)
	for _, call := range calls[:64] {
		if r := answered[*session.Renewed](d, call); r == nil || r.Err != nil {
			t.Errorf("answered %+v", r)
		}
	}
	d.vault.mute = false
	if r := answered[*session.Renewed](d, d.call(2, protocol.Below, resumeOf(other))); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) {
		t.Errorf("with two sessions a third is answered %+v", r)
	}
}

// TestUnconfirmedSessionIsNotPromised: this member does not know what another one promised a session, so while nothing
// can be confirmed it promises no remainder.
func TestUnconfirmedSessionIsNotPromised(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.vault.mute = true
	call := d.call(1, protocol.Below, resumeOf(id))
	d.order(order{verb: "lease", span: 0})
	d.release(vaultPort, 1)
	if r := answered[*session.Renewed](d, call); r == nil || !errors.Is(r.Err, holdfast.ErrUnavailable) || r.TTL != 0 {
		t.Errorf("answered %+v", r)
	}
}

// TestRemainderCountsFromTheBeat: a session that comes back while nothing can be promised gets the remainder of what its
// spaces have confirmed.
func TestRemainderCountsFromTheBeat(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 1, "a")
	d.at(2500 * time.Millisecond)
	d.order(order{verb: "lease", span: 0})
	call := d.call(2, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i"})
	if r := answered[*session.Renewed](d, call); r == nil || r.Err != nil || r.TTL != 500*time.Millisecond {
		t.Errorf("enrolled 1.5 s ago for 2 s, and answered %+v", r)
	}
}

// TestStreamComesBackFromElsewhere: a stream that has asked for something at another member meanwhile has the spaces
// asked when it comes back to where its session still is, and so has one whose client has settled what they were asked
// about last; one that has done neither, does not.
func TestStreamComesBackFromElsewhere(t *testing.T) {
	d := newLasting(t, 7)
	s := d.open(1, session.Stream, 0)
	d.lock(1, vaultPort, s.ID, 3, "a")
	d.vault.said()
	back := func(last uint64, requests ...uint64) string {
		r := answered[*session.Renewed](d, d.call(2, protocol.Below, &session.Resume{ID: s.ID, Secret: s.Secret, Identity: "i", Requests: requests, Last: last}))
		if r == nil || r.Err != nil {
			t.Errorf("behind request %d it is answered %+v", last, r)
		}
		return d.vault.said()
	}
	for i, c := range []struct {
		last     uint64
		requests []uint64
		want     string
	}{
		{3, []uint64{3}, "beat"}, {5, []uint64{3}, "adopt[3] beat"}, {5, []uint64{3}, "beat"}, {6, []uint64{3}, "adopt[3] beat"},
		{6, nil, "adopt[] beat"}, {6, nil, "beat"},
	} {
		if said := back(c.last, c.requests...); said != c.want {
			t.Errorf("return %d, behind request %d: the space got %q, want %q", i+1, c.last, said, c.want)
		}
	}
}

// TestAnUnsureSpaceSaysWhy: where a space does not know whether it has a session the answer says why, and until when
// that lasts.
func TestAnUnsureSpaceSaysWhy(t *testing.T) {
	d := newLasting(t, 7)
	id := d.elsewhere()
	d.vault.err = &lock.Unavailable{Why: "m2 and m3 are missing", Left: 2 * time.Second}
	r := answered[*session.Renewed](d, d.call(1, protocol.Below, resumeOf(id)))
	var unavailable *holdfast.UnavailableError
	if r == nil || !errors.As(r.Err, &unavailable) || unavailable.Why != "whether the session lives is not known: m2 and m3 are missing" || unavailable.Until != 2*time.Second {
		t.Errorf("answered %+v", r)
	}
	d.vault.err = holdfast.ErrUnavailable
	r = answered[*session.Renewed](d, d.call(1, protocol.Below, resumeOf(id)))
	if r == nil || !errors.As(r.Err, &unavailable) || unavailable.Why != "whether the session lives is not known: no member that knows has answered" {
		t.Errorf("without a reason it is answered %+v", r)
	}
}
