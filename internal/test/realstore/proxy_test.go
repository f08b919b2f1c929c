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

// succeeds sends a command and checks the answer.
func succeeds(t *testing.T, connection net.Conn, line, want string) {
	t.Helper()
	if answer, err := command(connection, line, patience); answer != want || err != nil {
		t.Errorf("%s: %q, %v", line, answer, err)
	}
}

// isCut reports whether an error is that of a cut connection.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// TestCut checks that connections end, and that new ones are accepted.
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

// TestCutAnswers checks that the server executes a request, and that the client gets no answer.
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

// TestLost checks that delayed data passes later, and that dropped data never does.
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

// TestDelayed checks that a round trip takes both delays.
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

// TestRefused checks that the address has no listener until it is reopened.
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
