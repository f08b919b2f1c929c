package sim

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// presence is the client's side of a session, which backs its locks.
type presence struct {
	*clientsession.Session
	client  *client
	id      lock.SessionID
	secret  session.Secret
	at      *process        // the member at which it was opened or resumed last
	tenure  protocol.Tenure // of its member, when it was opened
	unlocks *request        // the request whose lock is being unlocked

	taken     bool       // taken over from another client
	heirlooms []*request // requests inherited with it, to be given up
}

// newPresence makes the client's side of a session opened by a member.
func newPresence(c *client, s *clientsession.Session) *presence {
	p := &presence{Session: s, client: c}
	id, known := lock.ParseSessionID(s.ID)
	if _, err := hex.Decode(p.secret[:], []byte(s.Secret)); err != nil || !known {
		panic(fmt.Sprintf("sim: a session %q with the secret %q", s.ID, s.Secret))
	}
	p.id = id
	return p
}

// Now reads the client's clock, and ends the session if its deadline has passed.
func (p *presence) Now() time.Duration {
	now := p.client.now()
	p.Look(now)
	return now
}

// UnlockLock queues the release of a lock; the outcome comes as an effect.
func (p *presence) UnlockLock(_ context.Context, l *holdfast.Lock) error { return p.QueueUnlock(l) }

// QueueUnlock queues the release of a lock, as package client does.
func (p *presence) QueueUnlock(l *holdfast.Lock) error {
	s, r := &p.client.stream, p.unlocks
	ev := clientsession.Event{Kind: clientsession.Unlock, Request: &r.Request, Token: l.Token()}
	switch state := r.State(); {
	case (state == clientsession.Settled || state == clientsession.Ended) && s.session == p && holdfast.Why(l.Check()) == holdfast.HoldLimit:
		ev.Stopped = true
	case state != clientsession.Held:
		return holdfast.ErrNotHeld
	}
	s.step(ev)
	return nil
}

// ExtendLock is never called: a user asks for another hold limit with extendTo, and does not wait.
func (p *presence) ExtendLock(context.Context, *holdfast.Lock, time.Duration) error {
	panic("sim: a user waits for an extend")
}

// ObserveLock is never called.
func (p *presence) ObserveLock(context.Context, *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	panic("sim: a user waits for the states of a name")
}

// AmendLock is never called: a user amends a grant with amend, and does not wait.
func (p *presence) AmendLock(context.Context, *holdfast.Lock, holdfast.Amendment) error {
	panic("sim: a user waits for an amendment")
}

// aliveAt compares with the clock's reading at another moment, without effects.
func (p *presence) aliveAt(now time.Duration) bool {
	deadline := p.Deadline()
	return now < deadline && p.LivesUntil(deadline)
}

// request is one acquire and its outcome.
type request struct {
	clientsession.Request
	client *client
	want   wantedLock
	asker  asker

	sentIn  *presence // the latest session in which it was sent
	again   bool      // it was sent in an earlier session, too
	session *presence // in which it was granted
	lock    *holdfast.Lock
	ended   bool // the lock was ended by something other than the clock
	copies  int  // number of releases sent
	// outlived reports that the request is being unlocked while its owner has asked for a new limit of the same grant.
	outlived bool
}

// hold makes the lock for a grant.
func (r *request) hold(p *presence) {
	r.session = p
	r.lock = holdfast.NewLock(holdfast.Grant{
		Space: r.Space, Name: r.Want.Name, Owner: r.Want.Owner, Shape: r.Want.Shape, Token: r.Token(), Grace: r.Grace(),
	}, r.ID, r.HoldEnd(), p, context.Background())
}

// wantedLock describes the lock that a user wants.
type wantedLock struct {
	name     string
	owner    string
	mode     holdfast.Mode
	units    int
	capacity int
	try      bool
	wait     time.Duration // 0 for no limit
	hold     time.Duration // 0 for none
	value    string
	deadlock holdfast.DeadlockPolicy
}

// String shows the wanted lock without its defaults.
func (w wantedLock) String() string {
	text := fmt.Sprintf("%q %s", w.name, w.mode)
	if w.units != 0 {
		text += fmt.Sprintf(" %d of %d units", w.units, w.capacity)
	}
	if w.owner != "" {
		text += fmt.Sprintf(" as %q", w.owner)
	}
	if w.try {
		text += ", now or not at all"
	}
	if w.wait != 0 {
		text += fmt.Sprintf(", within %v", w.wait)
	}
	if w.hold != 0 {
		text += fmt.Sprintf(", for %v at most", w.hold)
	}
	if w.deadlock != holdfast.Ignore {
		text += ", and would rather fail than wait in a deadlock"
	}
	return text
}

// request is the corresponding request to package client.
func (w *wantedLock) request() holdfast.Request {
	return holdfast.Request{
		Name: w.name, Try: w.try, Wait: w.wait,
		Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: w.mode, Units: w.units, Capacity: w.capacity}, Owner: w.owner, Hold: w.hold, Value: w.value, Deadlock: w.deadlock},
	}
}

// asker receives the outcome of a request.
type asker interface {
	granted(r *request)
	failed(r *request, err error)
	extended(r *request, err error)
}

// believes reports whether the holder believes that it holds the lock, and lets it check its clock.
func (r *request) believes(now time.Duration) bool {
	return r.lock != nil && !r.ended && r.session.Alive(now) && now < r.lock.Deadline()
}

// over reports whether the hold limit has ended the lock while its name has a grace.
func (r *request) over() bool {
	return r.lock != nil && r.Grace() && holdfast.Why(r.lock.Check()) == holdfast.HoldLimit
}

// believesAt reports whether the holder believes at a real instant that it holds the lock, even if its process does not
// run.
func (r *request) believesAt(at instant) bool {
	now := r.client.clock.read(at)
	return r.client.up && r.lock != nil && !r.ended && r.session.aliveAt(now) && now < r.lock.Deadline()
}

// release is the release of the request's lock by a user that does not know the session's machine.
func (r *request) release() operation {
	return operation{Operation: releaseOf(r.ID, r.want.name, r.Token())}
}

func releaseOf(id uint64, name string, token holdfast.Token) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Release{Release: &schema.Release{Name: name, Token: uint64(token)}}}
}

// grantOf is a lock as its holder knows it.
func grantOf(c *client, r *request) grant {
	return grant{
		name: r.want.name, mode: r.want.mode, units: r.want.units, capacity: r.want.capacity, token: r.lock.Token(),
		session: r.session.id, request: r.ID, who: c, holder: r,
	}
}
