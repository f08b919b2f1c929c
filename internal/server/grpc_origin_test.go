package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// originOfAll is originOf for tests, whose addresses are all of this machine.
func originOfAll(address net.Addr) string { return clientName(address.String(), "") }

// from dials the member from an address of the loopback network.
func (b *harness) from(host string) net.Conn {
	b.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	c, err := d.Dial("tcp", b.address)
	must(b.t, err)
	must(b.t, c.SetDeadline(time.Now().Add(time.Minute)))
	b.t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			b.t.Error(err)
		}
	})
	return c
}

// served greets, and reports whether the member answers. The only other outcome is that it closes the connection.
func served(t *testing.T, c net.Conn) bool {
	t.Helper()
	if _, err := fmt.Fprint(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	return err == nil
}

// TestConnectionsOfOneAddress: one address has at most a quarter of the port, or what the limit says, and the others
// have the rest (S3).
func TestConnectionsOfOneAddress(t *testing.T) {
	for limit, most := range map[int]int{0: 2, 3: 3} {
		var log logCapture
		b := newHarness(t, func(c *Config) {
			c.Limits.Connections, c.Limits.ConnectionsPerAddress = 8, limit
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		}, func(g *grpcServer) { g.service.doors.origin = originOfAll })
		client := b.open() // from 127.0.0.1
		var own []net.Conn
		for i := range most {
			c := b.from("127.0.0.2")
			if own = append(own, c); !served(t, c) {
				t.Fatalf("connection %d of %d is refused", i+1, most)
			}
		}
		for range 2 {
			if served(t, b.from("127.0.0.2")) {
				t.Fatalf("one more than %d is served", most)
			}
		}
		if n := refusals(t, b, "connections_per_address"); n != 2 {
			t.Errorf("%v are counted", n)
		}
		log.has(t, "its address has as many as one may have (limits.connections_per_address)", 1)
		log.has(t, "from=127.0.0.2", 1)
		if !served(t, b.from("127.0.0.3")) {
			t.Error("another address is refused")
		}
		client.serves(1)
		// There is room again when one of them ends, which the member learns of in its own time.
		must(t, own[0].Close())
		for end := time.Now().Add(time.Minute); !served(t, b.from("127.0.0.2")); {
			if time.Now().After(end) {
				t.Fatal("a connection that ended has made no room")
			}
		}
	}
}

// TestOriginOf: connections from this machine count for no address.
func TestOriginOf(t *testing.T) {
	for want, addresses := range map[string][]net.Addr{
		"":                  {&net.TCPAddr{IP: net.ParseIP("127.0.0.9"), Port: 1}, &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, &net.UnixAddr{Name: "/s", Net: "unix"}},
		"10.0.0.1":          {&net.TCPAddr{IP: net.ParseIP("10.0.0.1"), Port: 1}, &net.TCPAddr{IP: net.ParseIP("::ffff:10.0.0.1"), Port: 2}},
		"2001:db8:1:2::/64": {&net.TCPAddr{IP: net.ParseIP("2001:db8:1:2::7"), Port: 1}, &net.TCPAddr{IP: net.ParseIP("2001:db8:1:2:3::8"), Port: 1}},
	} {
		for _, address := range addresses {
			if got := originOf(address); got != want {
				t.Errorf("%v counts for %q, want %q", address, got, want)
			}
		}
	}
}

// TestStrangersMakeRoom: at the bound a newcomer gets the place of the oldest connection that has had its time and made
// no call, and never that of a client.
func TestStrangersMakeRoom(t *testing.T) {
	var late atomic.Int64
	var log logCapture
	begin := time.Now()
	b := newHarness(t, func(c *Config) {
		c.Limits.Connections = 3
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}, func(g *grpcServer) {
		g.service.doors.now = func() time.Time { return begin.Add(time.Duration(late.Load())) }
	})
	client := b.open()
	client.serves(1)
	first, second := b.from("127.0.0.1"), b.from("127.0.0.2")
	if !served(t, first) || !served(t, second) {
		t.Fatal("a connection within the bound is refused")
	}
	if served(t, b.from("127.0.0.3")) {
		t.Fatal("a newcomer has a place though all others are as new")
	}
	late.Store(int64(b.service.limits.Header))
	newcomer := b.from("127.0.0.3")
	if !served(t, newcomer) {
		t.Fatal("a newcomer has no place though others make no calls")
	}
	if _, err := io.Copy(io.Discard, first); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the oldest: %v", err) // the deadline, if it is still open
	}
	log.has(t, "a connection without a call is closed for a newcomer", 1)
	if n := refusals(t, b, "connections"); n != 2 {
		t.Errorf("%v are counted", n)
	}
	// Another newcomer gets the place of the second; then only the client and two new ones are left.
	if !served(t, b.from("127.0.0.3")) {
		t.Error("the second stranger keeps its place")
	}
	if served(t, b.from("127.0.0.3")) {
		t.Error("a newcomer has the place of a client, or of another newcomer")
	}
	client.serves(2)
}
