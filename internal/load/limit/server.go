package limit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Server is the lock server.
type Server struct {
	listener net.Listener

	mu          sync.Mutex
	table       table
	connections map[*connection]struct{}
	closing     bool
	work        sync.WaitGroup
}

// NewServer returns a server for the connections of a listener, which it closes.
func NewServer(listener net.Listener) *Server {
	return &Server{
		listener:    listener,
		table:       table{entries: map[string]*entry{}},
		connections: map[*connection]struct{}{},
	}
}

// Serve serves until ctx ends, and returns when all connections are closed.
func (s *Server) Serve(ctx context.Context) error {
	defer s.work.Wait()
	defer context.AfterFunc(ctx, s.close)()
	for {
		accepted, err := s.listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = accepted.Close() // it has not been served
			}
			return nil
		case err != nil:
			s.close()
			return fmt.Errorf("accept a connection: %w", err)
		}
		c := &connection{net: accepted, wake: make(chan struct{}, 1), gone: make(chan struct{})}
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			_ = accepted.Close() // it has not been served
			continue
		}
		s.connections[c] = struct{}{}
		s.work.Add(2)
		s.mu.Unlock()
		go s.serve(c)
		go func() {
			defer s.work.Done()
			c.writeWhenWoken()
		}()
	}
}

func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	_ = s.listener.Close() // nothing is lost with it
	for c := range s.connections {
		_ = c.net.Close() // its reader then ends the rest
	}
}

// readBytes is the maximum that is read, and executed, at once.
const readBytes = 1 << 16

// serve executes a connection's requests until it ends.
func (s *Server) serve(c *connection) {
	defer s.work.Done()
	defer s.end(c)
	buffer := make([]byte, readBytes)
	kept := 0
	for {
		n, err := c.net.Read(buffer[kept:])
		if err != nil {
			return // the other side has gone: its locks end too
		}
		rest, err := s.executeAll(c, buffer[:kept+n])
		if err != nil {
			return // the end of the connection reports it, by the protocol
		}
		kept = copy(buffer, rest)
		if c.flush() != nil {
			return
		}
	}
}

// executeAll executes all complete requests under one lock, and wakes the writers of other connections with answers. It
// returns the rest.
func (s *Server) executeAll(c *connection, read []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.wakeTouched()
	for {
		r, rest, whole, err := cutRequest(read)
		if err != nil || !whole {
			return read, err
		}
		if err := s.table.execute(c, r); err != nil {
			return nil, err
		}
		read = rest
	}
}

func (s *Server) wakeTouched() {
	for _, c := range s.table.touched {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	s.table.touched = s.table.touched[:0]
}

// end frees all locks and waits of a connection.
func (s *Server) end(c *connection) {
	c.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
	s.table.drop(c)
	s.wakeTouched()
}

// connection is one client's.
type connection struct {
	net   net.Conn
	wake  chan struct{} // signals answers left by another connection's goroutine
	gone  chan struct{} // closed when it is over
	slots []*entry      // by id; guarded by the server's lock

	mu      sync.Mutex
	over    bool
	answers []byte
	writing sync.Mutex // held while writing; its owner owns spare
	spare   []byte
}

// maxAnswers bounds the unread answers of a client.
const maxAnswers = answerBytes * 4 * MaxRequests

var errUnread = errors.New("the client does not read its answers")

// answer queues an answer.
func (c *connection) answer(op operation, id uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || len(c.answers) >= maxAnswers {
		return errUnread
	}
	c.answers = appendAnswer(c.answers, op, id)
	return nil
}

// flush writes the queued answers.
func (c *connection) flush() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	c.answers, c.spare = c.spare[:0], c.answers
	c.mu.Unlock()
	if len(c.spare) == 0 {
		return nil
	}
	_, err := c.net.Write(c.spare)
	return err
}

// writeWhenWoken writes answers left by other connections' goroutines.
func (c *connection) writeWhenWoken() {
	for {
		select {
		case <-c.wake:
			if c.flush() != nil {
				_ = c.net.Close() // its reader ends the rest
				return
			}
		case <-c.gone:
			return
		}
	}
}

// drop ends the connection.
func (c *connection) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	_ = c.net.Close() // it is over either way
	close(c.gone)
}
