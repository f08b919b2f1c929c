package server

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

// How many connections of the gRPC port are greeted at a time, how many more of those that have said
// something wait in the process, and how long one may take before it is counted no more.
const (
	greetedAtOnce = 256
	greetingLine  = 256
	greetingLimit = 2 * time.Second
)

// turnstile has the connections of a port greeted in turn: encrypted, made one of HTTP/2, and its first
// call heard. Where thousands come at once and all are served at the same time, each is finished when
// nearly all are, and their clients give up before; and what they cost keeps the heartbeats of the sessions
// that are here waiting. In turn the first are finished soon, and the others wait where they cost nothing: in
// the system's queue of connections that were not accepted. A connection that says nothing takes no turn,
// and keeps none from theirs.
type turnstile struct {
	most, longest int
	limit         time.Duration

	mu      sync.Mutex
	greeted int
	line    []*turn // who have said something
	shorter sync.Cond
	closed  bool
}

func newTurnstile(most, longest int, limit time.Duration) *turnstile {
	t := &turnstile{most: most, longest: longest, limit: limit}
	t.shorter.L = &t.mu
	return t
}

// turn is one connection's.
type turn struct {
	stile  *turnstile
	asked  atomic.Bool   // the connection has said something
	called chan struct{} // closed when it is its turn, or it is not wanted any more

	// The turnstile's mutex guards these.
	greeted bool
	over    bool
	timer   *time.Timer
}

func (t *turnstile) newTurn() *turn { return &turn{stile: t, called: make(chan struct{})} }

// await returns when the line has room for one more, or the port is closed.
func (t *turnstile) await() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.line) >= t.longest && !t.closed {
		t.shorter.Wait()
	}
}

// close lets nothing wait any more.
func (t *turnstile) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.shorter.Broadcast()
}

// take waits until it is the connection's turn, once.
func (c *turn) take() {
	if c.asked.Swap(true) {
		return
	}
	t := c.stile
	t.mu.Lock()
	switch {
	case c.over:
	case t.greeted < t.most:
		t.call(c)
	default:
		t.line = append(t.line, c)
	}
	t.mu.Unlock()
	<-c.called
}

// call says that it is c's turn. It is called with the mutex held.
func (t *turnstile) call(c *turn) {
	t.greeted++
	c.greeted = true
	c.timer = time.AfterFunc(t.limit, c.end)
	close(c.called)
}

// end says that the connection was greeted, is closed, or takes too long: the next one is called.
func (c *turn) end() {
	t := c.stile
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	if !c.greeted {
		close(c.called)
		return // whoever calls it from the line passes over it
	}
	c.timer.Stop()
	t.greeted--
	for len(t.line) > 0 && t.greeted < t.most {
		next := t.line[0]
		t.line[0] = nil
		t.line = t.line[1:]
		if !next.over {
			t.call(next)
		}
	}
	t.shorter.Signal()
}

// inTurn accepts connections no faster than they can be greeted.
type inTurn struct {
	net.Listener
	stile *turnstile
}

// Accept returns the next connection.
func (l inTurn) Accept() (net.Conn, error) {
	l.stile.await()
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &greetedConn{Conn: c, turn: l.stile.newTurn()}, nil
}

// Close accepts no connection any more.
func (l inTurn) Close() error {
	l.stile.close()
	return l.Listener.Close()
}

// greetedConn is read on when it is its turn.
type greetedConn struct {
	net.Conn
	turn *turn
}

// NetConn returns the connection that was accepted.
func (c *greetedConn) NetConn() net.Conn { return c.Conn }

// Read reads from the connection.
func (c *greetedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.turn.take()
	}
	return n, err
}

// Close closes the connection.
func (c *greetedConn) Close() error {
	c.turn.end()
	return c.Conn.Close()
}

// RemoteAddr returns where the connection comes from, and lets a call that came over it know whose turn it is.
func (c *greetedConn) RemoteAddr() net.Addr { return callerAddress{c.Conn.RemoteAddr(), c.turn} }

type callerAddress struct {
	net.Addr
	turn *turn
}

// wasGreeted says that a call has come over its connection, which needs no turn any more.
func wasGreeted(ctx context.Context) {
	if p, known := peer.FromContext(ctx); known {
		if from, is := p.Addr.(callerAddress); is {
			from.turn.end()
		}
	}
}
