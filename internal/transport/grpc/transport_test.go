package grpc

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

func TestNewNamesTheWrongField(t *testing.T) {
	good := func() transport.Identity { return transport.Identity{ID: 1, Address: "a:1"} }
	for _, tt := range []struct {
		config Config
		want   string
	}{
		{Config{}, "Identity is nil"},
		{Config{Identity: func() transport.Identity { return transport.Identity{} }}, "needs an id"},
		{Config{Identity: good, Deadline: -1}, "Deadline is -1"},
		{Config{Identity: good, Deadline: time.Hour}, "Deadline is"},
		{Config{Identity: good, Retry: -1}, "Retry is -1"},
		{Config{Identity: good, Queue: -1}, "Queue is -1"},
		{Config{Identity: good, Peers: 1 << 20}, "Peers is"},
	} {
		if _, err := New(tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// TestMessagesArrive: by address first, by id from then on, in both directions, with
// the sender's id and the port.
func TestMessagesArrive(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	a.Send([]protocol.Envelope{
		{To: 2, Port: 0, Message: note(1)},
		{To: 2, Port: 7, Message: authority.Release{Name: "orders/42"}},
		{To: 2, Port: 7, Message: note(3)},
	})
	b.inbox.await(t, heard(1, 3))
	got := b.inbox.all()
	if i := slices.Index(got, heard(1, 1)); i < 0 || !strings.Contains(got[i+1], "orders/42") || got[i+2] != heard(1, 3) {
		t.Errorf("heard %q", got)
	}
}

// TestSendsWithoutReceiver: a message for which no receiver can be found is counted, and does no
// harm.
func TestSendsWithoutReceiver(t *testing.T) {
	a := start(t, 1, nil)
	a.Send(to(99, 1))
	a.counts.await(t, "dropped unknown", 1)
	a.Send(at("", 1))
	a.counts.await(t, "dropped unknown", 2)
	a.Send(at(strings.Repeat("x", 1000), 1))
	a.counts.await(t, "dropped unreachable", 1)
	a.Send(at("127.0.0.1:1", 1)) // no process listens there
	a.counts.await(t, "dropped unreachable", 2)
	a.Send([]protocol.Envelope{{To: 1, Port: 1, Message: note(1)}})
	a.inbox.await(t, heard(1, 1))
}

// TestSendsToAnIDAtAnAddress: an envelope may say where an id is that no handshake has
// found yet; another member there does not get it.
func TestSendsToAnIDAtAnAddress(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	a.Send([]protocol.Envelope{{To: 5, Address: b.identity.Address, Port: 1, Message: note(1)}})
	a.counts.await(t, "dropped elsewhere", 1)
	a.Send([]protocol.Envelope{{To: 2, Address: b.identity.Address, Port: 1, Message: note(2)}})
	b.inbox.await(t, heard(1, 2))
	if got := b.inbox.all(); len(got) != 1 {
		t.Errorf("heard %q", got)
	}
}

// TestFindsItself: under its own address, under another name of it, under its id.
func TestFindsItself(t *testing.T) {
	a := start(t, 1, nil)
	_, port, err := net.SplitHostPort(a.identity.Address)
	if err != nil {
		t.Fatal(err)
	}
	a.Send(at(a.identity.Address, 1))
	a.Send(at(net.JoinHostPort("localhost", port), 2))
	a.Send(at(net.JoinHostPort("127.0.0.1", "0"+port), 3))
	a.Send(to(1, 4))
	for n := 1; n <= 4; n++ {
		a.inbox.await(t, heard(1, n))
	}
	if n := a.counts.get("refused id"); n != 0 {
		t.Errorf("it has refused itself %d times", n)
	}
}

// TestBatchesAreFrames: what is sent in one go leaves in few frames.
func TestBatchesAreFrames(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	before := b.counts.get("frame received")
	const messages = 5000
	batch := make([]protocol.Envelope, messages)
	for i := range batch {
		batch[i] = to(2, i)[0]
	}
	a.Send(batch)
	b.inbox.await(t, heard(1, messages-1))
	got := b.inbox.all()
	for i, j := slices.Index(got, heard(1, 0)), 0; j < messages; j++ {
		if got[i+j] != heard(1, j) {
			t.Fatalf("message %d is %s", j, got[i+j])
		}
	}
	if frames := b.counts.get("frame received") - before; frames > messages/frameMessages+1 {
		t.Errorf("%d messages came in %d frames", messages, frames)
	}
}

// TestWhatCannotBeSent is dropped, and what comes after it arrives.
func TestWhatCannotBeSent(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	huge := authority.Acks{Stamp: authority.Stamp{Acks: make([]uint64, messageBytes+1)}}
	a.Send([]protocol.Envelope{
		{To: 2, Port: 1, Message: huge},
		{To: 2, Port: 1, Message: authority.Release{Name: strings.Repeat("x", 5000)}},
		{To: 2, Port: 1, Message: note(3)},
	})
	b.inbox.await(t, heard(1, 3))
	a.counts.await(t, "dropped unsendable", 2)
	a.log.await(t, "cannot be sent", "at most 1048576")
}

// TestRestart: a member that comes back is found again, under its id, at its address,
// with its new incarnation; what was meant for its former id is delivered to no member.
func TestRestart(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	b.stop()
	again := b.identity
	again.Incarnation++
	b2 := startOn(t, listenAgain(t, again.Address), again, nil)
	b2.Send(at(a.identity.Address, 5))
	a.inbox.await(t, heard(2, 5))
	a.Send(to(2, 6))
	b2.inbox.await(t, heard(1, 6))
	b2.stop()

	other := again
	other.ID = 9
	b3 := startOn(t, listenAgain(t, other.Address), other, nil)
	b3.Send(at(a.identity.Address, 7))
	a.inbox.await(t, heard(9, 7))
	// The link may still be that to the process before, which is not the one meant.
	sent := -1
	waitEither(t, "to be heard by the other", func() (bool, <-chan struct{}, <-chan struct{}) {
		ok, here := b3.inbox.has(heard(1, 8))
		lost, there := a.counts.lost()
		if !ok && lost > sent {
			sent = lost
			a.Send(to(9, 8))
		}
		return ok, here, there
	})
	before := a.counts.get("dropped elsewhere")
	a.Send(to(2, 9))
	a.counts.await(t, "dropped elsewhere", before+1)
	if got := b3.inbox.all(); len(got) != 1 {
		t.Errorf("heard %q", got)
	}
}

// TestHints: the machine gets a hint when connections are not accepted any more where a
// member was, and when they are accepted again.
func TestHints(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	b.stop()
	a.inbox.await(t, fmt.Sprintf("%d:{Address:%s Alive:false}", protocol.Rumour, b.identity.Address))
	again := b.identity
	again.Incarnation++
	b2 := startOn(t, listenAgain(t, again.Address), again, nil)
	b2.Send(at(a.identity.Address, 5))
	a.inbox.await(t, heard(2, 5))
	a.Send(to(2, 6))
	a.inbox.await(t, fmt.Sprintf("%d:{Address:%s Alive:true}", protocol.Rumour, b.identity.Address))
}

// listenAgain listens on an address that was just given up.
func listenAgain(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCloseInTheMidst: nothing is delivered after Close, even if members go on sending.
func TestCloseInTheMidst(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				a.Send(to(2, n))
			}
		}
	}()
	b.inbox.awaitMany(t, len(b.inbox.all())+100) // which ones is open: more is sent than a queue keeps
	b.stop()
	received := len(b.inbox.all())
	close(stop)
	<-done
	a.stop()
	if now := len(b.inbox.all()); now != received {
		t.Errorf("%d messages were delivered after Close", now-received)
	}
	a.Send(to(2, 1)) // harmless
	a.Send(at("127.0.0.1:2", 1))
}

// TestNoMemberIsLetInBeforeListen: and a member that knocks tries again.
func TestNoMemberIsLetInBeforeListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, 1, nil)
	b := prepare(t, transport.Identity{ID: 2, Incarnation: 1, Name: "b", Address: l.Addr().String()}, nil)
	go func() { b.served <- b.Serve(l) }()
	t.Cleanup(b.stop)
	a.Send(at(b.identity.Address, 1))
	a.log.await(t, "does not listen yet")
	a.counts.await(t, "dropped unreachable", 1)
	b.Listen(b.inbox.deliver)
	a.Send(at(b.identity.Address, 2))
	b.inbox.await(t, heard(1, 2))
}
