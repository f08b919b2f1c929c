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

// presence is the session that holds suspensions, and the sink of decisions about them. It is opened for the first
// suspension: most members never have one.
type presence struct {
	driver *run.Driver
	spaces []Space
	logger *slog.Logger
	last   atomic.Uint64 // number of the latest request or other call

	opening sync.Mutex // never locked within the driver's mutex; neither is mu
	opened  bool
	sink    uint64
	session lock.SessionID

	mu       sync.Mutex
	closed   bool
	waiting  map[uint64]chan lock.Decision // by request; each receives one decision
	held     map[uint64]holding            // by request
	stopping map[uint64]*stopping          // by request: suspensions being given up
}

// stopping is the end of a broken suspension.
type stopping struct {
	op   uint64        // of its release
	said chan struct{} // closed when the release is stepped
	over chan struct{} // closed when the release is answered
}

func newPresence(c Config) *presence {
	return &presence{
		driver: c.Driver, spaces: c.Spaces, logger: c.Logger,
		waiting: map[uint64]chan lock.Decision{}, held: map[uint64]holding{}, stopping: map[uint64]*stopping{},
	}
}

// holding is a granted suspension.
type holding struct {
	port  protocol.Port
	token holdfast.Token
}

// enter opens the session if necessary, and returns the number of a new request with the channel for its decision.
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

// close releases all holds, and allows no further requests.
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

// number numbers a call that is not a request.
func (p *presence) number() uint64 { return run.OwnCalls | p.last.Add(1) }

// say steps a call. Its answer is delivered to the sink, so that everything about a request arrives in the order of the
// decisions.
func (p *presence) say(port protocol.Port, op uint64, fact any) {
	p.driver.Step(protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: p.sink, Op: op}, Fact: fact})
}

// forget closes the channel of a request.
func (p *presence) forget(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, number)
}

// Deliver receives decisions about suspensions. It runs under the driver's mutex, so it only moves data.
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
		if was && !p.closed { // otherwise its session is about to end, and the suspension with it
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

// warn logs the end of a suspension, unless its session ended it. Resuming one is not worth a warning.
func (p *presence) warn(port protocol.Port, why holdfast.Loss) {
	level := slog.LevelWarn
	if why == holdfast.Broken {
		level = slog.LevelInfo
	}
	p.logger.Log(context.Background(), level, "a suspension has ended", "space", p.spaces[port-1].Name, "why", string(why))
}

// giveUp confirms to the waiting authority that a broken suspension has ended. It runs on its own goroutine, because it
// calls the driver.
func (p *presence) giveUp(h holding, request uint64, s *stopping) {
	defer close(s.said)
	p.say(h.port, s.op, &protocol.Release{Session: p.session, Name: lock.SpaceLock, Token: h.token, Request: request, Awaited: true})
}

// settle waits until broken suspensions have been given up, or ctx ends.
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
