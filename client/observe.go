package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// mostSilence is how long an observation waits for a word of its member, which sends one every few seconds.
const mostSilence = 15 * time.Second

// Observe yields the current state of a name in the Client's space and each change of it. See [holdfast.Observer]. It
// goes on while there is no session. Observations have connections of their own, which those of one process share.
func (c *Client) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return c.observe(ctx, c.settings.space, name)
}

// Observe is that of the Client, in another space.
func (s *space) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return s.client.observe(ctx, s.name, name)
}

// Observe yields the current state of a name and each change of it, as [Client.Observe] does, but as the members send
// it. The space "" is that of option Space.
func (a *Admin) Observe(ctx context.Context, space, name string) iter.Seq2[*Observed, error] {
	return func(yield func(*Observed, error) bool) {
		o := &observation{
			settings: a.settings, over: a.over, space: a.space(space), name: name,
			places: func() (all []api.Address) {
				for _, m := range a.members {
					all = append(all, m.place)
				}
				return all
			},
			yield: func(state *schema.Observed) bool { return yield(state, nil) },
		}
		if err := o.run(ctx); err != nil {
			yield(nil, err)
		}
	}
}

func (c *Client) observe(ctx context.Context, space, name string) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		o := &observation{
			settings: c.settings, over: c.ctx, space: space, name: name, places: c.places,
			yield: func(state *schema.Observed) bool { return yield(api.FromObserved(state), nil) },
		}
		if err := o.run(ctx); err != nil {
			yield(holdfast.State{}, err)
		}
	}
}

// places returns the addresses to look for a member at, in order. A Client that closes has none.
func (c *Client) places() []api.Address {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machine.Closing() {
		return nil
	}
	return c.machine.Places()
}

// observation is one observation of a name: one stream at a time, at one member after another.
type observation struct {
	settings    *settings
	over        context.Context // ends with the Client
	space, name string
	places      func() []api.Address // none: the Client has been closed
	yield       func(*schema.Observed) bool
	pauses      backoff.Backoff

	states  api.States
	at      api.Address // of the member that has shown the last state
	id      string      // of that state there
	served  bool        // the round in progress has had a stream with a state
	away    bool        // that member has said itself that it cannot go on: the others are asked first
	stopped bool        // the caller has stopped the loop
}

// opObserve is the name of the call in errors.
const opObserve = "observe"

// run observes until ctx ends, the Client is closed, the caller stops the loop (nil), or a member refuses for good.
func (o *observation) run(ctx context.Context) error {
	err := holdfast.CheckName(o.name)
	if err == nil {
		err = holdfast.CheckSpace(o.space)
	}
	if err != nil {
		return o.fail(err)
	}
	bound, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.over, cancel)()
	o.states = api.States{Space: o.space, Name: o.name}
	o.pauses = backoff.Backoff{Least: leastBackoff, Most: mostBackoff}
	for {
		places := o.order()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case o.over.Err() != nil || len(places) == 0:
			return o.fail(holdfast.ErrClosed)
		}
		began := o.settings.clock.Now()
		switch err := o.round(bound, places); {
		case o.stopped:
			return nil
		case bound.Err() == nil && isFinal(err):
			return o.fail(err)
		}
		if o.served && o.settings.clock.Now()-began > mostBackoff {
			o.pauses.Reset()
		}
		_ = backoff.Sleep(bound, o.pauses.Next()) // the loop looks at the contexts
	}
}

// fail names an error.
func (o *observation) fail(err error) error {
	if said, is := errors.AsType[*holdfast.Error](err); is {
		err = said.Err
	}
	return &holdfast.Error{Op: opObserve, Space: o.space, Name: o.name, Err: err}
}

// isFinal reports whether no member, and no later attempt, is expected to answer otherwise.
func isFinal(err error) bool {
	for _, final := range []error{holdfast.ErrName, holdfast.ErrSpace, holdfast.ErrDenied, holdfast.ErrUnsupported} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// order returns the addresses for a round: first the one that has shown the last state, since it may know what has
// followed, unless it cannot go on.
func (o *observation) order() []api.Address {
	all := o.places()
	if !slices.Contains(all, o.at) {
		return all
	}
	others := slices.DeleteFunc(slices.Clone(all), func(place api.Address) bool { return place == o.at })
	if o.away {
		return append(others, o.at)
	}
	return append([]api.Address{o.at}, others...)
}

// round looks for a member, and yields what that sends until it ends.
func (o *observation) round(ctx context.Context, places []api.Address) error {
	links := o.settings.links
	borrowed, err := links.borrow(o.settings, places)
	defer func() { links.giveBack(borrowed) }()
	if err != nil {
		return err
	}
	from := &Admin{settings: o.settings}
	for _, b := range borrowed {
		from.members = append(from.members, b.member)
	}
	o.served, o.away = false, false
	_, err = reach(ctx, from, opObserve, true, func(conn *grpc.ClientConn) (*struct{}, error) {
		b := borrowed[slices.IndexFunc(borrowed, func(b *shared) bool { return b.conn == conn })]
		err := o.attend(ctx, b.member)
		if errors.Is(err, errQuiet) {
			links.abandon(b)
		}
		if o.served {
			o.away = !isCut(err)
			return nil, nil
		}
		return nil, o.passing(err)
	})
	return err
}

// errQuiet is the end of a stream without a word of its member.
var errQuiet = status.Error(codes.Unavailable, fmt.Sprintf("no answer for %v", mostSilence))

// isCut reports whether a stream has ended without a word of the member about it: the same member may go on.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || unreached(err) && !errors.Is(err, errQuiet)
}

// passing returns the error of a member that has shown nothing. Unless it is final, the next member is asked.
func (o *observation) passing(err error) error {
	if errors.Is(err, io.EOF) {
		err = status.Error(codes.Unavailable, "the member has ended the stream")
	}
	if o.stopped || unreached(err) {
		return err
	}
	known := api.FromStatus(opObserve, err)
	older := o.id != "" && errors.Is(known, holdfast.ErrUnsupported) // than the member before
	if errors.Is(known, holdfast.ErrUnavailable) || isFinal(known) && !older {
		return err
	}
	return api.ToStatus(&holdfast.UnavailableError{Why: reasonOf(opObserve, err).Error()})
}

// attend opens a stream at a member, and yields its states until it ends.
func (o *observation) attend(ctx context.Context, m *member) error {
	ctx, cancel := context.WithCancel(ctx)
	read := make(chan struct{})
	question := &schema.ObserveRequest{Space: o.space, Name: o.name}
	if m.place == o.at {
		question.After = o.id
	}
	stream, err := schema.NewLocksClient(m.conn).Observe(ctx, question, o.settings.streamOptions()...)
	if err != nil {
		cancel()
		return err
	}
	heard := make(chan received)
	go func() {
		defer close(read)
		receive(ctx, stream, heard)
	}()
	defer func() { cancel(); <-read }()
	timer := o.settings.clock.NewTimer()
	defer timer.Stop()
	for first := true; !o.stopped; {
		got := o.next(ctx, heard, timer)
		switch {
		case got.err != nil:
			return got.err
		case got.state.GetName() == "":
			continue // a sign of life
		}
		if first && question.After == "" {
			o.states.Cut()
		}
		first = false
		missed, differs, err := o.states.Next(got.state)
		if err != nil {
			return err
		}
		o.served, o.at, o.id = true, m.place, got.state.GetId()
		m.heard.Store(int64(o.settings.clock.Now()))
		if got.state.Missed = missed; differs {
			o.stopped = !o.yield(got.state)
		}
	}
	return nil
}

// received is what a stream has sent: a state, or its end.
type received struct {
	state *schema.Observed
	err   error
}

// receive reads a stream until it ends.
func receive(ctx context.Context, stream grpc.ServerStreamingClient[schema.Observed], heard chan<- received) {
	for {
		state, err := stream.Recv()
		select {
		case heard <- received{state, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// next waits for what the member sends next.
func (o *observation) next(ctx context.Context, heard <-chan received, timer clock.Timer) received {
	now := o.settings.clock.Now
	end := session.After(now(), mostSilence)
	timer.Reset(end)
	for {
		select {
		case got := <-heard:
			return got
		case <-timer.C():
			if now() >= end {
				return received{err: errQuiet}
			}
		case <-ctx.Done():
			return received{err: ctx.Err()}
		}
	}
}
