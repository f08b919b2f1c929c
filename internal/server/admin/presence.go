package admin

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// presence is the session that holds suspensions, and the sink of what is decided about
// them. It is opened when the first is asked for: most members never have one.
type presence struct {
	driver *run.Driver
	spaces []Space
	logger *slog.Logger
	last   atomic.Uint64 // number of a request, or of another call

	opening sync.Mutex // never taken within the driver's mutex, as mu is
	opened  bool
	sink    uint64
	session lock.SessionID

	mu       sync.Mutex
	closed   bool
	waiting  map[uint64]chan lock.Decision // by request; each takes one decision
	held     map[uint64]holding            // by request
	stopping map[uint64]*stopping          // by request: suspensions that are being given up
}

// stopping is the end of a suspension that was broken.
type stopping struct {
	op   uint64        // of its release
	said chan struct{} // closed when that is stepped
	over chan struct{} // closed when it is answered
}

func newPresence(c Config) *presence {
	return &presence{
		driver: c.Driver, spaces: c.Spaces, logger: c.Logger,
		waiting: map[uint64]chan lock.Decision{}, held: map[uint64]holding{}, stopping: map[uint64]*stopping{},
	}
}

// holding is a suspension that was granted.
type holding struct {
	port  protocol.Port
	token holdfast.Token
}

// enter opens the session if that is not there, and returns the number of a new request
// with the line on which its decision will come.
func (p *presence) enter() (number uint64, line <-chan lock.Decision, err error) {
	if err := p.open(); err != nil {
		return 0, nil, err
	}
	number = p.last.Add(1)
	decided := make(chan lock.Decision, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, nil, holdfast.ErrClosed
	}
	p.waiting[number] = decided
	return number, decided, nil
}

func (p *presence) open() error {
	p.opening.Lock()
	defer p.opening.Unlock()
	switch {
	case p.isClosed():
		return holdfast.ErrClosed
	case p.opened:
		return nil
	}
	p.sink = p.driver.Attach(p)
	reply, answered, err := p.driver.Call(protocol.Event{
		Kind: protocol.Call, Call: protocol.CallID{Sink: p.sink, Op: p.number()},
		Fact: &session.Open{Kind: session.Local, Client: Owner},
	})
	if err != nil {
		return holdfast.ErrClosed
	}
	opened, is := reply.Result.(*session.Opened)
	if !answered || !is {
		panic(fmt.Sprintf("operator: the opening of a session of this process was answered with %T", reply.Result))
	}
	if opened.Err != nil {
		p.driver.Detach(p.sink)
		return opened.Err
	}
	p.session, p.opened = opened.ID, true
	return nil
}

func (p *presence) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close gives up what is held, and lets nothing be asked for any more.
func (p *presence) close() {
	p.mu.Lock()
	p.closed = true
	ends := slices.Collect(maps.Values(p.stopping))
	p.mu.Unlock()
	for _, s := range ends {
		<-s.said
	}
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.opened {
		p.driver.Detach(p.sink)
		p.opened = false
	}
}

// number numbers a call that is no request.
func (p *presence) number() uint64 { return run.OwnCalls | p.last.Add(1) }

// say steps a call. Its answer is delivered, so that everything about a request comes in
// the order in which it was decided.
func (p *presence) say(port protocol.Port, op uint64, fact any) {
	p.driver.Step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: p.sink, Op: op}, Fact: fact})
}

// forget hangs up the line of a request.
func (p *presence) forget(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, number)
}

// Deliver takes what is decided about suspensions. It runs under the driver's mutex, so it
// only moves things.
func (p *presence) Deliver(replies []protocol.Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range replies {
		reply := &replies[i]
		d := &reply.Decision
		if d.Kind != 0 && (reply.To.Op == d.Request || d.Kind == lock.Released) {
			p.decided(reply.Port, d)
		}
		if s := p.stopping[d.Request]; s != nil && (reply.To.Op == s.op || d.Kind == lock.Released || d.Kind == lock.Lost) {
			close(s.over)
			delete(p.stopping, d.Request)
		}
	}
}

func (p *presence) decided(port protocol.Port, d *lock.Decision) {
	held, was := p.held[d.Request]
	switch d.Kind {
	case lock.Queued:
		return
	case lock.Granted:
		p.held[d.Request] = holding{port, d.Token}
	case lock.Refused, lock.Released:
		delete(p.held, d.Request)
	case lock.Lost:
		p.warn(port, d.Loss)
		delete(p.held, d.Request)
	case lock.Revoked:
		p.warn(port, d.Loss)
		delete(p.held, d.Request)
		if was && !p.closed { // else its session is about to end, and that with it
			s := &stopping{p.number(), make(chan struct{}), make(chan struct{})}
			p.stopping[d.Request] = s
			go p.giveUp(held, d.Request, s)
		}
	}
	if line := p.waiting[d.Request]; line != nil {
		delete(p.waiting, d.Request)
		line <- *d
	}
}

// warn logs the end of a suspension that its session has not ended. To resume one is
// nothing to warn of.
func (p *presence) warn(port protocol.Port, why holdfast.Loss) {
	level := slog.LevelWarn
	if why == holdfast.Broken {
		level = slog.LevelInfo
	}
	p.logger.Log(context.Background(), level, "a suspension has ended", "space", p.spaces[port-1].Name, "why", string(why))
}

// giveUp tells the authority, which waits for it, that a suspension that was broken has
// ended. It runs on a goroutine of its own, because it calls the driver.
func (p *presence) giveUp(h holding, request uint64, s *stopping) {
	defer close(s.said)
	p.say(h.port, s.op, &protocol.Release{Session: p.session, Name: lock.SpaceLock, Token: h.token, Request: request, Awaited: true})
}

// settle waits until what was broken has been given up, or ctx ends.
func (p *presence) settle(ctx context.Context) {
	p.mu.Lock()
	ends := slices.Collect(maps.Values(p.stopping))
	p.mu.Unlock()
	for _, s := range ends {
		select {
		case <-s.over:
		case <-ctx.Done():
			return
		}
	}
}
