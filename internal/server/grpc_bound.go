package server

import (
	"container/list"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-locks/holdfast/internal/descriptors"
	"github.com/holdfast-locks/holdfast/internal/sparing"
)

// perAddress is the limit of connections from one address, as refusals name it.
const perAddress = "connections_per_address"

// doors are shared by all listeners of a server: they divide the process's descriptors, so that disk files and
// connections to other members get theirs.
type doors struct {
	most  int // maximum connections of all listeners together
	each  int // of one: a flood at one port leaves the other its half
	ofOne int // of one address at one listener; 0 means a quarter of the listener's
	// patience is how long a connection may go without a first call before a newcomer gets its place.
	patience time.Duration
	origin   func(net.Addr) string // the address that a connection counts for; "" for none
	now      func() time.Time
	open     atomic.Int64
	log      sparing.Log
	logger   *slog.Logger
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
	return &doors{
		most: most, each: max(most/2, 1), ofOne: l.ConnectionsPerAddress, patience: l.Header,
		origin: originOf, now: time.Now, logger: logger,
	}
}

// originOf returns the address that a connection counts for, for IPv6 its /64; "" if it comes from this machine.
func originOf(address net.Addr) string {
	tcp, is := address.(*net.TCPAddr)
	if !is || tcp.IP.IsLoopback() {
		return ""
	}
	return clientName(tcp.String(), "")
}

// say logs events at a bound once a minute.
func (d *doors) say(sentence string, args ...any) {
	if news, held := d.log.News(sentence); news {
		d.logger.Warn(sentence, append(args, "times_before", held)...)
	}
}

// boundListener accepts a limited number of connections, in all and from one address. One more is closed at once: a
// rejected client tries another member, while one stuck in the backlog does not know that it should. In all, one more
// gets the place of the oldest connection that has gone without a call for a while, if there is one.
type boundListener struct {
	net.Listener
	limit    int64
	open     atomic.Int64
	observer *Observer
	inUse    prometheus.Gauge
	doors    *doors
	port     string

	mu        sync.Mutex
	origins   map[string]int // connections by address
	strangers list.List      // of *boundConn that have made no call yet, the oldest first
}

func bound(l net.Listener, limit int, observer *Observer) *boundListener {
	return &boundListener{
		Listener: l, limit: int64(limit), observer: observer, inUse: prometheus.NewGauge(prometheus.GaugeOpts{}), origins: map[string]int{},
	}
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
		from, known := l.enterFrom(c)
		if known && (l.enter() || l.replace() && l.enter()) {
			l.inUse.Inc()
			return l.keep(c, from), nil
		}
		_ = c.Close() // it was never used, so there is nothing to lose
		if known {
			l.leaveFrom(from)
			l.refuse("connections", "a connection is closed at once: as many as may be are open (limits.connections, or the limit of open files)",
				"open", l.open.Load(), "most", l.limit)
		}
	}
}

// refuse counts and logs a connection that is closed because of a bound.
func (l *boundListener) refuse(limit, sentence string, args ...any) {
	l.observer.refused(limit)
	if l.doors != nil {
		l.doors.say(sentence, append([]any{"port", l.port}, args...)...)
	}
}

// ofOne returns the bound of one address.
func (l *boundListener) ofOne() int {
	if l.doors.ofOne > 0 {
		return l.doors.ofOne
	}
	return int(max(l.limit/4, 1))
}

// enterFrom takes a place for a connection among those of its address. It reports false after refusing the connection.
func (l *boundListener) enterFrom(c net.Conn) (from string, ok bool) {
	if l.doors == nil {
		return "", true
	}
	if from = l.doors.origin(c.RemoteAddr()); from == "" {
		return from, true
	}
	most := l.ofOne()
	l.mu.Lock()
	open := l.origins[from]
	if ok = open < most; ok {
		l.origins[from]++
	}
	l.mu.Unlock()
	if !ok {
		l.refuse(perAddress, "a connection is closed at once: its address has as many as one may have (limits.connections_per_address)",
			"from", from, "open", open, "most", most)
	}
	return from, ok
}

// leaveFrom returns a place of enterFrom.
func (l *boundListener) leaveFrom(from string) {
	if from == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origins[from]--; l.origins[from] == 0 {
		delete(l.origins, from)
	}
}

// keep returns an accepted connection, which has made no call yet.
func (l *boundListener) keep(c net.Conn, from string) *boundConn {
	b := &boundConn{Conn: c, listener: l, from: from}
	if l.doors != nil {
		b.since = l.doors.now()
		l.mu.Lock()
		b.place = l.strangers.PushBack(b)
		l.mu.Unlock()
	}
	return b
}

// replace closes the oldest connection that has made no call, if it had time for one, and reports whether it did.
func (l *boundListener) replace() bool {
	if l.doors == nil {
		return false
	}
	var oldest *boundConn
	l.mu.Lock()
	if front := l.strangers.Front(); front != nil {
		oldest, _ = front.Value.(*boundConn)
	}
	l.mu.Unlock()
	if oldest == nil || l.doors.now().Sub(oldest.since) < l.doors.patience {
		return false
	}
	_ = oldest.Close() // its owner closes it again, and learns of the end by reading
	l.refuse("connections", "a connection without a call is closed for a newcomer: as many as may be are open (limits.connections, or the limit of open files)",
		"from", oldest.RemoteAddr().String(), "most", l.limit)
	return true
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
	from     string // the address that it counts for; "" for none
	since    time.Time
	place    *list.Element // among the strangers; nil if it is not counted
	called   atomic.Bool   // it is no stranger any more
	once     sync.Once
}

// hasCalled records that the connection has made a call, or is closed: no newcomer gets its place.
func (c *boundConn) hasCalled() {
	if c.place == nil || c.called.Swap(true) {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.strangers.Remove(c.place)
}

// NetConn returns the connection that was accepted.
func (c *boundConn) NetConn() net.Conn { return c.Conn }

// Close closes the connection.
func (c *boundConn) Close() error {
	c.once.Do(func() {
		c.hasCalled()
		c.listener.leaveFrom(c.from)
		c.listener.leave()
		c.listener.inUse.Dec()
	})
	return c.Conn.Close()
}
