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
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Client is a [holdfast.Locker] over the network. Its own methods use the lockspace of option Space.
type Client struct {
	settings *settings
	clock    clock.Clock
	log      *slog.Logger

	ctx   context.Context // ends when Close has sent its goodbye
	stop  context.CancelFunc
	work  sync.WaitGroup // the goroutines
	first chan error     // receives the result of the first hello that was answered
	ended chan struct{}  // closed when nothing of the session is left to end

	mu       sync.Mutex
	started  time.Duration
	machine  *session.Machine
	now      time.Duration   // the latest reading of the clock
	effects  session.Effects // of the step in progress
	session  *backing        // the machine's session
	stream   *contact        // the stream being served
	attempts attemptLog      // why there is no connection
	reading  bool            // a frame is being processed: calls return after all of it
	decided  []*request      // by that frame
	outcomes sync.Pool       // of chan outcome
	durable  []string        // spaces that write their decisions to disk, as reported by the latest connected member

	quiet   chan struct{} // closed when no release requested by a caller is left; nil if no call waits for that
	refused error         // the first refused release

	alarms  alarms
	due     clock.Alarm   // of the machine
	wakes   time.Duration // when that rings
	limit   clock.Alarm   // of a Dial with patience
	refusal clock.Alarm   // of a Dial whose addresses all refuse
}

var (
	_ holdfast.Locker   = (*Client)(nil)
	_ holdfast.Observer = (*Client)(nil)
	_ holdfast.Observer = (*space)(nil)
)

// dialLimit is Dial's time limit if its context has no deadline.
const dialLimit = 5 * time.Second

// Dial connects to the first member of target that answers and opens a session there. The target is
// holdfast://HOST:PORT[,HOST:PORT…], the same without the scheme, or unix:///PATH; the default port is 4040.
//
// ctx limits Dial only; without a deadline Dial gives up after 5 s. Until then it keeps trying all addresses, so it
// waits for a daemon that is just starting. After that the error is an ErrUnavailable that names the addresses and the
// last failure. A member's refusal (ErrDenied, ErrLimit, an ErrLost for option Resume) ends Dial at once.
func Dial(ctx context.Context, target string, o ...Option) (*Client, error) {
	settings, err := resolve(o)
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	addresses, err := api.ParseTarget(target)
	if err == nil {
		err = settings.checkToken(addresses)
	}
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
		err = c.overdue(ctx.Err())
	}
	if err != nil {
		c.stop()
		c.work.Wait()
		return nil, err
	}
	return c, nil
}

// start returns a new Client and starts its goroutines.
func start(settings *settings, addresses []api.Address) *Client {
	c := build(settings, addresses)
	c.work.Go(c.keepTime)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(session.Event{Kind: session.Begin})
	return c
}

// build returns a new Client without goroutines.
func build(settings *settings, addresses []api.Address) *Client {
	c := &Client{
		settings: settings, clock: settings.clock, log: settings.log,
		first: make(chan error, 1), ended: make(chan struct{}),
		wakes: clock.Never,
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.outcomes.New = func() any { return make(chan outcome, 1) }
	c.alarms.timer = c.clock.NewTimer()
	c.due.Ring = c.tick
	c.started = c.clock.Now()
	c.limit.Ring = c.giveUpDial
	c.refusal.Ring = c.giveUpDial
	if p := settings.patience; p > 0 {
		c.alarms.arm(&c.limit, session.After(c.started, p))
		c.alarms.arm(&c.refusal, session.After(c.started, refusedLimit))
	}
	config := session.Config{
		TTL: settings.ttl, Name: settings.name, Number: settings.number, Keep: settings.keep,
		Addresses: addresses, Direct: settings.direct, Jitter: settings.jitter,
	}
	if settings.resume {
		// The ids of the process that previously had the session must not be reused.
		config.LastID = rand.Uint64() >> 2
		config.Resume = &session.Session{ID: settings.session, Secret: settings.secret}
		c.session = &backing{client: c, Session: config.Resume}
	}
	c.machine = session.New(config)
	return c
}

// overdue returns Dial's result after its context has ended: the outcome, if there is one by now.
func (c *Client) overdue(ended error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case err := <-c.first:
		return err
	default:
	}
	if errors.Is(ended, context.Canceled) {
		return ended
	}
	return c.attempts.unreachable("dial", nil)
}

// refusedLimit is how long Dial waits, with option Patience, for a first address that does not refuse the connection: a
// member that has just been started listens by then.
const refusedLimit = 2 * time.Second

// giveUpDial ends a Dial with option Patience once no member has answered within the patience, or all addresses have
// refused for long enough.
func (c *Client) giveUpDial() {
	if c.settings.patience == 0 || c.machine.Begun() || c.attempts.heard {
		return
	}
	err := c.attempts.error(nil)
	waited := c.clock.Now() - c.started
	var unreachable *UnreachableError
	if waited >= c.settings.patience || waited >= refusedLimit && errors.As(err, &unreachable) && unreachable.Refused() {
		c.begin(&holdfast.Error{Op: "dial", Err: err})
	}
}

// begin makes Dial return, once.
func (c *Client) begin(err error) {
	select {
	case c.first <- err:
	default: // Dial has returned
	}
}

// Session returns the public id of the current session, or "" if there is none.
func (c *Client) Session() string {
	return present(c, func(s *backing) string { return s.ID })
}

// Secret returns the secret that proves ownership of the session to a member. Keep it secret.
func (c *Client) Secret() string {
	return present(c, func(s *backing) string { return s.Secret })
}

// TTL returns how long the current session lives after a heartbeat, from the server's latest answer; 0 if there is
// none.
func (c *Client) TTL() time.Duration {
	return present(c, func(s *backing) time.Duration { return s.TTL })
}

// TTLCut returns the server's reason why the current session lives for less than option TTL requests, from its latest
// answer: each heartbeat's answer can raise or lower the ttl. "" means that it is not shortened.
func (c *Client) TTLCut() string {
	return present(c, func(s *backing) string { return s.Cut })
}

// Member returns the name of the member that has the current session.
func (c *Client) Member() string {
	return present(c, func(s *backing) string { return s.Member })
}

// Deadline returns when the current session ends unless renewed, on the clock of [holdfast.Lock.Deadline]: a lock of
// the session can end sooner only at its hold limit. It is 0 while there is no session.
func (c *Client) Deadline() time.Duration {
	return present(c, func(s *backing) time.Duration { return s.Deadline() })
}

// present reads from the current session.
func present[T any](c *Client, read func(*backing) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		var none T
		return none
	}
	return read(c.session)
}

// closeLimitEmpty is Close's wait if no member is connected and the session has nothing to free. A call that reaches
// its wait limit is then typically followed by a Close, and the two together take less than half a second beyond that
// limit.
const closeLimitEmpty = 50 * time.Millisecond

// Close ends all locks with cause ErrClosed, and all waiting calls with ErrClosed. Then it ends the session, which
// frees the names at once, and waits for the acknowledgement: at most 1 s, or 50 ms if no member is connected and there
// is no name to free. Without one the error is an ErrUnavailable: the locks are free when the session expires. A second
// Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	limit := c.settings.goodbye
	if !c.machine.Connected() && !c.machine.HasToFree() {
		limit = c.settings.goodbyeEmpty
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return c.shutDown(ctx)
}

// Shutdown is Close that waits for the acknowledgement until ctx ends, and then returns the error that Settle would: that
// of the first release refused. The acknowledgement covers all releases that UnlockAsync has queued, so a program that
// ends need not wait for each of them: it calls Shutdown instead of Settle and Close.
func (c *Client) Shutdown(ctx context.Context) error {
	if err := c.shutDown(ctx); err != nil {
		return err
	}
	return c.Settle(ctx)
}

// shutDown ends the session, and waits for the acknowledgement until ctx ends.
func (c *Client) shutDown(ctx context.Context) error {
	c.mu.Lock()
	if c.machine.Closing() {
		c.mu.Unlock()
		c.work.Wait()
		return nil
	}
	c.step(session.Event{Kind: session.Close})
	c.mu.Unlock()
	var err error
	select {
	case <-c.ended:
	case <-ctx.Done():
		err = &holdfast.Error{Op: "close", Err: fmt.Errorf(
			"%w: the end of session %s was not acknowledged; its locks are free when it expires",
			holdfast.ErrUnavailable, c.Session())}
	}
	c.stop()
	c.work.Wait()
	c.mu.Lock()
	c.step(session.Event{Kind: session.Abandon, Err: holdfast.ErrUnavailable})
	c.mu.Unlock()
	return err
}
