package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Bounds of what is sent. A frame stays far below what a server takes by default.
const (
	maxUnsent          = 100_000 // acquires that no stream has taken yet
	maxFrameOperations = 512
	maxFrameBytes      = 1 << 20
	operationBytes     = 96 // what an operation takes beyond its texts, at most
)

// tryLimit is how long TryLock waits for a decision.
const tryLimit = 5 * time.Second

// waitGrace is how long a call waits, beyond its wait limit, for the refusal of the authority,
// which says why nothing was granted. A wait limit is kept to within half a second: members
// allow their authority less than this (lock.WaitGrace), and the rest is for what runs late. A
// context whose deadline has passed is returned sooner (contextGrace).
const (
	waitGrace    = 400 * time.Millisecond
	contextGrace = 250 * time.Millisecond
)

// state says what a request is about, and so what to send after a break.
type state uint8

const (
	requested  state = iota // a call waits for the answer
	held                    // the caller has the lock
	ended                   // the lock has ended here; Close tells the authority
	releasing               // the lock has ended here; the authority must hear of it
	cancelling              // the call gave up; a grant that crosses that is released
	settled                 // nothing is left to do; it is no longer in the table
)

// request is one acquire and what became of it. The Client's mutex guards it but
// for the channels, and what never changes.
type request struct {
	id      uint64
	space   string
	want    holdfast.Request
	values  context.Context
	waitEnd time.Duration // clock.Never without a wait limit
	waits   bool          // that is the end of its context, which ends the call by itself

	state    state
	unsent   bool          // no stream of the present session has taken the acquire
	sent     time.Duration // when the first one took it
	waiting  bool          // the authority has queued it behind a holder, as far as known
	notified bool          // Queued has been called
	lock     *holdfast.Lock
	holdEnd  time.Duration // the end of its hold limit, or holdfast.Forever
	grace    bool          // its name stays taken for a while after that
	bound    bound         // while it is asked: of the grant that it may turn out to enter
	limit    limit         // of its own extend, or of the one that it may have overtaken
	loss     holdfast.Loss // the authority has ended the grant while it was released
	copies   int           // how often the release was sent
	quiet    bool          // no caller asked for the release: its result is no news
	unlocks  bool          // a call of Unlock waits for the result of the release
	refusal  error         // why the release was refused, for that call
	refused  bool          // a member has refused the acquire, or its release
	extend   *extension
	behind   bool        // the present stream owes the answer to an extend
	guard    clock.Alarm // wait limit or limit of a try, then hold limit

	result  outcome       // what the call returns, once it is decided
	outcome chan outcome  // gets it, once; another one gets what Unlock returns
	queued  chan int      // gets the position, once; nil where no caller wants it
	gone    chan struct{} // closed when it is settled; nil where no call waits for that
}

// bound is until when the grant with token may be believed in, by the last extend that
// went out before the answer to a request of the same owner came.
type bound struct {
	token holdfast.Token
	end   time.Duration
}

// limit is the hold limit that an extend asks for which is not answered. It may come to the authority behind a request that
// was sent later, and that enters the grant with token: so that is believed in for no longer than hold after it
// was sent, unless it is told less.
type limit struct {
	token holdfast.Token // 0 for none
	hold  time.Duration
}

// outcome is what a call returns.
type outcome struct {
	lock *holdfast.Lock
	err  error
}

// extension is a call that wants another hold limit.
type extension struct {
	hold   time.Duration
	unsent bool
	sent   time.Duration
	before time.Duration // the end of the old limit
	answer chan error
	done   chan struct{} // closed when it is answered
}

func (r *request) fail(op string, err error) error {
	return &holdfast.Error{Op: op, Space: r.space, Name: r.want.Name, Err: err}
}

// finish lets the call return: at once, or with the others of the frame that is being
// read, see onFrame.
func (c *Client) finish(r *request, lock *holdfast.Lock, err error) {
	if c.reading {
		r.result = outcome{lock, err}
		c.decided = append(c.decided, r)
		return
	}
	r.outcome <- outcome{lock, err}
}

// finishExtend lets a call of Extend return.
func (r *request) finishExtend(err error) {
	if r.extend != nil {
		r.extend.answer <- err
		close(r.extend.done)
		r.extend = nil
	}
}

// kind is what an item of the queue sends.
type kind uint8

const (
	sendAcquire kind = iota
	sendRelease
	sendCancel
	sendExtend
	sendBeat
	sendEnd
)

// item is one thing to send. What has become moot meanwhile is skipped.
type item struct {
	kind    kind
	request *request
}

// enter puts a new request into the table and its acquire into the queue.
func (c *Client) enter(ctx context.Context, space string, want holdfast.Request, end time.Duration) (*request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &request{
		space: space, want: want, values: ctx, waitEnd: end, unsent: true,
	}
	switch {
	case c.closing:
		return nil, r.fail(opLock, holdfast.ErrClosed)
	case c.taken != nil:
		return nil, r.fail(opLock, c.taken)
	case c.unsent >= maxUnsent:
		return nil, r.fail(opLock, &holdfast.LimitError{Limit: "client_queue", Value: maxUnsent})
	}
	r.outcome = c.outcomes.Get().(chan outcome)
	if want.Queued != nil {
		r.queued = make(chan int, 1)
	}
	if c.extends && want.Owner != "" {
		c.inherit(r)
	}
	c.lastID++
	r.id = c.lastID
	c.requests[r.id] = r
	c.unsent++
	c.limitWait(r)
	c.push(sendAcquire, r)
	return r, nil
}

// waitEnd is when the wait of a call ends that is made now, by its own limit: one moment,
// even if the connection or the authority is lost before then, and for all the names of a
// LockAll together.
func (c *Client) waitEnd(want *holdfast.Request) time.Duration {
	switch {
	case want.Wait > 0:
		return after(c.clock.Now(), want.Wait)
	case want.Try:
		return after(c.clock.Now(), tryLimit)
	}
	return clock.Never
}

// clearlySooner is by how much the deadline of a context has to be before a wait limit to
// count in its place. A caller that gives both the same length means that limit.
const clearlySooner = time.Second

// limitWait sets the guard of a call, at its wait limit. The authority knows that, or the
// deadline of the call's context where that is clearly sooner: it says who holds the name
// then, as no context does.
func (c *Client) limitWait(r *request) {
	if deadline, bounded := r.values.Deadline(); bounded && !r.want.Try {
		if end := after(c.clock.Now(), max(0, time.Until(deadline))); after(end, clearlySooner) < r.waitEnd {
			r.waitEnd, r.waits = end, true
			return
		}
	}
	switch {
	case r.want.Try && r.want.Wait == 0:
		// The limit is ours, and what is said of it here comes behind the authority's word.
		r.guard.Ring = func() { c.giveUp(r, c.whyWaited(r)) }
		c.alarms.arm(&r.guard, r.waitEnd)
		r.waitEnd -= waitGrace
	case r.waitEnd != clock.Never:
		r.guard.Ring = func() { c.onWaitEnd(r) }
		c.alarms.arm(&r.guard, r.waitEnd)
	}
}

// after adds without passing the end of time.
func after(now, d time.Duration) time.Duration {
	if d > clock.Never-now {
		return clock.Never
	}
	return now + d
}

// onWaitEnd ends a call whose wait limit has passed: at once where no member is connected
// that could say why nothing was granted.
func (c *Client) onWaitEnd(r *request) {
	if !c.mayAnswer(r) {
		c.giveUp(r, c.whyWaited(r))
		return
	}
	r.guard.Ring = func() { c.giveUp(r, c.whyWaited(r)) }
	c.alarms.arm(&r.guard, after(r.waitEnd, waitGrace))
}

// mayAnswer reports whether a member that is connected has the request, or is about to.
func (c *Client) mayAnswer(r *request) bool { return c.connected() && r.state == requested }

// whyWaited says why a wait limit ended without a lock, as far as is known here.
func (c *Client) whyWaited(r *request) error {
	switch {
	case r.waiting:
		return holdfast.ErrHeld
	case c.connected():
		return fmt.Errorf("%w: %s has not said what became of the request", holdfast.ErrUnavailable, c.stream.place)
	case len(c.attempts.attempts) > 0:
		return c.attempts.error(nil)
	}
	return fmt.Errorf("%w: the connection to %s has ended", holdfast.ErrUnavailable, c.last)
}

// awaitOutcome waits, beyond the deadline of a call's context, for the word of the authority.
func (c *Client) awaitOutcome(r *request) (got outcome, decided bool) {
	c.mu.Lock()
	may := r.waits && c.mayAnswer(r)
	c.mu.Unlock()
	if !may {
		return outcome{}, false
	}
	timer := time.NewTimer(contextGrace)
	defer timer.Stop()
	select {
	case got = <-r.outcome:
		return got, true
	case <-timer.C:
		return outcome{}, false
	}
}

// whyEnded joins the error of a context that has ended a call with what the authority has
// said about it by then.
func (c *Client) whyEnded(r *request, reason error) error {
	if r.waits && (errors.Is(reason, holdfast.ErrHeld) || errors.Is(reason, holdfast.ErrUnavailable) && c.clock.Now() >= r.waitEnd) {
		return fmt.Errorf("%w: %w", reason, context.DeadlineExceeded)
	}
	return reason
}

// giveUp ends a call that still waits with err, and cancels its request.
func (c *Client) giveUp(r *request, err error) {
	if r.state == requested {
		c.finish(r, nil, r.fail(opLock, err))
		c.cancel(r)
	}
}

// abandon is called when the context of a call has ended. A grant that has come
// already is released.
func (c *Client) abandon(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.state {
	case requested:
		c.cancel(r)
	case held:
		r.lock.End(holdfast.ErrNotHeld)
		r.quiet = true
		c.release(r)
	}
}

// cancel ends a request for good. One that no stream has taken is just forgotten.
func (c *Client) cancel(r *request) {
	c.alarms.disarm(&r.guard)
	if r.unsent {
		c.settle(r)
		return
	}
	r.state = cancelling
	c.push(sendCancel, r)
}

// cancelRefused cancels each request that the hello of a contact has listed and that another member has refused before its welcome.
// The member that answers takes the request for one that this Client still wants. What the other one had asked for may be granted
// later, and no Client would give the lock back. The table keeps such a request until the cancel is acknowledged, so each later
// hello lists it, and each stream begins with its cancel.
func (c *Client) cancelRefused(a *contact) {
	for _, r := range a.listed {
		if r.refused && r.state == settled && c.requests[r.id] == nil && !c.closing {
			c.requests[r.id] = &request{id: r.id, space: r.space, want: holdfast.Request{Name: r.want.Name}, state: cancelling}
		}
	}
	a.listed = nil
}

// release tells the authority that a lock has ended.
func (c *Client) release(r *request) {
	c.alarms.disarm(&r.guard)
	r.finishExtend(r.fail("extend", holdfast.ErrNotHeld))
	r.state = releasing
	if !r.quiet {
		c.releases++
	}
	c.push(sendRelease, r)
}

// concede tells the authority that a lock has ended which the caller has not
// unlocked; with option KeepLost that is left to Close.
func (c *Client) concede(r *request) {
	if c.settings.keep {
		c.alarms.disarm(&r.guard)
		r.state = ended
		return
	}
	r.quiet = true
	c.release(r)
}

// settle forgets a request.
func (c *Client) settle(r *request) {
	if r.state == settled {
		return
	}
	c.alarms.disarm(&r.guard)
	if r.unsent {
		r.unsent = false
		c.unsent--
	}
	if r.state == releasing && !r.quiet {
		c.releases--
		if c.releases == 0 && c.quiet != nil {
			close(c.quiet)
			c.quiet = nil
		}
	}
	r.state = settled
	delete(c.requests, r.id)
	if r.unlocks {
		c.finish(r, nil, r.refusal)
	}
	if r.gone != nil {
		close(r.gone)
	}
}

// push queues an item, if there is a stream: what is to be sent on the next one is
// read off the states.
func (c *Client) push(kind kind, r *request) {
	if c.stream == nil {
		return
	}
	c.queue = append(c.queue, item{kind, r})
	select {
	case c.stream.wake <- struct{}{}:
	default:
	}
}

// refill queues all that is not settled, in the order of the ids, for a new stream.
func (c *Client) refill() {
	c.queue, c.head = nil, 0
	if c.closing {
		c.push(sendEnd, nil)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(c.requests)) {
		r := c.requests[id]
		r.behind = false
		switch {
		case r.state == requested:
			c.push(sendAcquire, r)
		case r.state == releasing:
			c.push(sendRelease, r)
		case r.state == cancelling:
			c.push(sendCancel, r)
		case r.extend != nil:
			c.push(sendExtend, r)
		}
	}
}

// fill takes the next frame for a stream off the queue. It reports false if nothing is to
// be sent on it.
func (c *Client) fill(frame *frame, on *stream) bool {
	frame.empty()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream != on || c.head == len(c.queue) {
		return false // another has the queue, or it is empty
	}
	size := 0
	now := c.clock.Now()
	for c.head < len(c.queue) && frame.used < maxFrameOperations && size < maxFrameBytes-4*holdfast.MaxText {
		next := c.queue[c.head]
		c.queue[c.head] = item{}
		c.head++
		if c.operation(frame, next, now); next.request != nil {
			r := next.request
			size += operationBytes + len(r.space) + len(r.want.Name) + r.want.TextBytes()
		}
	}
	c.compact()
	return frame.used > 0
}

// compact takes what was sent out of the queue's memory once that is most of it: a
// queue that is never empty must not grow by what has left it.
func (c *Client) compact() {
	if c.head > len(c.queue)/2 {
		rest := copy(c.queue, c.queue[c.head:])
		clear(c.queue[rest:])
		c.queue, c.head = c.queue[:rest], 0
	}
}
