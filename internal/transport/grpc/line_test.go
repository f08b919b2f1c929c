package grpc

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// line is a network within the process, whose connections can be cut without a word.
// Nothing of it waits for the world outside, so that it runs in a synctest bubble.
type line struct {
	mu        sync.Mutex
	listeners map[string]*ear
	severed   bool
	delay     time.Duration // of bytes on connections that are made from now on, each way
	dials     int
	ends      []*end
	changed   chan struct{}
}

func newLine() *line { return &line{listeners: map[string]*ear{}, changed: make(chan struct{})} }

// start starts a member on the line.
func (l *line) start(t *testing.T, id protocol.ID, change func(*Config)) *peerHarness {
	t.Helper()
	e := &ear{line: l, address: fmt.Sprintf("m%d:4040", id), calls: make(chan net.Conn), closed: make(chan struct{})}
	l.mu.Lock()
	l.listeners[e.address] = e
	l.mu.Unlock()
	identity := transport.Identity{ID: id, Incarnation: 1, Cluster: 77, Name: fmt.Sprintf("m%d", id), Address: e.address}
	return startOn(t, e, identity, func(c *Config) {
		c.Dial = l.dial
		if change != nil {
			change(c)
		}
	})
}

// await waits until a connection was asked for n times.
func (l *line) await(t testing.TB, n int) {
	t.Helper()
	wait(t, fmt.Sprintf("for connection %d", n), func() (bool, <-chan struct{}) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.dials >= n, l.changed
	})
}

func (l *line) dial(ctx context.Context, address string) (net.Conn, error) {
	l.mu.Lock()
	l.dials++
	close(l.changed)
	l.changed = make(chan struct{})
	severed, listener, delay := l.severed, l.listeners[address], l.delay
	l.mu.Unlock()
	if severed {
		<-ctx.Done() // as a packet that is thrown away
		return nil, ctx.Err()
	}
	if listener == nil {
		return nil, syscall.ECONNREFUSED
	}
	near, far := net.Pipe()
	if delay > 0 {
		near, far = later(near, delay), later(far, delay)
	}
	cut := make(chan struct{})
	ends := []*end{
		{Conn: near, cut: cut, closed: make(chan struct{})},
		{Conn: far, cut: cut, closed: make(chan struct{})},
	}
	select {
	case listener.calls <- ends[1]:
	case <-listener.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	l.ends = append(l.ends, ends[0])
	l.mu.Unlock()
	return ends[0], nil
}

// sever lets nothing through any more on the connections that there are, and, until
// mend, on new ones.
func (l *line) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed = true
	for _, e := range l.ends {
		close(e.cut)
	}
	l.ends = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed = false
}

// ear is where a member of the line listens.
type ear struct {
	line    *line
	address string
	calls   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (e *ear) Accept() (net.Conn, error) {
	select {
	case conn := <-e.calls:
		return conn, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

func (e *ear) Close() error {
	e.once.Do(func() {
		close(e.closed)
		e.line.mu.Lock()
		delete(e.line.listeners, e.address)
		e.line.mu.Unlock()
	})
	return nil
}

func (e *ear) Addr() net.Addr { return &net.UnixAddr{Name: e.address, Net: "unix"} }

// end is one end of a connection that may be cut: what is written is lost, and
// nothing comes, not even that the other end is gone.
type end struct {
	net.Conn
	cut    chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (e *end) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	select {
	case <-e.cut:
		<-e.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (e *end) Write(b []byte) (int, error) {
	select {
	case <-e.cut:
		return len(b), nil
	default:
	}
	n, err := e.Conn.Write(b)
	select {
	case <-e.cut:
		return len(b), nil
	default:
		return n, err
	}
}

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.Conn.Close()
}

// slow is one end of a connection on which everything that is written here arrives later.
type slow struct {
	net.Conn
	said   chan saying
	delay  time.Duration
	closed chan struct{}
	once   sync.Once
}

// saying is what was written at once, and when it arrives.
type saying struct {
	data []byte
	at   time.Time
}

func later(conn net.Conn, delay time.Duration) net.Conn {
	s := &slow{Conn: conn, said: make(chan saying, 1<<12), delay: delay, closed: make(chan struct{})}
	go s.carry()
	return s
}

// carry lets what was written arrive, in order.
func (s *slow) carry() {
	for {
		select {
		case next := <-s.said:
			select {
			case <-time.After(time.Until(next.at)):
			case <-s.closed:
				return
			}
			if _, err := s.Conn.Write(next.data); err != nil {
				return // the other end is gone
			}
		case <-s.closed:
			return
		}
	}
}

func (s *slow) Write(b []byte) (int, error) {
	select {
	case s.said <- saying{bytes.Clone(b), time.Now().Add(s.delay)}:
		return len(b), nil
	case <-s.closed:
		return 0, net.ErrClosed
	}
}

func (s *slow) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}
