package server

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-locks/holdfast/internal/descriptors"
	"github.com/holdfast-locks/holdfast/internal/sparing"
)

// doors are shared by all listeners of a server: they divide the process's descriptors, so that disk files and
// connections to other members get theirs.
type doors struct {
	most   int // maximum connections of all listeners together
	each   int // of one: a flood at one port leaves the other its half
	open   atomic.Int64
	log    sparing.Log
	logger *slog.Logger
}

// newDoors divides the process's descriptors.
func newDoors(l Limits, logger *slog.Logger) *doors {
	d := quietDoors(l, logger)
	if d.each < l.Connections {
		logger.Info("each port serves fewer connections than limits.connections: this process may not open more files; raise that limit (ulimit -n, LimitNOFILE=)",
			"connections", d.each, "limits.connections", l.Connections, "files", l.Descriptors)
	}
	return d
}

// quietDoors is newDoors without logging.
func quietDoors(l Limits, logger *slog.Logger) *doors {
	most := descriptors.ForConnections(l.Descriptors)
	return &doors{most: most, each: max(most/2, 1), logger: logger}
}

// say logs events at a bound once a minute.
func (d *doors) say(sentence string, args ...any) {
	if news, held := d.log.News(sentence); news {
		d.logger.Warn(sentence, append(args, "times_before", held)...)
	}
}

// boundListener accepts a limited number of connections. One more is closed at once: a rejected client tries another
// member, while one stuck in the backlog does not know that it should.
type boundListener struct {
	net.Listener
	limit    int64
	open     atomic.Int64
	observer *Observer
	inUse    prometheus.Gauge
	doors    *doors
	port     string
}

func bound(l net.Listener, limit int, observer *Observer) *boundListener {
	return &boundListener{Listener: l, limit: int64(limit), observer: observer, inUse: prometheus.NewGauge(prometheus.GaugeOpts{})}
}

// as sets the connections' port in the metrics, grpc or http.
func (l *boundListener) as(port string) *boundListener {
	l.inUse, l.port = l.observer.open.WithLabelValues(port), port
	return l
}

// among makes the listener share the process's descriptors with others.
func (l *boundListener) among(d *doors) *boundListener {
	l.doors, l.limit = d, min(l.limit, int64(d.each))
	return l
}

// Accept returns the next connection within the bound.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, l.fail(err)
		}
		if l.enter() {
			l.inUse.Inc()
			return &boundConn{Conn: c, listener: l}, nil
		}
		l.observer.refused("connections")
		_ = c.Close() // it was never used, so there is nothing to lose
		if l.doors != nil {
			l.doors.say("a connection is closed at once: as many as may be are open (limits.connections, or the limit of open files)",
				"port", l.port, "open", l.open.Load(), "most", l.limit)
		}
	}
}

// enter takes a place for a connection, if there is one.
func (l *boundListener) enter() bool {
	if l.open.Add(1) > l.limit {
		l.open.Add(-1)
		return false
	}
	if l.doors != nil && l.doors.open.Add(1) > int64(l.doors.most) {
		l.leave()
		return false
	}
	return true
}

// leave returns a place.
func (l *boundListener) leave() {
	l.open.Add(-1)
	if l.doors != nil {
		l.doors.open.Add(-1)
	}
}

// fail counts a connection refused for lack of descriptors. The servers accept again after a while.
func (l *boundListener) fail(err error) error {
	if descriptors.Exhausted(err) {
		l.observer.refused("files")
		if l.doors != nil {
			l.doors.say("a connection waits to be accepted: this process, or the machine, can open no more files; raise that limit (ulimit -n, LimitNOFILE=)",
				"port", l.port, "error", err)
		}
	}
	return err
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
		c.listener.leave()
		c.listener.inUse.Dec()
	})
	return c.Conn.Close()
}
