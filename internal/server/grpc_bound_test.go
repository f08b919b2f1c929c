package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// logCapture keeps what is logged.
type logCapture struct {
	sync.Mutex
	text bytes.Buffer
}

func (d *logCapture) Write(p []byte) (int, error) {
	d.Lock()
	defer d.Unlock()
	return d.text.Write(p)
}

// has wants so many lines with these words.
func (d *logCapture) has(t *testing.T, fragment string, lines int) {
	t.Helper()
	d.Lock()
	defer d.Unlock()
	if n := strings.Count(d.text.String(), fragment); n != lines {
		t.Errorf("%d lines have %q, want %d:\n%s", n, fragment, lines, d.text.String())
	}
}

// TestConnectionsLeaveDescriptors: however many connections are allowed, each port serves at most its share of what the
// process may open; one more is closed, counted, and logged once.
func TestConnectionsLeaveDescriptors(t *testing.T) {
	var log logCapture
	b := newHarness(t, func(c *Config) {
		c.Limits.Connections, c.Limits.Descriptors = 100, 20 // 10 for connections, 5 for each port
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}, nil)
	client := b.open() // one
	for range 4 {
		greeted(t, b.raw())
	}
	for i := range 3 {
		if n, err := b.raw().Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d was answered with %d bytes", 6+i, n)
		}
	}
	client.serves(1)
	if n := refusals(t, b, "connections"); n != 3 {
		t.Errorf("%v connections were counted", n)
	}
	log.has(t, "as many as may be are open", 1)
	log.has(t, "each port serves fewer connections than limits.connections", 1)
}

// refusals returns how much input was refused for a reason.
func refusals(t *testing.T, b *harness, why string) float64 {
	t.Helper()
	families, err := b.service.observer.registry.Gather()
	must(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "holdfast_refused_total" && m.GetLabel()[0].GetValue() == why {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Errorf("nothing counts what is refused by %s", why)
	return 0
}

// greeted wants a connection that is served.
func greeted(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := fmt.Fprint(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	must(t, err)
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatalf("a connection within the bound: %v", err)
	}
}

// TestDoors: all listeners together have no more connections than there are descriptors for.
func TestDoors(t *testing.T) {
	d := newDoors(Limits{Connections: 100, Descriptors: 8}, slog.New(slog.DiscardHandler)) // 4, 2 for each
	observer := NewObserver(nil)
	var all []*boundListener
	for range 3 {
		all = append(all, bound(nil, 100, observer).as("grpc").among(d))
	}
	for i, want := range [][]bool{{true, true, false}, {true, true, false}, {false}} {
		for j, want := range want {
			if got := all[i].enter(); got != want {
				t.Errorf("connection %d of listener %d: %v", j, i, got)
			}
		}
	}
	all[0].leave()
	if !all[2].enter() {
		t.Error("a connection that ended has made no room")
	}
}

// exhausted is a listener without a descriptor for the connection that comes first.
type exhausted struct {
	net.Listener
	failed bool
}

func (l *exhausted) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestNoDescriptorsToAccept: the connection waits, which is counted and logged, and is served when there is a descriptor.
func TestNoDescriptorsToAccept(t *testing.T) {
	var log logCapture
	b := newHarness(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- b.server.serve(&exhausted{Listener: listener}) }()
	c, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	greeted(t, c)
	must(t, c.Close())
	must(t, listener.Close())
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("serving ended with %v", err)
	}
	if n := refusals(t, b, "files"); n != 1 {
		t.Errorf("%v were counted", n)
	}
	log.has(t, "can open no more files", 1)
}

// TestCellsThatFail: each write of the stable cell that fails is counted.
func TestCellsThatFail(t *testing.T) {
	b := newHarness(t, nil, nil)
	for range 2 {
		b.service.observer.Observe(0, &protocol.Effects{Notes: []protocol.Note{membership.Unsaved{Err: syscall.ENOSPC}}})
	}
	families, err := b.service.observer.registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() == "holdfast_unsaved_total" && family.GetMetric()[0].GetCounter().GetValue() == 2 {
			return
		}
	}
	t.Errorf("two failures are not counted: %v", families)
}
