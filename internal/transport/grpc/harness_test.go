package grpc

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come. Nothing waits so long but a
// test that fails.
const patience = 30 * time.Second

// peerHarness is one member on loopback, with what it has heard.
type peerHarness struct {
	t        *testing.T
	identity transport.Identity
	*Transport
	inbox  inbox
	counts counts
	log    logBook
	served chan error
}

// start starts a member that listens on an address of its own. Change may set its
// Config before.
func start(t *testing.T, id protocol.ID, change func(*Config)) *peerHarness {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, l, identityAt(id, l), change)
}

func identityAt(id protocol.ID, l net.Listener) transport.Identity {
	return transport.Identity{ID: id, Incarnation: 1, Cluster: 77, Name: fmt.Sprintf("m%d", id), Address: l.Addr().String()}
}

func startOn(t *testing.T, l net.Listener, identity transport.Identity, change func(*Config)) *peerHarness {
	t.Helper()
	b := prepare(t, identity, change)
	go func() { b.served <- b.Serve(l) }()
	t.Cleanup(b.stop)
	b.Listen(b.inbox.deliver)
	return b
}

// prepare makes a member that does not listen yet.
func prepare(t *testing.T, identity transport.Identity, change func(*Config)) *peerHarness {
	t.Helper()
	b := &peerHarness{t: t, identity: identity, served: make(chan error, 1)}
	b.inbox.changed = make(chan struct{})
	b.counts.changed = make(chan struct{})
	b.log.changed = make(chan struct{})
	c := Config{
		Identity: func() transport.Identity { return identity },
		// What must not be given up in a test that does not ask for it stays, however
		// busy the machine is.
		Deadline: 10 * time.Second,
		Retry:    20 * time.Millisecond,
		Observer: &b.counts,
		Logger:   slog.New(slog.NewTextHandler(&b.log, nil)),
	}
	if change != nil {
		change(&c)
	}
	var err error
	if b.Transport, err = New(c); err != nil {
		t.Fatal(err)
	}
	return b
}

// stop ends the member, and may be called again.
func (b *peerHarness) stop() {
	if err := b.Close(); err != nil {
		b.t.Error(err)
	}
	select {
	case err, open := <-b.served:
		if open && err != nil {
			b.t.Error(err)
		}
		if open {
			close(b.served)
		}
	case <-time.After(patience):
		b.t.Error("the server does not end")
	}
}

// note is a message that says a number.
func note(n int) protocol.Message { return authority.InfoRequest{Chunk: uint32(n)} }

func to(id protocol.ID, n int) []protocol.Envelope {
	return []protocol.Envelope{{To: id, Port: 3, Message: note(n)}}
}

func at(address string, n int) []protocol.Envelope {
	return []protocol.Envelope{{To: protocol.AnyMember, Address: address, Port: 3, Message: note(n)}}
}

// meet lets a and b know each other, by a message each way.
func meet(t *testing.T, a, b *peerHarness) {
	t.Helper()
	a.Send(at(b.identity.Address, 9001))
	b.inbox.await(t, heard(a.identity.ID, 9001))
	b.Send(to(a.identity.ID, 9002))
	a.inbox.await(t, heard(b.identity.ID, 9002))
}

// heard is how an inbox writes down note(n) from a member.
func heard(from protocol.ID, n int) string { return fmt.Sprintf("%d:%d", from, n) }

// inbox keeps what was delivered.
type inbox struct {
	mu      sync.Mutex
	heard   []string
	changed chan struct{}
	hold    chan struct{} // if not nil, deliver waits for it to be closed
}

func (i *inbox) deliver(events []protocol.Event) {
	i.mu.Lock()
	hold := i.hold
	for _, ev := range events {
		var text string
		switch fact := ev.Fact.(type) {
		case authority.InfoRequest:
			text = fmt.Sprint(fact.Chunk)
		case authority.Acks:
			text = "acks" // there may be very many
		default:
			text = fmt.Sprintf("%+v", fact)
		}
		i.heard = append(i.heard, fmt.Sprintf("%d:%s", ev.From, text))
	}
	close(i.changed)
	i.changed = make(chan struct{})
	i.mu.Unlock()
	if hold != nil {
		<-hold
	}
}

// await waits until something was heard.
func (i *inbox) await(t testing.TB, want string) {
	t.Helper()
	wait(t, "to hear "+want, func() (bool, <-chan struct{}) { return i.has(want) })
}

// awaitMany waits until so many messages were heard, whichever.
func (i *inbox) awaitMany(t testing.TB, many int) {
	t.Helper()
	wait(t, fmt.Sprintf("to hear %d messages", many), func() (bool, <-chan struct{}) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return len(i.heard) >= many, i.changed
	})
}

// has says whether something was heard, and when to ask again.
func (i *inbox) has(want string) (bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.heard, want), i.changed
}

func (i *inbox) all() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.heard...)
}

// counts is an Observer.
type counts struct {
	mu      sync.Mutex
	byName  map[string]int
	changed chan struct{}
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]int{}
	}
	c.byName[name]++
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *counts) get(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byName[name]
}

// lost returns how many messages were dropped, for any reason, and when to ask again.
func (c *counts) lost() (n int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, count := range c.byName {
		if strings.HasPrefix(name, "dropped ") && !strings.HasPrefix(name, "dropped packet") {
			n += count
		}
	}
	return n, c.changed
}

// await waits until something was counted n times at least.
func (c *counts) await(t testing.TB, name string, n int) {
	t.Helper()
	wait(t, fmt.Sprintf("to count %q %d times", name, n), func() (bool, <-chan struct{}) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.byName[name] >= n, c.changed
	})
}

func (c *counts) Sent(protocol.Port, protocol.Message)     { c.add("sent") }
func (c *counts) Received(protocol.Port, protocol.Message) { c.add("received") }
func (c *counts) Dropped(_ protocol.Port, _ protocol.Message, why transport.Drop) {
	c.add("dropped " + string(why))
}
func (c *counts) DroppedPacket(why transport.Drop) { c.add("dropped packet " + string(why)) }
func (c *counts) FrameSent()                       { c.add("frame sent") }
func (c *counts) FrameReceived()                   { c.add("frame received") }
func (c *counts) Refused(why string)               { c.add("refused " + why) }

// logBook keeps a log.
type logBook struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	close(l.changed)
	l.changed = make(chan struct{})
	return len(b), nil
}

// await waits until the log has all of some words in one line, and returns how many
// lines do.
func (l *logBook) await(t testing.TB, want ...string) (lines int) {
	t.Helper()
	wait(t, fmt.Sprintf("for the log to say %q", want), func() (bool, <-chan struct{}) {
		var changed <-chan struct{}
		lines, changed = l.count(want...)
		return lines > 0, changed
	})
	return lines
}

// count returns how many lines have all of some words, and when to ask again.
func (l *logBook) count(want ...string) (lines int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		has := 0
		for _, text := range want {
			if strings.Contains(line, text) {
				has++
			}
		}
		if has == len(want) {
			lines++
		}
	}
	return lines, l.changed
}

// wait asks until the answer is yes, each time that something has changed.
func wait(t testing.TB, what string, ask func() (bool, <-chan struct{})) {
	t.Helper()
	waitEither(t, what, func() (bool, <-chan struct{}, <-chan struct{}) {
		ok, changed := ask()
		return ok, changed, nil
	})
}

// waitEither is wait for what may change in two places.
func waitEither(t testing.TB, what string, ask func() (ok bool, here, there <-chan struct{})) {
	t.Helper()
	late := time.After(patience)
	for {
		ok, here, there := ask()
		if ok {
			return
		}
		select {
		case <-here:
		case <-there:
		case <-late:
			t.Fatalf("waited in vain %s", what)
		}
	}
}
