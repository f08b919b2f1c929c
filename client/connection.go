package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/turns"
)

// Pauses between rounds of asking all addresses, and how long one address may
// take to answer a hello.
const (
	minPause   = 10 * time.Millisecond
	maxPause   = time.Second
	minAttempt = time.Second
	maxAttempt = 5 * time.Second
	// freshAttempt is how long one address may take to open a session.
	freshAttempt = 30 * time.Second
)

// stream is a stream that was welcomed.
type stream struct {
	place  api.Address
	link   *link
	cancel context.CancelFunc
	wake   chan struct{} // the queue has something for it
	ended  chan struct{} // closed when nothing comes of it any more

	decided []*request // memory for Client.decided
}

var (
	errEnded     = errors.New("the session has ended meanwhile")
	errLate      = errors.New("another address has answered before")
	errElsewhere = errors.New("the authority is at another address")
	errStranger  = errors.New("it belongs to another cluster")
	errUnneeded  = errors.New("the stream that there is answers again")
	errInLine    = unheard{errors.New("not asked yet: this process makes too many other connections at the same time")}
)

// onBroken takes note of a stream that has ended.
func (c *Client) onBroken(on *stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == on {
		c.detach()
		if c.ctx.Err() == nil {
			c.log.Info("the connection has ended", "address", on.place, "error", err)
		}
	}
}

// detach forgets the stream.
func (c *Client) detach() {
	c.stream = nil
	c.step(session.Event{Kind: session.Broken})
}

// hangUp ends the stream, if there is one.
func (c *Client) hangUp() {
	if c.stream != nil {
		c.stream.cancel()
		c.detach()
	}
}

// attend opens one stream. Without an error a session was opened or resumed on it, and
// it is served until it breaks.
func (c *Client) attend(a *contact) error {
	links := c.settings.links
	l := links.join(c.settings, a.place)
	if l == nil {
		turn := links.turns.Enqueue(c.TTL() > 0) // one with a session has a deadline
		defer turn.End()
		var err error
		if l, err = c.linkInTurn(a, turn); err != nil {
			a.cancel()
			return err
		}
	}
	err := c.greet(a, l)
	a.refused = err != nil && l.refuses()
	if err == nil {
		return nil
	}
	a.cancel()
	switch {
	case errors.Is(err, errSilent):
		links.doubt(l)
	case !isHeard(err):
		links.retire(l)
	}
	return errors.Join(err, links.leave(l))
}

// linkInTurn makes a connection for a contact when it is its turn, or joins one that others have made meanwhile. It
// fails if the contact is not needed any more.
func (c *Client) linkInTurn(a *contact, t *turns.Turn) (*link, error) {
	if t.Waits() {
		c.explainSilence(a, errSilent, errInLine)
		defer c.explainSilence(a, errInLine, errSilent)
	}
	select {
	case <-t.Come():
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
	if c.letGo(a) {
		return nil, errUnneeded
	}
	l, made, err := c.settings.links.enter(c.settings, a.place)
	if !made {
		t.End()
	}
	return l, err
}

// letGo lets a contact go that has asked nothing yet, if the stream that there is answers again.
func (c *Client) letGo(a *contact) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.over = a.over || c.stream != nil && !c.machine.Doubted()
	return a.over
}

// explainSilence says why an address has said nothing so far.
func (c *Client) explainSilence(a *contact, before, now error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.attempts.find(a.place); known != nil && known.Err == before {
		known.Err = now
	}
}

// greet says hello on a new stream, and lets a goroutine serve it if it is welcomed. That
// one leaves the connection then.
func (c *Client) greet(a *contact, l *link) error {
	silence := time.AfterFunc(c.attemptLimit(), a.cancel)
	defer silence.Stop()
	defer context.AfterFunc(l.late, a.cancel)()
	calls, err := schema.NewSessionsClient(l.conn).Open(a.ctx, grpc.ForceCodecV2(frames.NewCodec()))
	if err != nil {
		return a.explain(silence, l, err)
	}
	hello := c.hello(a)
	sent := c.clock.Now()
	if err := calls.Send(&schema.ClientFrame{Operations: []*schema.Operation{{Kind: hello}}}); err != nil && !errors.Is(err, io.EOF) {
		return a.explain(silence, l, err)
	}
	answer := &frames.Events{}
	if err = calls.RecvMsg(answer); err != nil {
		err = a.explain(silence, l, err)
		c.onFirst(a, err)
		return err
	}
	silence.Stop()
	l.hears()
	on := &stream{place: a.place, link: l, cancel: a.cancel, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := c.onHello(on, a, sent, answer.List()); err != nil {
		if errors.Is(err, errElsewhere) || errors.Is(err, errStranger) || errors.Is(err, errLate) {
			late := time.AfterFunc(closeLimit, a.cancel)
			defer late.Stop()
			err = errors.Join(err, a.goodbye(calls))
		}
		return err
	}
	c.work.Go(func() {
		defer close(on.ended)
		err := c.serve(on, calls, answer)
		c.onStatus(on, err)
		reason := reasonOf("open", err)
		if !isHeard(reason) {
			c.settings.links.retire(l)
		}
		c.onBroken(on, errors.Join(reason, c.settings.links.leave(l)))
	})
	return nil
}

// onStatus takes the status with which a stream has ended. That the session has ended
// is the word of its own member, on its own stream: waiting for the deadline would keep
// those who wait from going elsewhere.
func (c *Client) onStatus(on *stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	problem := api.FromStatus("open", err)
	switch {
	case c.stream != on || api.Code(problem) != api.CodeUnknownSession:
	case isTakenOver(problem):
		c.takenOver(problem)
	default:
		c.sentAway = true
		c.step(session.Event{Kind: session.SessionLost})
	}
}

// isTakenOver reports whether a member says that another client has taken the session over.
func isTakenOver(err error) bool {
	return api.Code(err) == api.CodeUnknownSession && holdfast.Why(err) == holdfast.EndedByAnother
}

// takenOver ends this Client, because a member has said that another Client has resumed its session.
func (c *Client) takenOver(said error) {
	var opErr *holdfast.Error
	if errors.As(said, &opErr) {
		said = opErr.Err
	}
	c.step(session.Event{Kind: session.TakenOver, Err: said})
}

// dialTarget is a name for gRPC that nothing resolves: the dialer knows the place.
func dialTarget(place api.Address) string {
	if place.Network == "unix" {
		return "passthrough:///localhost"
	}
	return "passthrough:///" + place.Place
}

// attemptLimit leaves time for another address before the session ends. But the others are asked beside this one, so an
// answer has a second at least: a member that resumes a session of a durable space asks members that may be far away. Without a session no deadline
// presses, and the other addresses are asked beside this one anyway: an attempt that a member with much to
// do will come to is not thrown away and made again, which would cost it more than to serve it.
func (c *Client) attemptLimit() time.Duration {
	if ttl := c.TTL(); ttl > 0 {
		return min(max(ttl/4, minAttempt), maxAttempt)
	}
	return freshAttempt
}

// hello says hello for the present session if it is alive, else for a new one.
func (c *Client) hello(a *contact) *schema.Operation_Hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	hello := &schema.Hello{Ttl: int64(c.settings.ttl), Client: c.settings.name, Number: c.number}
	c.step(session.Event{Kind: session.Tick}) // the session may have ended
	known := c.machine.Hello()
	if s := known.Session; s != nil {
		hello.Session, hello.Secret, hello.Generation, hello.Last = s.ID, s.Secret, s.Generation, known.Last
		hello.Requests = make([]uint64, 0, len(known.Requests))
		for _, r := range known.Requests {
			hello.Requests = append(hello.Requests, r.ID)
		}
		a.listed = known.Requests
	}
	a.helloed, a.session = true, c.session
	return &schema.Operation_Hello{Hello: hello}
}

// onHello takes the answer to hello.
func (c *Client) onHello(on *stream, a *contact, sent time.Duration, events []*schema.Event) error {
	if len(events) == 0 {
		return errors.New("the first frame is empty")
	}
	if welcome := events[0].GetWelcome(); welcome != nil {
		c.endLost(a, events[1:])
		if err := c.onWelcome(on, a, sent, welcome); err != nil {
			return err
		}
		c.onFrame(on, events[1:])
		return nil
	}
	refused := events[0].GetRefused()
	if refused == nil || events[0].GetId() != 0 {
		return errors.New("the first event is neither welcome nor refused")
	}
	err := api.FromProblem("open", refused.GetProblem())
	if err == nil {
		err = api.Fail(api.CodeInternal, "refused without a reason")
	}
	c.onFirst(a, err)
	return err
}

// endLost ends the locks whose loss comes with a welcome, before that renews the
// session: no caller may believe in them for an instant longer than without it.
func (c *Client) endLost(a *contact, events []*schema.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.over || c.session != a.session {
		return
	}
	for _, event := range events {
		if ev := (session.Event{}); toEvent(event, &ev) && ev.Kind == session.Lost {
			ev.Kind = session.LostBefore
			c.step(ev)
		}
	}
}

// onFirst takes the refusal of a hello. A session that its own member does not know
// any more is lost; another member's word on it is not believed before its deadline,
// unless all say so. A member that says that another client has taken the session over
// has the session, and is believed. What no patience will change ends Dial, or the calls
// that wait for a session.
func (c *Client) onFirst(a *contact, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, place := a.session, a.place
	if a.over || c.session != s {
		return
	}
	code := api.Code(err)
	c.sentAway = c.sentAway || isHeard(err) && (code == api.CodeUnavailable || isOverload(err))
	if s != nil && isTakenOver(err) {
		c.takenOver(err)
	} else if s != nil && code == api.CodeUnknownSession {
		if s.unknown == nil {
			s.unknown = map[api.Address]bool{}
		}
		s.unknown[place] = true
		if place != s.at && len(s.unknown) < len(c.known()) {
			return
		}
		c.step(session.Event{Kind: session.SessionLost})
	}
	switch {
	case code == api.CodeUnavailable || code == api.CodeInternal || !isHeard(err) || isOverload(err):
	case !c.begun:
		c.begun = true
		c.first <- err
	case s == nil:
		c.refuseAll(err)
	}
}

// refuseAll ends the calls that wait, because no session can be had.
func (c *Client) refuseAll(err error) {
	var opErr *holdfast.Error
	if errors.As(err, &opErr) {
		err = opErr.Err
	}
	c.step(session.Event{Kind: session.NoSession, Err: err})
}

// onWelcome opens or renews the session.
func (c *Client) onWelcome(on *stream, a *contact, sent time.Duration, welcome *schema.Welcome) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, place := a.session, a.place
	ttl := time.Duration(welcome.GetTtl())
	switch {
	case a.over, c.session != s:
		return errLate
	case s == nil && (welcome.GetSession() == "" || welcome.GetSecret() == ""):
		return errors.New("welcome names no session or no secret")
	case s != nil && welcome.GetSession() != s.ID:
		return fmt.Errorf("welcome to session %q, which is not ours", welcome.GetSession())
	case ttl <= 0:
		return fmt.Errorf("welcome with a ttl of %v", ttl)
	}
	if s == nil && c.strange(place, welcome.GetCluster()) {
		return errStranger
	}
	if c.cluster == "" || slices.Contains(c.addresses, place) {
		c.cluster = welcome.GetCluster()
	}
	c.learn(welcome.GetAuthority(), welcome.GetMembers())
	if s == nil && c.settings.direct && !c.redirected && c.authority != "" && c.authority != place.String() {
		c.redirected = true
		c.hasten()
		return errElsewhere
	}
	if s == nil {
		s = &backing{client: c, Session: &session.Session{ID: welcome.GetSession(), Secret: welcome.GetSecret(), Opened: true}}
	}
	c.hangUp() // on one that was doubted
	c.endOthers(a)
	c.session, c.stream, c.last, c.sentAway = s, on, place, false
	c.attempts.attempts = nil
	c.durable = welcome.GetDurable()
	s.member, s.at, s.unknown, s.Cut, s.Generation = welcome.GetMember(), place, nil, welcome.GetTtlCut(), welcome.GetGeneration()
	c.step(session.Event{Kind: session.Welcome, Session: s.Session, Sent: sent, Span: ttl, Phase: on.link.phase, Listed: a.listed})
	if a.listed = nil; c.stream != on {
		return errEnded
	}
	c.log.Info("connected", "address", place, "member", s.member, "session", s.ID)
	if !c.begun {
		c.begun = true
		c.first <- nil
	}
	return nil
}

// serve reads the stream until it breaks, while another goroutine writes.
func (c *Client) serve(on *stream, calls grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame], frame *frames.Events) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer on.cancel()
		c.write(on, calls)
	}()
	defer func() { on.cancel(); <-written }()
	for {
		if err := calls.RecvMsg(frame); err != nil {
			if errors.Is(err, io.EOF) {
				c.onGoodbye(on)
			}
			return err
		}
		on.link.hears()
		c.onFrame(on, frame.List())
	}
}

// onGoodbye is called when the server has closed the stream in good order. After
// our end that is its acknowledgement.
func (c *Client) onGoodbye(on *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == on {
		c.step(session.Event{Kind: session.Goodbye})
	}
}

// write sends what is queued, as much as a frame takes, until the stream breaks or
// another has taken its place. Before each frame it lets those run who are ready to: what
// they ask for goes with it, and costs no frame of its own. Nothing is waited for.
func (c *Client) write(on *stream, calls grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame]) {
	out, broken := &frame{}, calls.Context().Done()
	for {
		runtime.Gosched()
		if !c.fill(out, on) {
			select {
			case <-on.wake:
				continue
			case <-broken:
				return
			}
		}
		if err := calls.SendMsg(&out.message); err != nil {
			return // RecvMsg tells why
		}
	}
}
