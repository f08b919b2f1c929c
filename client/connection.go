package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/wire"
	"github.com/holdfast-locks/holdfast/wire/api"
	"github.com/holdfast-locks/holdfast/wire/frames"
)

// Pauses between rounds of connecting to all addresses, and how long one address may
// take to answer a hello.
const (
	minPause   = 10 * time.Millisecond
	maxPause   = time.Second
	minAttempt = 500 * time.Millisecond
	maxAttempt = 5 * time.Second
)

// stream is a stream that was welcomed.
type stream struct {
	cancel context.CancelFunc
	wake   chan struct{} // the queue has something for it
	ended  chan struct{} // closed when nothing comes of it any more

	decided []*request // memory for Client.decided
}

var (
	errSilent    = errors.New("no answer to hello")
	errEnded     = errors.New("the session has ended meanwhile")
	errElsewhere = errors.New("the authority is at another address")
	errStranger  = errors.New("it belongs to another cluster")
)

// run connects, and connects again, until the Client is closed.
func (c *Client) run() {
	defer c.work.Done()
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		on, over := c.answering()
		switch {
		case over:
			return
		case on != nil:
			pause = minPause
			select {
			case <-on.ended:
			case <-c.hurry: // it may be doubted
				continue
			}
		default:
			if c.round() {
				continue
			}
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-c.hurry:
		case <-c.ctx.Done():
		}
		timer.Stop()
	}
}

// answering returns the stream, if there is one that answers as far as known. Over says
// that none is needed any more.
func (c *Client) answering() (on *stream, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.doubted {
		on = c.stream
	}
	return on, c.ctx.Err() != nil || c.over && c.stream == nil
}

// round goes to one address after the other until one has welcomed the Client, which it
// reports, or the session that it came with has ended, or one has named another address
// to go to first.
func (c *Client) round() (welcomed bool) {
	session, places := c.places()
	for _, place := range places {
		err := c.attend(place)
		if err == nil {
			return true
		}
		if c.onFailed(session, err) || errors.Is(err, errElsewhere) {
			break
		}
	}
	return false
}

// onFailed takes note of an attempt to connect that has failed. It reports whether no
// other is to be made for the session that there was before.
func (c *Client) onFailed(before *session, err error) (enough bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broke(err)
	return c.over || c.ctx.Err() != nil || c.session != before
}

// onBroken takes note of a stream that has ended.
func (c *Client) onBroken(on *stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == on {
		c.detach()
		c.broke(err)
	}
}

func (c *Client) broke(err error) {
	c.trouble = err
	if c.ctx.Err() == nil {
		c.log.Info("the connection has ended", "error", err)
	}
}

// detach forgets the stream and what depends on it: the queue, and the heartbeats
// whose answers will not come.
func (c *Client) detach() {
	c.stream, c.doubted, c.queue, c.head = nil, false, nil, 0
	clear(c.beats)
	c.alarms.disarm(&c.beat)
}

// hangUp ends the stream, if there is one.
func (c *Client) hangUp() {
	if c.stream != nil {
		c.stream.cancel()
		c.detach()
	}
}

func (c *Client) connected() bool { return c.stream != nil }

// attend opens one stream. Without an error a session was opened or resumed on it, and
// it is served until it breaks.
func (c *Client) attend(place wire.Address) error {
	conn, err := connect(c.settings, place)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	if err := c.greet(ctx, cancel, conn, place); err != nil {
		cancel()
		return errors.Join(err, conn.Close())
	}
	return nil
}

// greet says hello on a new stream, and lets a goroutine serve it if it is welcomed. That
// one closes the connection then.
func (c *Client) greet(ctx context.Context, cancel context.CancelFunc, conn *grpc.ClientConn, place wire.Address) error {
	silence := time.AfterFunc(c.attemptLimit(), cancel)
	defer silence.Stop()
	calls, err := api.NewSessionsClient(conn).Open(ctx, grpc.ForceCodecV2(frames.NewCodec()))
	if err != nil {
		return c.explain(place, err)
	}
	s, hello := c.hello()
	sent := c.clock.Now()
	if err := calls.Send(&api.ClientFrame{Operations: []*api.Operation{{Kind: hello}}}); err != nil && !errors.Is(err, io.EOF) {
		return c.explain(place, err)
	}
	answer := &frames.Events{}
	err = calls.RecvMsg(answer)
	if !silence.Stop() && err != nil && c.ctx.Err() == nil {
		err = errSilent
	}
	if err != nil {
		err = c.explain(place, err)
		c.onFirst(place, s, err)
		return err
	}
	on := &stream{cancel: cancel, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := c.onHello(on, place, s, sent, answer.List()); err != nil {
		if errors.Is(err, errElsewhere) || errors.Is(err, errStranger) {
			late := time.AfterFunc(closeLimit, cancel)
			defer late.Stop()
			err = errors.Join(err, goodbye(calls))
		}
		return fmt.Errorf("hello to %s: %w", place, err)
	}
	c.work.Go(func() {
		defer close(on.ended)
		err := c.serve(on, calls, answer)
		c.onStatus(on, err)
		c.onBroken(on, errors.Join(c.explain(place, err), conn.Close()))
	})
	return nil
}

// onStatus takes the status with which a stream has ended. That the session has ended
// is the word of its own member, on its own stream: waiting for the deadline would keep
// those who wait from going elsewhere.
func (c *Client) onStatus(on *stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == on && wire.Code(wire.FromStatus("open", err)) == wire.CodeUnknownSession {
		c.lose(c.session)
	}
}

// goodbye ends a session that was opened at the wrong member.
func goodbye(calls grpc.BidiStreamingClient[api.ClientFrame, api.ServerFrame]) error {
	end := &api.Operation{Id: 1, Kind: &api.Operation_End{End: &api.End{}}}
	if err := calls.Send(&api.ClientFrame{Operations: []*api.Operation{end}}); err != nil {
		return err
	}
	if err := calls.RecvMsg(&frames.Events{}); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// explain says where an error of gRPC happened.
func (c *Client) explain(place wire.Address, err error) error {
	if errors.Is(err, errSilent) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", place, err)
	}
	var told *holdfast.Error
	if unreached(err) {
		return errors.New(dialSentence(status.Convert(err).Message()))
	}
	if err = wire.FromStatus("open", err); errors.As(err, &told) {
		err = told.Err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// dialTarget is a name for gRPC that nothing resolves: the dialer knows the place.
func dialTarget(place wire.Address) string {
	if place.Network == "unix" {
		return "passthrough:///localhost"
	}
	return "passthrough:///" + place.Place
}

// attemptLimit leaves time for another address before the session ends.
func (c *Client) attemptLimit() time.Duration {
	if ttl := c.TTL(); ttl > 0 {
		return min(max(ttl/4, minAttempt), maxAttempt)
	}
	return maxAttempt
}

// hello says hello for the present session if it is alive, else for a new one.
func (c *Client) hello() (*session, *api.Operation_Hello) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hello := &api.Hello{Ttl: int64(c.settings.ttl), Client: c.settings.name}
	if c.session != nil && c.session.deadline.Load() != 0 {
		c.onDeadline()
	}
	if s := c.session; s != nil {
		hello.Session, hello.Secret = s.id, s.secret
		hello.Requests = slices.Sorted(maps.Keys(c.requests))
		if s.opened {
			hello.Last = c.lastID
		}
	}
	return c.session, &api.Operation_Hello{Hello: hello}
}

// onHello takes the answer to hello: s is the session that was to be resumed, or nil.
func (c *Client) onHello(on *stream, place wire.Address, s *session, sent time.Duration, events []*api.Event) error {
	if len(events) == 0 {
		return errors.New("the first frame is empty")
	}
	if welcome := events[0].GetWelcome(); welcome != nil {
		c.endLost(s, events[1:])
		if err := c.onWelcome(on, place, s, sent, welcome); err != nil {
			return err
		}
		c.onFrame(on, events[1:])
		return nil
	}
	refused := events[0].GetRefused()
	if refused == nil || events[0].GetId() != 0 {
		return errors.New("the first event is neither welcome nor refused")
	}
	err := wire.FromProblem("open", refused.GetProblem())
	if err == nil {
		err = wire.Fail(wire.CodeInternal, "refused without a reason")
	}
	c.onFirst(place, s, err)
	return err
}

// endLost ends the locks whose loss comes with a welcome, before that renews the
// session: nobody may believe in them for an instant longer than without it.
func (c *Client) endLost(s *session, events []*api.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, event := range events {
		r, lost := c.requests[event.GetId()], event.GetLost()
		if lost != nil && r != nil && r.state == held && c.session == s {
			r.lock.End(holdfast.Loss(lost.GetWhy()))
		}
	}
}

// onFirst takes the refusal of a hello. A session that its own member does not know
// any more is lost; another member's word on it is not believed before its deadline,
// unless all say so. What no patience will change ends Dial, or the calls that wait
// for a session.
func (c *Client) onFirst(place wire.Address, s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != s {
		return
	}
	code := wire.Code(err)
	if s != nil && code == wire.CodeUnknownSession {
		if s.unknown == nil {
			s.unknown = map[wire.Address]bool{}
		}
		s.unknown[place] = true
		if place != s.at && len(s.unknown) < len(c.known()) {
			return
		}
		c.lose(s)
	}
	switch {
	case code == wire.CodeUnavailable || code == wire.CodeInternal:
	case !c.begun:
		c.begun = true
		c.first <- err
	case s == nil:
		c.refuseAll(err)
	}
}

// refuseAll ends the calls that wait, because no session can be had.
func (c *Client) refuseAll(err error) {
	var told *holdfast.Error
	if errors.As(err, &told) {
		err = told.Err
	}
	for _, r := range c.requests {
		if r.state == asked {
			c.finish(r, nil, r.fail("lock", err))
			c.settle(r)
		}
	}
}

// onWelcome opens or renews the session.
func (c *Client) onWelcome(on *stream, place wire.Address, s *session, sent time.Duration, welcome *api.Welcome) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ttl := time.Duration(welcome.GetTtl())
	switch {
	case c.session != s:
		return errEnded
	case s == nil && (welcome.GetSession() == "" || welcome.GetSecret() == ""):
		return errors.New("welcome names no session or no secret")
	case s != nil && welcome.GetSession() != s.id:
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
		s = &session{client: c, id: welcome.GetSession(), secret: welcome.GetSecret(), opened: true}
	}
	c.hangUp() // on one that was doubted
	c.session, c.stream, c.last, c.trouble = s, on, place, nil
	s.member, s.at, s.unknown = welcome.GetMember(), place, nil
	if !c.acknowledged(sent, ttl) {
		return errEnded
	}
	c.refill()
	c.alarms.arm(&c.beat, sent+max(time.Millisecond, ttl/4))
	if !c.begun {
		c.begun = true
		c.first <- nil
	}
	return nil
}

// serve reads the stream until it breaks, while another goroutine writes.
func (c *Client) serve(on *stream, calls grpc.BidiStreamingClient[api.ClientFrame, api.ServerFrame], frame *frames.Events) error {
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
		c.onFrame(on, frame.List())
	}
}

// onGoodbye is called when the server has closed the stream in good order. After
// our end that is its acknowledgement.
func (c *Client) onGoodbye(on *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == on && c.endID != 0 && c.session != nil {
		c.onEnded()
	}
}

// write sends what is queued, as much as a frame takes, until the stream breaks or
// another has taken its place. Before each frame it lets those run who are ready to: what
// they ask for goes with it, and costs no frame of its own. Nothing is waited for.
func (c *Client) write(on *stream, calls grpc.BidiStreamingClient[api.ClientFrame, api.ServerFrame]) {
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
