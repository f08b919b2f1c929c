package realstore_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
)

// proxied starts a Redis behind a proxy.
func proxied(t *testing.T) (*realstore.Server, *realstore.Proxy) {
	t.Helper()
	s := realstore.StartRedis(t)
	return s, realstore.NewProxy(t, s.Address())
}

// succeeds sends a command that is answered as wanted.
func succeeds(t *testing.T, connection net.Conn, line, want string) {
	t.Helper()
	if answer, err := command(connection, line, patience); answer != want || err != nil {
		t.Errorf("%s: %q, %v", line, answer, err)
	}
}

// isCut says whether an error is that of a connection that was cut.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// TestCut: connections end, and new ones are taken.
func TestCut(t *testing.T) {
	_, p := proxied(t)
	connection := dial(t, p.Address())
	succeeds(t, connection, "PING", "+PONG")
	p.Cut()
	if answer, err := command(connection, "PING", patience); !isCut(err) || p.Cuts() != 1 {
		t.Errorf("%q, %v after %d cuts", answer, err, p.Cuts())
	}
	succeeds(t, dial(t, p.Address()), "PING", "+PONG")
}

// TestCutAnswers: the server does what it is asked for, and the client gets no answer.
func TestCutAnswers(t *testing.T) {
	s, p := proxied(t)
	connection := dial(t, p.Address())
	p.CutAnswers(len("+PONG\r\n"))
	succeeds(t, connection, "PING", "+PONG")
	if answer, err := command(connection, "SET one 1", patience); !isCut(err) || p.Cuts() != 1 {
		t.Errorf("%q, %v after %d cuts", answer, err, p.Cuts())
	}
	succeeds(t, dial(t, s.Address()), "STRLEN one", ":1")
	succeeds(t, dial(t, p.Address()), "PING", "+PONG")
}

// TestLost: what is held passes later, and what is dropped never.
func TestLost(t *testing.T) {
	s, p := proxied(t)
	connection := dial(t, p.Address())
	p.DropAnswers(true)
	if answer, err := command(connection, "INCR n", brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", answer, err)
	}
	p.DropAnswers(false)
	succeeds(t, connection, "INCR n", ":2")
	p.Blackhole(true)
	if answer, err := command(connection, "INCR n", brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", answer, err)
	}
	succeeds(t, dial(t, s.Address()), "STRLEN n", ":1")
	p.Blackhole(false)
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := connection.Read(make([]byte, 4)); n != 4 || err != nil {
		t.Error(n, err)
	}
	succeeds(t, connection, "INCR n", ":4")
}

// TestDelayed: a round trip takes as long as its two ways.
func TestDelayed(t *testing.T) {
	_, p := proxied(t)
	connection := dial(t, p.Address())
	p.Delay(brief)
	began := time.Now()
	succeeds(t, connection, "PING", "+PONG")
	if took := time.Since(began); took < 2*brief {
		t.Errorf("it takes %v", took)
	}
}

// TestRefused: the address has no listener, until there is one again at the same address.
func TestRefused(t *testing.T) {
	_, p := proxied(t)
	connection := dial(t, p.Address())
	succeeds(t, connection, "PING", "+PONG")
	if err := p.Refuse(true); err != nil {
		t.Fatal(err)
	}
	if _, err := command(connection, "PING", patience); !isCut(err) {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", p.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	if err := p.Refuse(false); err != nil {
		t.Fatal(err)
	}
	succeeds(t, dial(t, p.Address()), "PING", "+PONG")
}
