package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// locker is a session of this process, bound to one space.
type locker struct {
	node    *Member
	session *localSession
	space   string
	port    protocol.Port // 0: unknown space
	backing holdfast.Backing
	class   holdfast.Class
}

// authorityWait is how long TryLock waits for an authority.
const authorityWait = 5 * time.Second

func (n *Member) lockerOf(s *localSession, space string) locker {
	if space == "" {
		space = holdfast.DefaultSpace
	}
	port := n.portOf(space)
	l := locker{node: n, session: s, space: space, port: port, backing: s, class: holdfast.Fenced}
	if i := int(port) - 1; i >= 0 {
		l.class = n.config.Spaces[i].Class()
		switch ends := n.assured[i]; {
		case ends == nil:
		case n.config.Spaces[i].described.Lasting:
			l.backing = lastingSession{s, ends}
		default:
			l.backing = assuredSession{s, ends}
		}
	}
	return l
}

// portOf returns the port of a space, 0 for an unknown name.
func (n *Member) portOf(space string) protocol.Port {
	return protocol.Port(slices.IndexFunc(n.config.Spaces, func(s Space) bool { return s.Name == space }) + 1)
}

// hasGrace reports whether names of the space stay taken for a while after a hold limit.
func (l locker) hasGrace() bool { return l.node.config.Spaces[l.port-1].HasGrace() }

// Space returns the Locker of another space of this member, with the same session.
func (l locker) Space(name string) holdfast.Locker { return l.node.lockerOf(l.session, name) }

// Close of a space's Locker closes nothing; see Node.Close.
func (l locker) Close() error { return nil }

// own is a Locker that closes its own session.
type own struct{ locker }

func (o own) Close() error {
	defer o.node.forgetSession(o.session)
	return o.session.close()
}

// Lock waits for the name. See holdfast.Locker.
func (l locker) Lock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	if there, err := l.insider(ctx, name); there != nil || err != nil {
		return atInsider(err, func() (*holdfast.Lock, error) { return there.Lock(ctx, name, o...) })
	}
	return l.resolve(ctx, name, false, o)
}

// TryLock takes the name if it is free. See holdfast.Locker.
func (l locker) TryLock(ctx context.Context, name string, o ...holdfast.Option) (*holdfast.Lock, error) {
	if there, err := l.insider(ctx, name); there != nil || err != nil {
		return atInsider(err, func() (*holdfast.Lock, error) { return there.TryLock(ctx, name, o...) })
	}
	return l.resolve(ctx, name, true, o)
}

func (l locker) fail(op, name string, err error) error {
	return &holdfast.Error{Op: op, Space: l.space, Name: name, Err: err}
}

func (l locker) resolve(ctx context.Context, name string, try bool, options []holdfast.Option) (*holdfast.Lock, error) {
	if len(options) > 0 {
		return l.resolveOptions(ctx, name, try, options)
	}
	r := holdfast.Request{Name: name, Try: try}
	if err := r.Check(); err != nil {
		return nil, l.fail("lock", name, err)
	}
	return l.acquire(ctx, &r)
}

// resolveOptions is resolve for a request on the heap, where options can change it.
func (l locker) resolveOptions(ctx context.Context, name string, try bool, options []holdfast.Option) (*holdfast.Lock, error) {
	r, err := holdfast.NewRequest(name, options...)
	if err != nil {
		return nil, l.fail("lock", name, err)
	}
	r.Try = r.Try || try
	return l.acquire(ctx, &r)
}

// acquire requests the name, and waits for the decision if necessary.
func (l locker) acquire(ctx context.Context, r *holdfast.Request) (*holdfast.Lock, error) {
	a, err := l.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	if !a.await(ctx, r) {
		return nil, l.session.cancel(ctx, l.port, r.Name, a.id)
	}
	return l.conclude(ctx, r, a)
}

// submitted is a request that was sent.
type submitted struct {
	run.Answer
	id      uint64
	sent    protocol.Time // when it was sent, if a limit may count from it
	waitEnd protocol.Time
	bounded bool  // by the deadline of its context
	wait    *wait // nil if it is decided
}

// submit requests the name. The decision may come later.
func (l locker) submit(ctx context.Context, r *holdfast.Request) (a submitted, err error) {
	switch {
	case l.port == 0:
		err = holdfast.ErrSpace
	case r.Require > l.class:
		err = fmt.Errorf("%w: %v is required, and the space offers %v", holdfast.ErrClass, r.Require, l.class)
	case ctx.Err() != nil:
		return a, ctx.Err()
	}
	if err != nil {
		return a, l.fail("lock", r.Name, err)
	}
	s := l.session
	// Read only if a limit may count from it, because it costs a system call: an owner may re-enter a grant that
	// already has a hold limit.
	deadline, bounded := ctx.Deadline()
	if r.Try || r.Wait > 0 || r.Hold > 0 || r.Owner != "" || bounded {
		a.sent = s.Now()
	}
	request := lock.Request{
		Session: s.id, Name: r.Name, Attributes: r.Attributes,
		Try: r.Try, Arrived: a.sent, WaitEnd: lock.Never,
	}
	switch {
	case r.Wait > 0:
		request.WaitEnd = after(a.sent, r.Wait)
	case r.Try:
		request.WaitEnd = a.sent + authorityWait
	}
	a.bounded = bounded && !r.Try && s.boundWait(&request, deadline)
	if a.Answer, err = s.driver.Acquire(l.port, s.sink, &request); err != nil {
		return a, l.fail("lock", r.Name, closedOr(err))
	}
	a.id, a.waitEnd = a.Request, request.WaitEnd
	if a.Kind == 0 || a.Kind == lock.Queued {
		a.wait = s.expect(r, a.id, a.Answer)
	}
	return a, nil
}

// conclude turns a decision into the call's result.
func (l locker) conclude(ctx context.Context, r *holdfast.Request, a submitted) (*holdfast.Lock, error) {
	s := l.session
	if a.Kind == lock.Refused {
		err := l.fail("lock", r.Name, s.refused(l.port, r.Name, a.Err))
		if a.bounded {
			err = whyEnded(err, s.Now() >= a.waitEnd)
		}
		return nil, err
	}
	return l.hold(ctx, r, a.Answer, a.id, a.sent)
}

func closedOr(err error) error {
	if errors.Is(err, run.ErrClosed) {
		return holdfast.ErrClosed
	}
	return err
}

// refusal converts the reason of a refusal: after Close, an unknown session means that it was closed.
func (s *localSession) refusal(err error) error {
	if !errors.Is(err, session.ErrUnknown) {
		return s.driver.Explain(err, s.called)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return holdfast.ErrClosed
	}
	return err
}

// refused is refusal for a request of a name: if the refusal does not have the holder, it asks for it.
func (s *localSession) refused(port protocol.Port, name string, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), refusalLimit)
	defer cancel()
	err = s.driver.Refusal(ctx, port, name, s.refusal(err), s.called)
	if self, failure := s.who(ctx); failure == nil {
		err = self.Unavailable(s.driver.Now(), err)
	}
	return err
}

// hold makes the lock of a grant, and registers it for later decisions.
func (l locker) hold(ctx context.Context, r *holdfast.Request, a run.Answer, id uint64, sent time.Duration) (*holdfast.Lock, error) {
	s := l.session
	end := holdfast.Forever
	if a.Hold > 0 {
		end = after(sent, a.Hold)
	}
	held := holdfast.NewLock(holdfast.Grant{
		Space: l.space, Name: r.Name, Owner: r.Owner, Shape: r.Shape, Token: a.Token,
		Grace: a.Hold > 0 && l.hasGrace(),
	}, id, end, l.backing, ctx)
	h := holding{lock: held, port: l.port}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, l.fail("lock", r.Name, holdfast.ErrClosed)
	}
	if end != holdfast.Forever {
		s.limit(&h, end)
	}
	s.held.put(id, h)
	s.guard()
	if len(s.early) == 0 {
		return held, nil
	}
	if early, ok := s.early[id]; ok {
		delete(s.early, id)
		s.decided(&early)
	}
	return held, nil
}

// expect registers a queued request whose decision is awaited.
func (s *localSession) expect(r *holdfast.Request, id uint64, first run.Answer) *wait {
	w := &wait{decided: make(chan lock.Decision, 1)}
	switch {
	case r.Queued == nil:
	case first.Kind == lock.Queued && first.Position >= 0:
		r.Queued(first.Position)
	default: // another member decides, and has not answered yet
		w.queued = make(chan int, 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.decided <- lock.Decision{Kind: lock.Refused, Request: id, Err: holdfast.ErrClosed}
		return w
	}
	if early, ok := s.early[id]; ok {
		delete(s.early, id)
		if early.Kind != lock.Queued {
			w.decided <- early
			return w
		}
		w.notify(early.Position)
	}
	s.waiting[id] = w
	return w
}

// await waits for the decision about a request, until ctx ends. Its caller must cancel one that is not decided then.
func (a *submitted) await(ctx context.Context, r *holdfast.Request) (decided bool) {
	if a.wait == nil {
		return true
	}
	queued := a.wait.queued
	for {
		select {
		case d := <-a.wait.decided:
			a.Answer = run.AnswerOf(&d)
			return true
		case position := <-queued:
			queued = nil
			r.Queued(position)
		case <-ctx.Done():
			d := a.wait.awaitDecision(ctx)
			a.Answer = run.AnswerOf(&d)
			return d.Kind == lock.Refused
		}
	}
}

// cancel ends a request permanently, because ctx has ended: if granted meanwhile, it is released.
func (s *localSession) cancel(ctx context.Context, port protocol.Port, name string, id uint64) error {
	cancel := &protocol.Cancel{Session: s.id, Name: name, Request: id}
	call := protocol.CallID{Sink: s.sink, Op: s.number()}
	_, _, err := s.driver.Call(protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: cancel})
	s.forget(id)
	if err != nil && !errors.Is(err, run.ErrClosed) {
		return err
	}
	return ctx.Err()
}

// forget removes the state of a request that is over.
func (s *localSession) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
	delete(s.early, id)
	s.held.remove(id)
}
