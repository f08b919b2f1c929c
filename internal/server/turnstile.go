package server

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/holdfast-locks/holdfast/internal/turns"
)

// How many connections of the gRPC port are greeted at a time, how many more of those that have said
// something wait in the process, and how long one may take before it is counted no more.
const (
	greetedAtOnce = 256
	greetingLine  = 256
	greetingLimit = 2 * time.Second
)

// turnstile has the connections of a port greeted in turn (package turns): encrypted, made one of HTTP/2, and its first
// call heard. Thousands of them at once would delay the heartbeats of present sessions. Those
// whose turn has not come wait where they cost nothing: in the system's queue of connections that were not accepted. A
// connection that says nothing takes no turn, and keeps none from theirs.
type turnstile struct {
	*turns.Turns
	longest int // line of connections that have said something
}

func newTurnstile(most, longest int, limit time.Duration) *turnstile {
	return &turnstile{turns.New(most, limit), longest}
}

// inTurn accepts connections no faster than they can be greeted.
type inTurn struct {
	net.Listener
	stile *turnstile
}

// Accept returns the next connection.
func (l inTurn) Accept() (net.Conn, error) {
	l.stile.AwaitRoom(l.stile.longest)
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.stile.greet(c), nil
}

// Close accepts no connection any more.
func (l inTurn) Close() error {
	l.stile.Close()
	return l.Listener.Close()
}

// greetedConn is read on when it is its turn.
type greetedConn struct {
	net.Conn
	stile *turnstile
	said  atomic.Bool // something

	mu   sync.Mutex
	turn *turns.Turn // nil before it has said something
	over bool        // it was greeted, or is closed
}

func (t *turnstile) greet(c net.Conn) *greetedConn { return &greetedConn{Conn: c, stile: t} }

// await waits until it is the connection's turn, once.
func (c *greetedConn) await() {
	if c.said.Swap(true) {
		return
	}
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.turn = c.stile.Enqueue(false)
	c.mu.Unlock()
	<-c.turn.Come()
}

// greeted says that the connection needs no turn any more.
func (c *greetedConn) greeted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.turn != nil {
		c.turn.End()
	}
}

// NetConn returns the connection that was accepted.
func (c *greetedConn) NetConn() net.Conn { return c.Conn }

// Read reads from the connection.
func (c *greetedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.await()
	}
	return n, err
}

// Close closes the connection.
func (c *greetedConn) Close() error {
	c.greeted()
	return c.Conn.Close()
}

// RemoteAddr returns where the connection comes from, and lets a call that came over it end its turn.
func (c *greetedConn) RemoteAddr() net.Addr { return callerAddress{c.Conn.RemoteAddr(), c} }

type callerAddress struct {
	net.Addr
	conn *greetedConn
}

// wasGreeted says that a call has come over its connection, which needs no turn any more.
func wasGreeted(ctx context.Context) {
	if p, known := peer.FromContext(ctx); known {
		if from, is := p.Addr.(callerAddress); is {
			from.conn.greeted()
		}
	}
}
