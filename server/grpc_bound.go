package server

import (
	"net"
	"sync"
	"sync/atomic"
)

// boundListener accepts connections up to a number. One more is closed at once: a
// client that is turned away tries another member, one that hangs in the backlog
// does not know that it should.
type boundListener struct {
	net.Listener
	limit    int64
	open     atomic.Int64
	observer *Observer
}

func bound(l net.Listener, limit int, observer *Observer) net.Listener {
	return &boundListener{Listener: l, limit: int64(limit), observer: observer}
}

// Accept returns the next connection within the bound.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			return &boundConn{Conn: c, listener: l}, nil
		}
		l.open.Add(-1)
		l.observer.refused("connections")
		_ = c.Close() // it was never used, so there is nothing to lose
	}
}

// boundConn frees its place when it is closed.
type boundConn struct {
	net.Conn
	listener *boundListener
	once     sync.Once
}

// Close closes the connection.
func (c *boundConn) Close() error {
	c.once.Do(func() { c.listener.open.Add(-1) })
	return c.Conn.Close()
}
