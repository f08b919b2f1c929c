package server

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// boundListener accepts connections up to a number. One more is closed at once: a
// client that is turned away tries another member, one that hangs in the backlog
// does not know that it should.
type boundListener struct {
	net.Listener
	limit    int64
	open     atomic.Int64
	observer *Observer
	inUse    prometheus.Gauge
}

func bound(l net.Listener, limit int, observer *Observer) *boundListener {
	return &boundListener{Listener: l, limit: int64(limit), observer: observer, inUse: prometheus.NewGauge(prometheus.GaugeOpts{})}
}

// as says in the metrics of which port the connections are, grpc or http.
func (l *boundListener) as(port string) *boundListener {
	l.inUse = l.observer.open.WithLabelValues(port)
	return l
}

// Accept returns the next connection within the bound.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			l.inUse.Inc()
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

// NetConn returns the connection that was accepted.
func (c *boundConn) NetConn() net.Conn { return c.Conn }

// Close closes the connection.
func (c *boundConn) Close() error {
	c.once.Do(func() {
		c.listener.open.Add(-1)
		c.listener.inUse.Dec()
	})
	return c.Conn.Close()
}
