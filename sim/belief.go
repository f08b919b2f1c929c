package sim

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What a client believes, and for how long. These are the rules of
// internal/client/session, cited by function, on the client's own clock:
//
//	Session.Renew, Alive   a session lives for the ttl of an answer, counted from when
//	                       what it answers was sent; once over it is over for good
//	Machine.onGranted      a lock's hold limit counts from when its request was first sent
//	Lock.expire            a lock has ended when the clock has passed either, looked at or not
//	Machine.onLost         what the authority takes ends at once; then that is said if it waits
//	Machine.onHoldEnd,     a lock whose name has a grace is not given back at its hold limit; its
//	Machine.stopped        unlock after that says that its holder has stopped
//	Machine.onReleased,    a release is repeated until it is acknowledged, a cancelled
//	Machine.cancel         request is cancelled until that is acknowledged

// presence is the client's side of a session.
type presence struct {
	client   *client
	id       lock.SessionID
	secret   session.Secret
	at       *process      // where it was opened or resumed last
	ttl      time.Duration // in the latest answer
	anchor   time.Duration // when what that answered was sent
	deadline time.Duration // when it ends; 0 before the first answer
	over     bool
	unknown  map[*process]bool // who says that they do not know it
	tenure   protocol.Tenure   // of its member, when it was opened

	taken      bool       // it was taken over from another client
	heirlooms  []*request // of that, to be given up
	generation uint64     // this client's, in the latest welcome
}

// renew takes an answer to what was sent at the time sent. What is over stays over.
func (p *presence) renew(now, sent, ttl time.Duration) bool {
	if protocol.Mutated("client deadline counted from receipt") {
		sent = now
	}
	if !p.alive(now) && p.deadline != 0 || p.over || now >= sent+ttl {
		p.over = true
		return false
	}
	p.deadline, p.ttl, p.anchor = sent+ttl, ttl, sent
	return true
}

// alive compares with the clock.
func (p *presence) alive(now time.Duration) bool { return !p.over && now < p.deadline }

// state says what a request is about, and so what to send after a break.
type state uint8

const (
	requested state = iota
	held
	limited // its hold limit has passed, and its name has a grace
	releasing
	cancelling
	settled
)

// request is one acquire and what became of it.
type request struct {
	client *client
	id     uint64
	want   wantedLock
	asker  asker

	state   state
	unsent  bool
	sent    time.Duration
	waitEnd time.Duration
	waiting bool // the authority has queued it, as far as known
	session *presence
	token   holdfast.Token
	holdEnd time.Duration
	bound   bound // while it is asked: of the grant that it may turn out to enter
	limit   limit // of its own extend, or of the one that it may have overtaken
	ended   bool  // the lock has ended by something else than the clock
	loss    holdfast.Loss
	copies  int
	quiet   bool
	grace   bool // its name stays taken for a while after its hold limit
	over    bool // that has ended it
	// outlived says that it is being unlocked, and its owner has asked for a limit of the same grant since.
	outlived bool
	extend   *extension
	behind   bool
	guard    time.Duration // wait limit, limit of a try, or hold limit
	late     bool          // the wait limit is over, and its grace runs
	refused  bool          // a member has refused it, or its release
}

// wantedLock is what a user wants locked, and how.
type wantedLock struct {
	name     string
	owner    string
	mode     holdfast.Mode
	units    int
	capacity int
	try      bool
	wait     time.Duration // 0 for no limit
	hold     time.Duration // 0 for none
}

// String shows what is wanted, without what is not asked for.
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
	return text
}

// bound is until when the grant with token may be believed in, by the last extend that went
// out before the answer to a request of the same owner came.
type bound struct {
	token holdfast.Token
	end   time.Duration
}

// limit is the hold limit that an extend asks for which is not answered: what enters the
// grant with token behind it is believed in for no longer after it was sent.
type limit struct {
	token holdfast.Token
	hold  time.Duration
}

// extension is a request for another hold limit.
type extension struct {
	hold   time.Duration
	unsent bool
	sent   time.Duration
	before time.Duration
}

// asker is told what became of a request.
type asker interface {
	granted(r *request)
	failed(r *request, err error)
	extended(r *request, err error)
}

// believes reports whether the holder of the lock takes itself for one: whether its
// context is not done when the clock shows now.
func (r *request) believes(now time.Duration) bool {
	return r.state == held && !r.ended && r.session.alive(now) && now < r.holdEnd
}

// believesAt is believes at a real instant, whether its process looks or not.
func (r *request) believesAt(at instant) bool {
	return r.client.up && r.believes(r.client.clock.read(at))
}

// grantOf is a lock as its holder knows it.
func grantOf(c *client, r *request) grant {
	return grant{
		name: r.want.name, mode: r.want.mode, units: r.want.units, capacity: r.want.capacity, token: r.token,
		session: r.session.id, request: r.id, who: c, holder: r,
	}
}

// after adds without passing the end of time.
func after(now, d time.Duration) time.Duration {
	if d > protocol.Never-now {
		return protocol.Never
	}
	return now + d
}
