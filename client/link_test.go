package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/peer"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

// linked lists what is open to a place, and how many streams each carries.
func linked(place api.Address) (streams []int) {
	ours.mu.Lock()
	defer ours.mu.Unlock()
	for key, all := range ours.open {
		if key.place == place {
			for _, l := range all {
				streams = append(streams, l.streams)
			}
		}
	}
	return streams
}

// at returns the only address of a target.
func at(t *testing.T, target string) api.Address {
	t.Helper()
	places, err := api.ParseTarget(target)
	if err != nil || len(places) != 1 {
		t.Fatalf("target %q: %v, %v", target, places, err)
	}
	return places[0]
}

// from is the address that a conversation comes from.
func (v *conversation) from(t *testing.T) string {
	t.Helper()
	p, ok := peer.FromContext(v.stream.Context())
	if !ok {
		t.Fatal("a stream without a peer")
	}
	return p.Addr.String()
}

// TestClientsShareAConnection: Clients of one process that go to one place go over one connection, each with a stream
// and a session of its own, and beat at the same moments. It is closed with the last of them.
func TestClientsShareAConnection(t *testing.T) {
	f := newFake(t)
	shared := clocktest.NewManual()
	var stages []*stage
	var streams []*conversation
	for i := range 3 {
		s := &stage{fake: f, clock: shared}
		result := s.dial(f.address)
		v := f.accept()
		v.welcome(fmt.Sprint("a-", i), testTTL)
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		stages, streams = append(stages, s), append(streams, v)
		shared.Advance(trusted / 10) // at another moment
	}
	for i, v := range streams {
		if got, want := v.from(t), streams[0].from(t); got != want {
			t.Errorf("client %d comes from %s, the first from %s: want one connection", i, got, want)
		}
		if got, want := stages[i].beatAt(), stages[0].beatAt(); got != want {
			t.Errorf("client %d beats at %v, the first at %v: want the same moment", i, got, want)
		}
	}
	shared.Advance(stages[0].beatAt() - shared.Now())
	for i, v := range streams {
		v.send(beaten(v.wantOp("beat", 0).GetId(), testTTL))
		stages[i].hold(v, fmt.Sprint("name/", i), holdfast.Token(i+1))
	}
	place := at(t, f.address)
	for i, s := range stages {
		if got, want := linked(place), []int{len(stages) - i}; !slices.Equal(got, want) {
			t.Errorf("connections with %v streams, want %v", got, want)
		}
		if err := s.client.Close(); err != nil && !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("Close: %v", err) // the fake answers no end
		}
	}
	if got := linked(place); len(got) != 0 {
		t.Errorf("connections with %v streams after the last Client was closed", got)
	}
}

// TestSharingIsBounded: a connection carries so many streams and no more, and one that has been silent for a while
// gets no further one.
func TestSharingIsBounded(t *testing.T) {
	time := clocktest.NewManual()
	s, err := resolve([]Option{withClock(time)})
	if err != nil {
		t.Fatal(err)
	}
	all, place := newLinks(), at(t, refusing(t))
	enter := func(s *settings) *link {
		t.Helper()
		l, _, err := all.enter(s, place)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var entered []*link
	for range mostStreams + 1 {
		entered = append(entered, enter(s))
	}
	first, second := entered[0], entered[mostStreams]
	if entered[mostStreams-1] != first || second == first {
		t.Errorf("%d streams: want %d on one connection and the last on another", len(entered), mostStreams)
	}
	time.Advance(trusted - 1)
	if l := enter(s); l != second {
		t.Error("a connection that was heard just now gets no further stream")
	} else {
		entered = append(entered, l)
	}
	time.Advance(1)
	third := enter(s)
	if third == first || third == second {
		t.Error("a connection that has been silent gets a further stream")
	}
	second.hears()
	fourth := enter(s)
	if fourth != second {
		t.Error("a connection that was heard again gets no further stream")
	}
	others := []*link{enter(&settings{clock: time, draw: s.draw, tls: &tls.Config{}})}
	if slices.Contains([]*link{first, second, third}, others[0]) {
		t.Error("a Client with TLS shares a connection with one without")
	}
	for _, l := range append(append(entered, third, fourth), others...) {
		if err := all.leave(l); err != nil {
			t.Error(err)
		}
	}
	if len(all.open) != 0 {
		t.Errorf("%d places have connections after the last stream", len(all.open))
	}
}

// frozen lets connections through until it is frozen: then nothing that was connected is read or closed any
// more, as where a network forgets a connection without a word.
type frozen struct {
	address string
	mu      sync.Mutex
	ice     chan struct{}
	made    int
}

func newFrozen(t *testing.T, to string) *frozen {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &frozen{address: l.Addr().String(), ice: make(chan struct{})}
	var work sync.WaitGroup
	over := make(chan struct{})
	pump := func(from, to net.Conn, ice <-chan struct{}) {
		buffer := make([]byte, 4096)
		for {
			n, err := from.Read(buffer)
			select {
			case <-ice:
				<-over
			default:
			}
			if err != nil {
				to.Close()
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				from.Close()
				return
			}
		}
	}
	work.Go(func() {
		for {
			inner, err := l.Accept()
			if err != nil {
				return
			}
			outer, err := net.Dial("tcp", to)
			if err != nil {
				inner.Close()
				continue
			}
			f.mu.Lock()
			f.made++
			ice := f.ice
			f.mu.Unlock()
			work.Go(func() { pump(inner, outer, ice) })
			work.Go(func() { pump(outer, inner, ice) })
		}
	})
	t.Cleanup(func() { close(over); l.Close(); work.Wait() })
	return f
}

// freeze freezes what is connected.
func (f *frozen) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.ice)
	f.ice = make(chan struct{})
}

func (f *frozen) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made
}

// TestDeadSharedConnection: a connection that has died without a word is left by the Client whose heartbeat is late,
// by one that waits on it for its welcome at the same moment, and by all that dial later.
func TestDeadSharedConnection(t *testing.T) {
	f := newFake(t)
	between := newFrozen(t, f.address)
	first := &stage{fake: f, clock: clocktest.NewManual()}
	welcomed := first.dial(between.address)
	v := f.accept()
	v.welcome("a-1", testTTL)
	first.finish(welcomed)
	between.freeze()
	waits := &stage{fake: f, clock: first.clock}
	waiting := waits.dial(between.address) // joins the connection that is dead
	first.until(func() bool { return slices.Equal(linked(at(t, between.address)), []int{2}) })
	if made := between.connections(); made != 1 {
		t.Fatalf("%d connections, want the one that both share", made)
	}
	first.clock.Advance(testTTL / 2) // heartbeats are not acknowledged
	for range 2 {
		again := f.accept()
		session := again.hello.GetSession()
		if session == "" {
			session = "a-2"
		}
		again.welcome(session, testTTL)
	}
	waits.finish(waiting)
	if made := between.connections(); made != 2 {
		t.Errorf("%d connections, want one more that both share again", made)
	}
}
