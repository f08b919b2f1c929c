package server

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// at is a connection of a port with a turnstile: the client's side, and the reads of the server's.
type at struct {
	client net.Conn
	served *greetedConn
	heard  chan error // one for each read that has returned
}

// visit connects to a port. The server reads until the connection ends.
func visit(t *testing.T, stile *turnstile) *at {
	t.Helper()
	client, served := net.Pipe()
	v := &at{client: client, served: stile.greet(served), heard: make(chan error, 16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, err := v.served.Read(make([]byte, 1))
			v.heard <- err
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		must(t, v.served.Close())
		<-done
	})
	return v
}

// says sends a byte, which the server takes from the network.
func (v *at) says(t *testing.T) {
	t.Helper()
	_, err := v.client.Write([]byte{1})
	must(t, err)
}

// waiting returns how many connections stand in line.
func (t *turnstile) waiting() int {
	_, waiting := t.State()
	return waiting[0] + waiting[1]
}

// until waits for what other goroutines are about to do.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !reached(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestConnectionsAreGreetedInTurn: as many at a time as may be, the others in the order in which they have
// said something, and one that says nothing keeps no other one waiting.
func TestConnectionsAreGreetedInTurn(t *testing.T) {
	stile := newTurnstile(2, 10, time.Hour)
	visit(t, stile) // says nothing
	var all []*at
	for i := range 5 {
		v := visit(t, stile)
		v.says(t)
		if all = append(all, v); i < 2 {
			must(t, <-v.heard)
			continue
		}
		until(t, "the connection stands in line", func() bool { return stile.waiting() == i-1 })
	}
	must(t, all[3].served.Close()) // it gives up in the line
	<-all[3].heard
	all[1].served.greeted()
	must(t, <-all[2].heard)
	all[1].served.greeted() // again: no turn comes by that
	if n := len(all[4].heard); n != 0 {
		t.Error("a third connection is greeted together with two others")
	}
	must(t, all[0].served.Close())
	must(t, <-all[4].heard)
	all[4].says(t) // one that has had its turn is heard at once
	must(t, <-all[4].heard)
}

// TestGreetingEnds: a connection that is not greeted in time does not keep the others waiting.
func TestGreetingEnds(t *testing.T) {
	stile := newTurnstile(1, 10, time.Millisecond)
	for range 3 {
		v := visit(t, stile)
		v.says(t)
		must(t, <-v.heard)
	}
}

// offered is a listener whose connections are the test's.
type offered struct {
	net.Listener
	next   chan net.Conn
	closed chan struct{}
}

func (l *offered) Accept() (net.Conn, error) {
	select {
	case c := <-l.next:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *offered) Close() error {
	close(l.closed)
	return nil
}

// TestLineIsBounded: no connection is accepted while the line is full; one is when it is shorter, and when
// the port is closed the waiting ends.
func TestLineIsBounded(t *testing.T) {
	stile := newTurnstile(1, 1, time.Hour)
	first, second := visit(t, stile), visit(t, stile)
	first.says(t)
	must(t, <-first.heard)
	second.says(t)
	until(t, "the second connection stands in line", func() bool { return stile.waiting() == 1 })

	l := inTurn{&offered{next: make(chan net.Conn, 1), closed: make(chan struct{})}, stile}
	accepted := make(chan error, 1)
	accept := func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close()
		}
		accepted <- err
	}
	one, other := net.Pipe()
	t.Cleanup(func() { must(t, errors.Join(one.Close(), other.Close())) })
	l.Listener.(*offered).next <- one
	go accept()
	if n := len(l.Listener.(*offered).next); n != 1 {
		t.Error("a connection was accepted while the line was full")
	}
	must(t, first.served.Close())
	must(t, <-second.heard)
	must(t, <-accepted)

	third := visit(t, stile)
	third.says(t)
	until(t, "the third connection stands in line", func() bool { return stile.waiting() == 1 })
	go accept()
	must(t, l.Close())
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed port: %v", err)
	}
	must(t, third.served.Close())
	if err := <-third.heard; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the third connection: %v", err)
	}
}

// TestCallsEndTheGreeting: the welcome of a session, and any other call, give the turn of their connection to
// the next one.
func TestCallsEndTheGreeting(t *testing.T) {
	b := newHarness(t, nil, func(g *grpcServer) { g.stile = newTurnstile(1, 10, time.Hour) })
	free := func(what string) {
		t.Helper()
		until(t, what+" has ended the greeting", func() bool {
			under, _ := b.server.stile.State()
			return under == 0
		})
	}
	b.open()
	free("a welcome")
	conn := b.dial()
	b.call(conn) // a stream that does not say hello
	until(t, "the connection is being greeted", func() bool {
		under, _ := b.server.stile.State()
		return under == 1
	})
	_, err := schema.NewLocksClient(conn).List(t.Context(), &schema.ListRequest{})
	must(t, err)
	free("a call")
}
