package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Client is a [holdfast.Locker] over the network. Its own methods are those of the
// lockspace that option Space names.
type Client struct {
	settings  *settings
	clock     clock.Clock
	log       *slog.Logger
	addresses []api.Address
	number    uint64 // which client this is, beside others that resume its session

	ctx      context.Context // ends when Close has said goodbye
	stop     context.CancelFunc
	work     sync.WaitGroup // the goroutines
	retryNow chan struct{}  // do not wait before the next connection
	first    chan error     // gets the result of the first hello that was answered
	ended    chan struct{}  // closed when nothing of the session is left to end

	mu       sync.Mutex
	closing  bool
	taken    error // another client has taken the session over: what the member has said; nil otherwise
	over     bool  // ended is closed
	begun    bool  // first has its value
	started  time.Duration
	session  *session
	stream   *stream
	doubted  bool                  // the stream has not answered in time, and another is to be opened
	answers  answers               // how long heartbeats take to be answered
	attempts attemptLog            // why there is no connection
	contacts map[*contact]struct{} // to make one, under way
	requests map[uint64]*request
	reading  bool       // a frame is being taken: calls return when all of it was
	decided  []*request // by it
	outcomes sync.Pool  // of chan outcome
	lastID   uint64
	durable  []string // spaces that write their decisions to disks, as the member that was connected last has said
	extends  bool     // an Extend was called once: only then may a request overtake one
	unsent   int
	queue    []item
	head     int                      // of the queue
	beats    map[uint64]time.Duration // when those that are not answered were sent
	endID    uint64                   // of the end; 0 before it is sent

	releases int           // that a caller asked for and that are not acknowledged
	quiet    chan struct{} // closed when there are none
	refused  error         // the first release that was refused

	last       api.Address   // has answered last
	cluster    string        // the id of the cluster, as the first member has told it; "" where it tells none
	learned    []api.Address // of its members, beside the addresses that were given
	plain      bool          // a given address is among those that members have told
	sentAway   bool          // the member at the latest place does not serve, by its own word
	authority  string        // the address of the authority, as far as known
	redirected bool          // option Direct has been followed for the present session

	alarms   alarms
	deadline clock.Alarm
	late     clock.Alarm
	beat     clock.Alarm
	limit    clock.Alarm // of a Dial with patience
	refusal  clock.Alarm // of one whose addresses all refuse
}

var _ holdfast.Locker = (*Client)(nil)

// dialLimit bounds Dial where its context has no deadline.
const dialLimit = 5 * time.Second

// Dial connects to the first member of target that answers and opens a session
// there. The target is holdfast://HOST:PORT[,HOST:PORT…], the same without the
// scheme, or unix:///PATH; the port is 4040 where it is left out.
//
// ctx bounds Dial alone; without a deadline Dial gives up after 5 s. Until then it
// tries all addresses again and again, so a daemon that is just starting is waited
// for. Then the error is an ErrUnavailable that names the addresses and what was
// wrong with the last one. A member that refuses (ErrDenied, ErrLimit, an ErrLost
// for option Resume) ends Dial at once.
func Dial(ctx context.Context, target string, o ...Option) (*Client, error) {
	settings, err := resolve(o)
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	addresses, err := api.ParseTarget(target)
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := start(settings, addresses)
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialLimit)
		defer cancel()
	}
	select {
	case err = <-c.first:
	case <-ctx.Done():
		err = c.unreachable(ctx.Err())
	}
	if err != nil {
		c.stop()
		c.work.Wait()
		return nil, err
	}
	return c, nil
}

// start makes a Client and its goroutines.
func start(settings *settings, addresses []api.Address) *Client {
	c := build(settings, addresses)
	c.work.Add(2)
	go c.run()
	go c.keepTime()
	return c
}

// build makes a Client that no goroutine runs yet.
func build(settings *settings, addresses []api.Address) *Client {
	c := &Client{
		settings: settings, clock: settings.clock, log: settings.log, addresses: addresses,
		number:   max(1, rand.Uint64()),
		retryNow: make(chan struct{}, 1),
		first:    make(chan error, 1), ended: make(chan struct{}),
		requests: map[uint64]*request{}, beats: map[uint64]time.Duration{}, contacts: map[*contact]struct{}{},
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.outcomes.New = func() any { return make(chan outcome, 1) }
	c.alarms.timer = c.clock.NewTimer()
	c.deadline.Ring = c.onDeadline
	c.late.Ring = c.onLate
	c.beat.Ring = c.onBeat
	c.started = c.clock.Now()
	c.limit.Ring = c.giveUpDial
	c.refusal.Ring = c.giveUpDial
	if p := settings.patience; p > 0 {
		c.alarms.arm(&c.limit, after(c.started, p))
		c.alarms.arm(&c.refusal, after(c.started, refusedLimit))
	}
	if settings.resume {
		// The ids of the process that had the session before must not come again.
		c.lastID = rand.Uint64() >> 2
		c.session = &session{client: c, id: settings.session, secret: settings.secret}
	}
	return c
}

// unreachable is the error of a Dial whose time is over.
func (c *Client) unreachable(ended error) error {
	if errors.Is(ended, context.Canceled) {
		return ended
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts.unreachable("dial", nil)
}

// refusedLimit is how long Dial waits, with option Patience, for a first address that does not
// refuse the connection: a member that was started a moment ago listens by then.
const refusedLimit = 2 * time.Second

// giveUpDial ends a Dial with option Patience that waits in vain: no member has ever
// answered, and the patience is over, or all addresses have refused for long enough.
func (c *Client) giveUpDial() {
	if c.settings.patience == 0 || c.begun || c.attempts.heard {
		return
	}
	err := c.attempts.error(nil)
	waited := c.clock.Now() - c.started
	var unreachable *UnreachableError
	if waited >= c.settings.patience || waited >= refusedLimit && errors.As(err, &unreachable) && unreachable.Refused() {
		c.begun = true
		c.first <- &holdfast.Error{Op: "dial", Err: err}
	}
}

// Session returns the public id of the present session, "" while there is none.
func (c *Client) Session() string {
	return present(c, func(s *session) string { return s.id })
}

// Secret returns what proves to a member that the session is ours. It must not be
// shown to anybody.
func (c *Client) Secret() string {
	return present(c, func(s *session) string { return s.secret })
}

// TTL returns how long the present session lives after a heartbeat, as the server
// has answered last; 0 while there is none.
func (c *Client) TTL() time.Duration {
	return present(c, func(s *session) time.Duration { return s.ttl })
}

// TTLCut says why the present session lives for less than the option TTL asks for, in the server's words, as its latest
// answer has it: a heartbeat can be answered with less, or with more, than the one before. "" means that it does not.
func (c *Client) TTLCut() string {
	return present(c, func(s *session) string { return s.cut })
}

// Member returns the name of the member that has the present session.
func (c *Client) Member() string {
	return present(c, func(s *session) string { return s.member })
}

// Deadline returns when the present session ends unless it is renewed, on the clock of
// [holdfast.Lock.Deadline]: a lock of the session that ends sooner does so at its hold
// limit. It is 0 while there is no session.
func (c *Client) Deadline() time.Duration {
	return present(c, func(s *session) time.Duration { return s.Deadline() })
}

// present reads the present session.
func present[T any](c *Client, read func(*session) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		var none T
		return none
	}
	return read(c.session)
}

// closeLimit is how long Close waits for the end of its session to be acknowledged.
const closeLimit = time.Second

// closeLimitEmpty is how long it does where no member is connected and the session has nothing that would be
// freed: a call whose wait limit has ended there is followed by a Close, and the two together take less than
// half a second beyond that limit.
const closeLimitEmpty = 50 * time.Millisecond

// Close ends all locks with ErrClosed as their cause, and all waiting calls with
// ErrClosed. Then it ends the session, so that the names are free at once, and waits
// at most 1 s until that is acknowledged, or 50 ms where no member is connected and
// there is no name to free. If it is not, the error is an ErrUnavailable: the locks are
// free when the session expires. A second Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		c.work.Wait()
		return nil
	}
	c.closing = true
	limit := c.settings.goodbye
	if !c.connected() && !c.hasToFree() {
		limit = c.settings.goodbyeEmpty
	}
	for _, r := range c.requests {
		c.closeRequest(r)
	}
	if c.session == nil {
		c.finished()
	}
	c.push(sendEnd, nil)
	c.hasten()
	c.mu.Unlock()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	var err error
	select {
	case <-c.ended:
	case <-timer.C:
		err = &holdfast.Error{Op: "close", Err: fmt.Errorf(
			"%w: the end of session %s was not acknowledged; its locks are free when it expires",
			holdfast.ErrUnavailable, c.Session())}
	}
	c.stop()
	c.work.Wait()
	c.mu.Lock()
	if c.session != nil {
		c.session.end()
	}
	for _, r := range c.requests {
		c.settleUnacknowledged(r, holdfast.ErrUnavailable)
	}
	c.mu.Unlock()
	return err
}

// hasToFree reports whether the session has names that its end would free.
func (c *Client) hasToFree() bool {
	for _, r := range c.requests {
		if r.state == held || r.state == ended || r.state == releasing {
			return true
		}
	}
	return false
}

// closeRequest ends what a request still is about. A release that a caller asked for is
// not settled before it is known what became of the session's end, which does for it
// too: Settle may be waiting for that.
func (c *Client) closeRequest(r *request) {
	c.endRequest(r, holdfast.ErrClosed)
	if r.state != releasing || r.quiet {
		c.settle(r)
	}
}

// endRequest ends the call that waits for a request, or the lock that it was granted.
func (c *Client) endRequest(r *request, why error) {
	switch r.state {
	case requested:
		c.finish(r, nil, r.fail(opLock, why))
	case held:
		r.lock.End(why)
		r.finishExtend(r.fail("extend", why))
	}
}

// settleUnacknowledged forgets a request whose release will not be acknowledged any
// more, if it has one that a caller asked for.
func (c *Client) settleUnacknowledged(r *request, why error) {
	if r.state == releasing && !r.quiet {
		c.failRelease(r, r.fail("unlock", why))
	}
	c.settle(r)
}

// finished lets Close return.
func (c *Client) finished() {
	if !c.over {
		c.over = true
		close(c.ended)
	}
}

// onEnded is called when the server has acknowledged the end of the session, once or
// twice: by an answer, and by closing the stream.
func (c *Client) onEnded() {
	if c.session != nil {
		c.session.end()
		c.session = nil
	}
	for _, r := range c.requests { // releases: they ended with the session
		c.settle(r)
	}
	c.finished()
}

// hasten ends the pause before the next connection.
func (c *Client) hasten() {
	select {
	case c.retryNow <- struct{}{}:
	default:
	}
}

// onDeadline is called when the session's deadline has passed.
func (c *Client) onDeadline() {
	if s := c.session; s != nil && !s.alive() {
		c.lose(s)
	}
}

// lose ends a session that has expired or that the server does not know any more.
// Its locks are lost. What still waits is asked for again in the next one.
func (c *Client) lose(s *session) {
	if s == nil || c.session != s {
		return
	}
	s.end()
	c.session, c.redirected = nil, false
	c.log.Warn("the session is lost", "session", s.id, "requests", len(c.requests))
	for _, r := range c.requests {
		c.loseRequest(r)
	}
	if c.closing {
		c.finished()
	}
	c.hangUp()
	c.hasten()
}

// onTakenOver ends this Client, because a member has said that another Client has resumed its session: what it
// holds is the other one's now. It asks for nothing any more, and does not connect again.
func (c *Client) onTakenOver(s *session, said error) {
	if s == nil || c.session != s {
		return
	}
	c.log.Warn("the session was taken over by another client", "session", s.id, "requests", len(c.requests))
	var opErr *holdfast.Error
	if c.taken = said; errors.As(said, &opErr) {
		c.taken = opErr.Err
	}
	for _, r := range c.requests {
		c.endRequest(r, c.taken)
		c.settleUnacknowledged(r, c.taken)
	}
	s.end()
	c.session = nil
	c.finished()
	c.hangUp()
	c.hasten()
}

func (c *Client) loseRequest(r *request) {
	if r.state == requested {
		r.waiting = false
		if !r.unsent {
			r.unsent = true
			c.unsent++
		}
		return
	}
	c.endRequest(r, holdfast.SessionExpired)
	c.settleUnacknowledged(r, holdfast.SessionExpired)
}

// onLate is called when the session's heartbeats have not been acknowledged for half
// of its ttl, or for longer where answers take long (answers.lateAfter). Another stream is opened then; but the one that
// there is goes on until that is welcomed: the answer may be under way, or may have come already, to a process
// that could not read it. One that has stalled looks again before (session.lookAgain): that it has read no answer says
// little about the member, and thousands of further connections would stall it for longer. Where this process did not
// run for so long that the session has ended, that is told instead, by the alarm of the deadline, which is due as well.
func (c *Client) onLate() {
	s := c.session
	if s == nil || s.deadline.Load() == 0 || !s.alive() {
		return
	}
	now := s.Now()
	if again := s.lookAgain(now); c.alarms.lag >= stalled && again > now {
		c.alarms.arm(&c.late, again)
		return
	}
	remaining := s.Deadline() - now
	c.log.Warn("no heartbeat is acknowledged", "session", s.id, "remaining", remaining)
	if c.settings.late != nil {
		go c.notifyLate(s, s.deadline.Load())
	}
	if c.doubted = c.stream != nil; c.doubted {
		c.settings.links.doubt(c.stream.link)
	}
	c.hasten()
}

// notifyLate calls what OnLate has set, unless the session was renewed, or has ended,
// before this goroutine came to run.
func (c *Client) notifyLate(s *session, deadline int64) {
	if remaining := time.Duration(deadline) - s.Now(); s.deadline.Load() == deadline {
		c.settings.late(remaining)
	}
}

// onBeat sends a heartbeat.
func (c *Client) onBeat() {
	if c.session != nil && c.stream != nil {
		c.push(sendBeat, nil)
		c.alarms.arm(&c.beat, c.stream.link.nextBeat(c.clock.Now(), c.session.ttl))
	}
}
