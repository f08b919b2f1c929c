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

// How many connections of the gRPC port are greeted at a time, how many more with input wait in the process, and how
// long one may take before it no longer counts.
const (
	greetedAtOnce = 256
	greetingLine  = 256
	greetingLimit = 2 * time.Second
)

// turnstile limits concurrent handshakes of a port (package turns): TLS, the HTTP/2 preface, and the first call.
// Thousands of them at once would delay the heartbeats of existing sessions. The others wait where they cost nothing:
// in the system's queue of connections that were not accepted. A connection without input takes no turn, and blocks no
// other.
type turnstile struct {
	*turns.Turns
	longest int // maximum number of waiting connections with input
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

// Close stops accepting connections.
func (l inTurn) Close() error {
	l.stile.Close()
	return l.Listener.Close()
}

// greetedConn is a connection that is read further only in its turn.
type greetedConn struct {
	net.Conn
	stile *turnstile
	said  atomic.Bool // it has sent input

	mu   sync.Mutex
	turn *turns.Turn // nil before its first input
	over bool        // it was greeted, or is closed
}

func (t *turnstile) greet(c net.Conn) *greetedConn { return &greetedConn{Conn: c, stile: t} }

// await waits for the connection's turn, once.
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

// greeted ends the connection's turn.
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

// RemoteAddr returns the remote address, by which a call on the connection can end its turn.
func (c *greetedConn) RemoteAddr() net.Addr { return callerAddress{c.Conn.RemoteAddr(), c} }

type callerAddress struct {
	net.Addr
	conn *greetedConn
}

// wasGreeted ends the turn of a call's connection.
func wasGreeted(ctx context.Context) {
	if p, known := peer.FromContext(ctx); known {
		if from, is := p.Addr.(callerAddress); is {
			from.conn.greeted()
			if counted, is := from.conn.Conn.(*boundConn); is {
				counted.hasCalled()
			}
		}
	}
}
