package limit

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
)

// ErrClosed is the error of calls on a connection that has ended.
var ErrClosed = errors.New("the connection to the limit server has ended")

// Client is one connection, shared by many workers.
type Client struct {
	net        net.Conn
	tls        *tls.Config // nil without encryption
	dontAwait  bool        // Unlock does not wait for its acknowledgement
	readerGone chan struct{}

	mu       sync.Mutex
	err      error   // why it has ended
	slots    []*Hold // by id
	free     []*Hold
	requests []byte
	spare    []byte // used by the writer
	writing  bool
}

// Hold is a lock that is held, or, inside this package, a request under way. After its unlock it may be reused.
type Hold struct {
	client  *Client
	id      uint32
	state   state
	answers chan operation // receives the awaited answer
	queued  func()
}

type state byte

const (
	idle      state = iota
	requested       // waiting for a grant
	holding         // granted
	leaving         // a release was sent, its acknowledgement is awaited
	abandoned       // a release was sent, its acknowledgement is not awaited
)

// Option configures a Client.
type Option func(*Client)

// Queued makes Unlock return once the release is sent.
func Queued() Option { return func(c *Client) { c.dontAwait = true } }

// TLS encrypts the connection; the server's listener must do the same.
func TLS(config *tls.Config) Option { return func(c *Client) { c.tls = config } }

// Dial connects to a server.
func Dial(ctx context.Context, address string, options ...Option) (*Client, error) {
	c := &Client{readerGone: make(chan struct{})}
	for _, option := range options {
		option(c)
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if c.tls != nil {
		dialer = &tls.Dialer{Config: c.tls}
	}
	var err error
	if c.net, err = dialer.DialContext(ctx, "tcp", address); err != nil {
		return nil, fmt.Errorf("connect to the limit server: %w", err)
	}
	go c.read()
	return c, nil
}

// Close ends the connection, and with it all its locks.
func (c *Client) Close() error {
	err := c.net.Close()
	<-c.readerGone
	if err != nil {
		return fmt.Errorf("close the connection to the limit server: %w", err)
	}
	return nil
}

// Lock waits for a name, of 1 to MaxName bytes. ctx ends the wait.
func (c *Client) Lock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, acquire, name, nil)
}

// LockAnnounced is Lock that calls queued once if it has to wait, when the server has queued it. It must not block.
func (c *Client) LockAnnounced(ctx context.Context, name string, queued func()) (*Hold, error) {
	return c.lock(ctx, announce, name, queued)
}

func (c *Client) lock(ctx context.Context, op operation, name string, queued func()) (*Hold, error) {
	if len(name) == 0 || len(name) > MaxName {
		return nil, fmt.Errorf("a name of %d bytes; 1 to %d are allowed", len(name), MaxName)
	}
	c.mu.Lock()
	s, err := c.take()
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	s.state, s.queued = requested, queued
	c.send(op, s.id, name)
	select {
	case _, answered := <-s.answers:
		if !answered {
			return nil, c.ended()
		}
		return s, nil
	case <-ctx.Done():
		return nil, c.desert(s, ctx.Err())
	}
}

// desert releases a request, granted or not.
func (c *Client) desert(s *Hold, why error) error {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return why
	}
	if s.state == holding {
		<-s.answers // the grant that has crossed
	}
	s.state = abandoned
	c.send(release, s.id, "")
	return why
}

// Unlock releases the lock. It is called once.
func (s *Hold) Unlock(ctx context.Context) error {
	c := s.client
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	if s.state = leaving; c.dontAwait {
		s.state = abandoned
	}
	c.send(release, s.id, "")
	if c.dontAwait {
		return nil
	}
	select {
	case _, answered := <-s.answers:
		if !answered {
			return c.ended()
		}
		c.mu.Lock()
		c.give(s)
		c.mu.Unlock()
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.state == idle { // the acknowledgement has crossed
			<-s.answers
			c.give(s)
		} else if c.err == nil {
			s.state = abandoned
		}
		return ctx.Err()
	}
}

func (c *Client) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// take returns a free slot. It is called with the mutex held.
func (c *Client) take() (*Hold, error) {
	if c.err != nil {
		return nil, c.err
	}
	if last := len(c.free) - 1; last >= 0 {
		s := c.free[last]
		c.free = c.free[:last]
		return s, nil
	}
	if len(c.slots) == MaxRequests {
		return nil, fmt.Errorf("%d requests are under way or held, more are not allowed", MaxRequests)
	}
	s := &Hold{client: c, id: uint32(len(c.slots)), answers: make(chan operation, 1)}
	c.slots = append(c.slots, s)
	return s, nil
}

// give frees a slot. It is called with the mutex held.
func (c *Client) give(s *Hold) {
	s.state, s.queued = idle, nil
	c.free = append(c.free, s)
}

// send writes a request, or leaves it to the worker that is writing. It is called with the mutex held, and releases it.
// Write errors come back through the reader.
func (c *Client) send(op operation, id uint32, name string) {
	c.requests = appendRequest(c.requests, op, id, name)
	if c.writing {
		c.mu.Unlock()
		return
	}
	c.writing = true
	if len(c.slots)-len(c.free) > 1 {
		// Other runnable workers add theirs.
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	for len(c.requests) > 0 {
		c.requests, c.spare = c.spare[:0], c.requests
		c.mu.Unlock()
		if _, err := c.net.Write(c.spare); err != nil {
			_ = c.net.Close() // the reader informs all
		}
		c.mu.Lock()
	}
	c.writing = false
	c.mu.Unlock()
}

// read passes the server's answers to the workers until the connection ends.
func (c *Client) read() {
	defer close(c.readerGone)
	buffer := make([]byte, readBytes)
	kept := 0
	for {
		n, err := c.net.Read(buffer[kept:])
		if err != nil {
			c.end(err)
			return
		}
		rest := buffer[:kept+n]
		c.mu.Lock()
		for len(rest) >= answerBytes && err == nil {
			err = c.hear(operation(rest[0]), binary.BigEndian.Uint32(rest[1:]))
			rest = rest[answerBytes:]
		}
		c.mu.Unlock()
		if err != nil {
			_ = c.net.Close() // a server that breaks the protocol
			c.end(err)
			return
		}
		kept = copy(buffer, rest)
	}
}

// hear handles one answer. It is called with the mutex held.
func (c *Client) hear(op operation, id uint32) error {
	if int(id) >= len(c.slots) {
		return fmt.Errorf("%w: an answer for id %d", errProtocol, id)
	}
	s := c.slots[id]
	switch {
	case op == granted && s.state == requested:
		s.state = holding
		s.answers <- op
	case op == granted && s.state == abandoned: // it crossed the release
	case op == queued && s.state == requested && s.queued != nil:
		s.queued()
	case op == queued && s.state == abandoned: // it crossed the release
	case op == released && s.state == leaving:
		s.state = idle
		s.answers <- op
	case op == released && s.state == abandoned:
		c.give(s)
	default:
		return fmt.Errorf("%w: answer %d in state %d", errProtocol, op, s.state)
	}
	return nil
}

// end informs all waiters that the connection has ended.
func (c *Client) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(why, net.ErrClosed) || errors.Is(why, io.EOF) {
		c.err = ErrClosed
	} else {
		c.err = fmt.Errorf("%w: %w", ErrClosed, why)
	}
	for _, s := range c.slots {
		if s.state == requested || s.state == leaving {
			close(s.answers)
		}
	}
}
