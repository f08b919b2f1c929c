package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/turns"
)

// contact is an attempt to open a stream at one address, and then that stream. One goroutine makes the attempt and
// reads the stream; another one writes while the stream is served.
type contact struct {
	*session.Contact
	ctx     context.Context
	cancel  context.CancelFunc
	link    *link
	refusal error         // why the machine rejects the stream; nil if it accepts
	opened  bool          // the session opened on it must be ended
	wake    chan struct{} // the machine has something to send on it
	decided []*request    // memory for Client.decided
}

// frameStream is a stream of frames.
type frameStream = grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame]

var (
	errUnneeded = errors.New("the stream that there is answers again")
	errInLine   = session.Unheard{Err: errors.New("not asked yet: this process makes too many other connections at the same time")}
)

// newContact returns the driver of a machine's contact.
func (c *Client) newContact(of *session.Contact) *contact {
	a := &contact{Contact: of, wake: make(chan struct{}, 1)}
	of.Caller = a
	a.ctx, a.cancel = context.WithCancel(c.ctx)
	return a
}

// attend opens a stream at an address, and serves it until it breaks.
func (c *Client) attend(a *contact) {
	defer a.cancel()
	frame := &frames.Events{}
	on, err := c.open(a, frame)
	if err != nil {
		a.cancel()
		refused := a.link != nil && a.link.refuses()
		c.onFailed(a, errors.Join(err, c.leaveLink(a, err)), refused)
		return
	}
	err = c.serve(a, on, frame)
	reason := reasonOf("open", err)
	c.onBroken(a, err, errors.Join(reason, c.leaveLink(a, reason)))
}

// open opens a stream, on an existing connection or on a new one made in turn; the turn ends when the first frame
// arrives.
func (c *Client) open(a *contact, first *frames.Events) (frameStream, error) {
	links := c.settings.links
	if a.link = links.join(c.settings, a.Place); a.link == nil {
		turn := links.turns.Enqueue(c.TTL() > 0) // a Client with a session has a deadline
		defer turn.End()
		var err error
		if a.link, err = c.linkInTurn(a, turn); err != nil {
			return nil, err
		}
	}
	return c.greet(a, first)
}

// leaveLink takes a stream that ended with reason off its connection.
func (c *Client) leaveLink(a *contact, reason error) error {
	links := c.settings.links
	switch {
	case a.link == nil:
		return nil
	case errors.Is(reason, session.ErrSilent):
		links.doubt(a.link)
	case !session.IsHeard(reason):
		links.retire(a.link)
	}
	return links.leave(a.link)
}

// linkInTurn makes a connection for a contact in turn, or joins one made in the meantime. It fails if the contact is no
// longer needed.
func (c *Client) linkInTurn(a *contact, t *turns.Turn) (*link, error) {
	if t.Waits() {
		c.explainSilence(a, session.ErrSilent, errInLine)
		defer c.explainSilence(a, errInLine, session.ErrSilent)
	}
	select {
	case <-t.Come():
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
	if c.letGo(a) {
		return nil, errUnneeded
	}
	l, made, err := c.settings.links.enter(c.settings, a.Place)
	if !made {
		t.End()
	}
	return l, err
}

// letGo drops a contact that has not sent anything yet, if the current stream answers again.
func (c *Client) letGo(a *contact) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine.Unneeded(a.Contact)
}

// explainSilence notes why an address has not answered so far.
func (c *Client) explainSilence(a *contact, before, now error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.attempts.find(a.Place); known != nil && known.Err == before {
		known.Err = now
	}
}

// notify passes an event about a contact to the machine.
func (c *Client) notify(kind session.EventKind, a *contact) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(session.Event{Kind: kind, Contact: a.Contact})
}

// greet says hello on a new stream, and reads the first frame of the answer. The error says why the stream is not
// served.
func (c *Client) greet(a *contact, answer *frames.Events) (frameStream, error) {
	c.notify(session.Opening, a)
	defer context.AfterFunc(a.link.late, a.cancel)()
	on, err := schema.NewSessionsClient(a.link.conn).Open(a.ctx, append(c.settings.streamOptions(), grpc.ForceCodecV2(frames.NewCodec()))...)
	if err != nil {
		return nil, c.explain(a, err)
	}
	c.notify(session.Greet, a)
	hello := &schema.ClientFrame{Operations: []*schema.Operation{a.Hello()}}
	if err := on.Send(hello); err != nil && !errors.Is(err, io.EOF) {
		return nil, c.explain(a, err)
	}
	if err = on.RecvMsg(answer); err != nil {
		return nil, c.explain(a, err)
	}
	a.link.hears()
	c.hear(a, session.Event{Kind: session.Answered, Phase: a.link.phase, Said: answer.List()})
	if a.refusal != nil && a.opened {
		return nil, errors.Join(a.refusal, a.goodbye(on))
	}
	return on, a.refusal
}

// explain returns why a contact has failed. If its limit has passed, or its connection is late, it has had no answer.
func (c *Client) explain(a *contact, err error) error {
	c.mu.Lock()
	silent := a.Silent()
	c.mu.Unlock()
	if silent || a.link.late.Err() != nil && status.Code(err) == codes.Canceled {
		return session.ErrSilent
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the stream was closed: %w", err)
	}
	return reasonOf("open", err)
}

// goodbye ends an unwanted session that a contact has opened.
func (a *contact) goodbye(on frameStream) error {
	defer time.AfterFunc(session.CloseLimit, a.cancel).Stop()
	end := &schema.Operation{Id: 1, Kind: &schema.Operation_End{End: &schema.End{}}}
	if err := on.Send(&schema.ClientFrame{Operations: []*schema.Operation{end}}); err != nil {
		return err
	}
	if err := on.RecvMsg(&frames.Events{}); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// onFailed handles a failed contact. refused reports that nothing listens there.
func (c *Client) onFailed(a *contact, err error, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !a.Over() {
		c.log.Debug("no connection", "address", a.Place, "error", err)
		c.attempts.end(a.Place, err, refused)
		c.giveUpDial()
	}
	c.step(session.Event{Kind: session.Failed, Contact: a.Contact, Err: err})
}

// onBroken handles a stream that has ended with err, because of reason.
func (c *Client) onBroken(a *contact, err, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == a {
		c.stream = nil
		if c.ctx.Err() == nil {
			c.log.Info("the connection has ended", "address", a.Place, "error", reason)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil // a clean end
	}
	c.step(session.Event{Kind: session.Broken, Contact: a.Contact, Err: api.FromStatus("open", err)})
}

// dialTarget is a name that gRPC does not resolve: the dialer knows the place.
func dialTarget(place api.Address) string {
	if place.Network == "unix" {
		return "passthrough:///localhost"
	}
	return "passthrough:///" + place.Place
}

// serve reads the stream until it breaks, while another goroutine writes.
func (c *Client) serve(a *contact, on frameStream, frame *frames.Events) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer a.cancel()
		c.write(a, on)
	}()
	defer func() { a.cancel(); <-written }()
	for {
		if err := on.RecvMsg(frame); err != nil {
			return err
		}
		a.link.hears()
		c.hear(a, session.Event{Kind: session.Heard, Said: frame.List()})
	}
}

// hear passes a received frame to the machine. Calls that the frame completes return after all of it is processed and
// the mutex is free: they all need the mutex next.
func (c *Client) hear(a *contact, ev session.Event) {
	ev.Contact = a.Contact
	for i, r := range c.take(a, &ev) {
		a.decided[i] = nil
		r.outcome <- r.result
	}
}

// take processes a frame, and returns the requests whose calls must return. The slice is memory of the contact, which
// one goroutine reads.
func (c *Client) take(a *contact, ev *session.Event) []*request {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading, c.decided = true, a.decided[:0]
	c.stepAt(c.readClock(), ev)
	a.decided = c.decided
	c.reading, c.decided = false, nil
	return a.decided
}

// write sends the queue, one full frame at a time, until the stream breaks or another replaces it. Before each frame it
// yields to runnable goroutines: their requests then go with it and need no frame of their own. It waits for nothing.
func (c *Client) write(a *contact, on frameStream) {
	out, broken := &session.Frame{}, on.Context().Done()
	for {
		runtime.Gosched()
		if !c.fill(out, a) {
			select {
			case <-a.wake:
				continue
			case <-broken:
				return
			}
		}
		if err := on.SendMsg(&out.Message); err != nil {
			return // RecvMsg returns the reason
		}
	}
}

// fill takes the next frame for a stream. It reports false if there is nothing to send on it.
func (c *Client) fill(frame *session.Frame, a *contact) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream == a && c.machine.Fill(c.readClock(), frame)
}
