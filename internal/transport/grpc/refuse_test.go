package grpc

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/codec"
)

// TestForeignCluster: both sides say once with which clusters they have to do, and
// neither hears the other. A member without a cluster is heard by all.
func TestForeignCluster(t *testing.T) {
	a := start(t, 1, nil)
	b := start(t, 2, nil)
	b.stop()
	foreign := b.identity
	foreign.Cluster = 0xbad
	b = startOn(t, listenAgain(t, foreign.Address), foreign, nil)
	for n := range 3 { // as often as it is tried
		b.Send(at(a.identity.Address, 1))
		a.counts.await(t, "refused cluster", n+1)
		b.counts.await(t, "dropped unreachable", n+1)
		call(b, a.identity.Address)
	}
	for _, member := range []*peerHarness{a, b} {
		if lines := member.log.await(t, "level=ERROR", strconv.FormatUint(0xbad, 36), strconv.FormatUint(77, 36)); lines != 1 {
			t.Errorf("%s tells it %d times", member.identity.Name, lines)
		}
	}
	said := "the member at " + a.identity.Address + " says: member "
	if why := b.Refusals()[a.identity.Address]; !strings.HasPrefix(why, said) || !strings.Contains(why, "belongs to cluster") {
		t.Errorf("b knows of the refusal %q; want %q and the clusters", why, said)
	}
	newcomer := foreign
	newcomer.Cluster, newcomer.ID = 0, 3
	b.stop()
	c := startOn(t, listenAgain(t, newcomer.Address), newcomer, nil)
	meet(t, a, c)
	if refusals := c.Refusals(); len(refusals) > 0 {
		t.Errorf("c is heard, and refused: %q", refusals)
	}
}

// call ends the pause of a peer, as its own call would.
func call(b *peerHarness, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.peers[address]; p != nil {
		p.call()
	}
}

// TestFindsItsClusterLater: a member that is greeted anew learns the cluster, and nothing is lost by it that
// was sent after.
func TestFindsItsClusterLater(t *testing.T) {
	a := start(t, 1, nil)
	clusters := make(chan uint64, 1)
	var b *peerHarness
	current := uint64(0)
	l := listenAgain(t, "127.0.0.1:0")
	identity := transport.Identity{ID: 2, Incarnation: 1, Name: "b", Address: l.Addr().String()}
	var lock = make(chan struct{}, 1)
	b = startOn(t, l, identity, func(c *Config) {
		c.Identity = func() transport.Identity {
			lock <- struct{}{}
			defer func() { <-lock }()
			select {
			case current = <-clusters:
			default:
			}
			self := identity
			self.Cluster = current
			return self
		}
	})
	meet(t, a, b)
	clusters <- 77
	b.Send(to(1, 5))
	a.inbox.await(t, heard(2, 5))
	a.mu.Lock()
	cluster := a.known[2].Cluster
	a.mu.Unlock()
	if cluster != 77 {
		t.Errorf("it is known to be of cluster %d", cluster)
	}
}

// TestTwoProcessesWithOneID: the one that was there first is heard, whichever of them
// calls; and when it is gone, the other one.
func TestTwoProcessesWithOneID(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	meet(t, a, b)
	copied := b.identity
	l := listenAgain(t, "127.0.0.1:0")
	copied.Address, copied.Incarnation, copied.Name = l.Addr().String(), 7, "copy"
	c := startOn(t, l, copied, nil)
	c.Send(at(a.identity.Address, 1))
	a.log.await(t, b.identity.Address, copied.Address, "incarnation 7", "incarnation 1", "copy of the other's state folder")
	c.log.await(t, b.identity.Address, copied.Address)
	a.Send(at(c.identity.Address, 2))
	a.log.await(t, "reach member at "+c.identity.Address, "claim one member's id")
	c.Send(at(b.identity.Address, 3)) // the two themselves
	b.log.await(t, "claim one member's id", copied.Address)
	a.Send(to(2, 4))
	b.inbox.await(t, heard(1, 4))
	b.stop()
	a.counts.await(t, "refused id", 2)
	sent := -1
	waitEither(t, "for the copy to be heard", func() (bool, <-chan struct{}, <-chan struct{}) {
		ok, here := a.inbox.has(heard(2, 5))
		lost, there := c.counts.lost()
		if !ok && lost > sent { // nothing is under way
			sent = lost
			c.Send(at(a.identity.Address, 5))
			call(c, a.identity.Address)
		}
		return ok, here, there
	})
}

// TestACopyAtItsAddress: a process with a later incarnation and the very address of a member that is there has a
// copy of its folder, and is refused, with the names of both. When the member is gone, it is its next life.
func TestACopyAtItsAddress(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	superseded := make(chan error, 1)
	meet(t, a, b)
	copied := b.identity
	copied.Incarnation, copied.Name = 7, "copy"
	c := startOn(t, listenAgain(t, "127.0.0.1:0"), copied, nil)
	c.Send(at(a.identity.Address, 1))
	a.log.await(t, "two processes claim", "m2", "copy", "at "+b.identity.Address, "incarnation 1)", "incarnation 7)", "copy of the other's state folder")
	c.log.await(t, "it says", "copy of the other's state folder")
	a.Send(to(2, 2))
	b.inbox.await(t, heard(1, 2))
	b.stop()
	waitEither(t, "for the next life to be heard", func() (bool, <-chan struct{}, <-chan struct{}) {
		ok, here := a.inbox.has(heard(2, 3))
		_, there := c.counts.lost()
		if !ok {
			c.Send(at(a.identity.Address, 3))
			call(c, a.identity.Address)
		}
		return ok, here, there
	})

	// The former one wakes, as from a snapshot of its machine: it hears that it is superseded.
	c.stop()
	former, l := prepare(t, b.identity, nil), listenAgain(t, b.identity.Address)
	former.Superseded(func(err error) { superseded <- err })
	go func() { former.served <- former.Serve(l) }()
	t.Cleanup(former.stop)
	former.Listen(former.inbox.deliver)
	former.Send(at(a.identity.Address, 4))
	if err := <-superseded; !strings.Contains(err.Error(), "is incarnation 1, and incarnation 7 is known already") {
		t.Errorf("it is superseded: %v", err)
	}
}

// TestAnEarlierLife of a member is not heard any more.
func TestAnEarlierLife(t *testing.T) {
	a, b := start(t, 1, nil), start(t, 2, nil)
	b.stop()
	later := b.identity
	later.Incarnation = 5
	b = startOn(t, listenAgain(t, later.Address), later, nil)
	meet(t, a, b)
	b.stop()
	earlier := later
	earlier.Incarnation = 4
	b = startOn(t, listenAgain(t, earlier.Address), earlier, nil)
	b.Send(at(a.identity.Address, 1))
	a.log.await(t, "is incarnation 4, and incarnation 5 is known already")
	b.log.await(t, "is incarnation 4, and incarnation 5 is known already")
}

// caller is a client of the members' service that says what it likes.
type caller struct {
	t      *testing.T
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[schema.MemberFrame, schema.MemberReceipt]
	cancel context.CancelFunc
}

func knock(t *testing.T, b *peerHarness) *caller {
	t.Helper()
	conn, err := grpc.NewClient(b.identity.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	stream, err := schema.NewMembersClient(conn).Link(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{t, conn, stream, cancel}
	t.Cleanup(func() {
		cancel()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *caller) say(frame *schema.MemberFrame) {
	c.t.Helper()
	if err := c.stream.Send(frame); err != nil {
		c.t.Fatal(err)
	}
}

// end reads receipts until the stream ends, and returns how.
func (c *caller) end() error {
	for {
		if _, err := c.stream.Recv(); err != nil {
			return err
		}
	}
}

func politely() *schema.MemberHello {
	return &schema.MemberHello{
		Version: transport.Version, Id: 5, Incarnation: 1, Cluster: 77, Name: "stranger", Address: "127.0.0.1:9", Process: 4711, Deadline: int64(time.Second),
	}
}

func TestAnotherVersion(t *testing.T) {
	b := start(t, 2, nil)
	for range 3 {
		c := knock(t, b)
		c.say(&schema.MemberFrame{Hello: &schema.MemberHello{Version: 99, Name: "newer", Address: "there:1"}})
		if err := c.end(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), fmt.Sprintf("speaks version 99 of the members' protocol, this one version %d", transport.Version)) {
			t.Error(err)
		}
	}
	if lines := b.log.await(t, "version 99", "there:1"); lines != 1 {
		t.Errorf("the log has it %d times", lines)
	}
	b.counts.await(t, "refused version", 3)
}

// TestHostileStreams are closed and counted, and nothing of them is delivered.
func TestHostileStreams(t *testing.T) {
	b := start(t, 2, func(c *Config) { c.Deadline = 25 * time.Millisecond })
	good, err := codec.Append(nil, 1, note(1))
	if err != nil {
		t.Fatal(err)
	}
	half := good[:len(good)-1]
	for _, tt := range []struct {
		name  string
		hello *schema.MemberHello
		frame *schema.MemberFrame
		code  codes.Code
		count string
	}{
		{"no hello", nil, &schema.MemberFrame{Messages: good}, codes.InvalidArgument, transport.NoHello},
		{"the id zero", with(func(h *schema.MemberHello) { h.Id = 0 }), nil, codes.InvalidArgument, transport.Malformed},
		{"the id of any member", with(func(h *schema.MemberHello) { h.Id = 1<<64 - 1 }), nil, codes.InvalidArgument, transport.Malformed},
		{"no address", with(func(h *schema.MemberHello) { h.Address = "" }), nil, codes.InvalidArgument, transport.Malformed},
		{"a name too long", with(func(h *schema.MemberHello) { h.Name = strings.Repeat("x", 600) }), nil, codes.InvalidArgument, transport.Malformed},
		{"no process", with(func(h *schema.MemberHello) { h.Process = 0 }), nil, codes.InvalidArgument, transport.Malformed},
		{"an unknown type", politely(), &schema.MemberFrame{Messages: []byte{1, 31, 0}}, codes.InvalidArgument, transport.Garbage},
		{"bytes of no message", politely(), &schema.MemberFrame{Messages: []byte(strings.Repeat("\xff", 100))}, codes.InvalidArgument, transport.Garbage},
		{"half a message", politely(), &schema.MemberFrame{Messages: append(good[:len(good):len(good)], half...)}, codes.InvalidArgument, transport.Garbage},
		{"a frame too large", politely(), &schema.MemberFrame{Messages: make([]byte, FrameBytes+1)}, codes.ResourceExhausted, transport.Garbage},
	} {
		before := b.counts.get("refused " + tt.count)
		c := knock(t, b)
		if tt.hello != nil {
			c.say(&schema.MemberFrame{Hello: tt.hello})
		}
		if tt.frame != nil {
			// The stream may have ended already; how is what end tells.
			_ = c.stream.Send(tt.frame)
		}
		if err := c.end(); status.Code(err) != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
		b.counts.await(t, "refused "+tt.count, before+1)
	}
	silent := knock(t, b)
	if err := silent.end(); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a stream that says nothing: %v", err)
	}
	gossip, err := schema.NewMembersClient(silent.conn).Gossip(t.Context())
	if err == nil {
		_, err = gossip.Recv()
	}
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a gossip with a member that has none: %v", err)
	}
	if got := b.inbox.all(); len(got) != 0 {
		t.Errorf("heard %q", got)
	}
}

func with(change func(*schema.MemberHello)) *schema.MemberHello {
	hello := politely()
	change(hello)
	return hello
}

// TestHalfAFrame: a connection that breaks within a frame is an end like any other.
func TestHalfAFrame(t *testing.T) {
	b := start(t, 2, nil)
	conns := make(chan net.Conn, 8)
	a := start(t, 1, func(c *Config) {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := socket.Dial(ctx, address)
			if err == nil {
				conns <- conn
			}
			return conn, err
		}
	})
	meet(t, a, b)
	first := <-conns
	// The header of an HTTP/2 frame that promises more than will come.
	if _, err := first.Write([]byte{0, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := first.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-conns // the next one
	a.Send(to(2, 5))
	b.inbox.await(t, heard(1, 5))
}

// TestTooManyStreams: one member may not take all places, nor all members more than
// there are.
func TestTooManyStreams(t *testing.T) {
	b := start(t, 2, func(c *Config) { c.Peers = streamsOfOne + 2 })
	var callers []*caller
	for i := range streamsOfOne {
		c := knock(t, b)
		c.say(&schema.MemberFrame{Hello: with(func(h *schema.MemberHello) { h.Dialled = strings.Repeat("x", i+1) })})
		if _, err := c.stream.Recv(); err != nil {
			t.Fatal(err)
		}
		callers = append(callers, c)
	}
	c := knock(t, b)
	c.say(&schema.MemberFrame{Hello: politely()})
	if err := c.end(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one stream too many of a member: %v", err)
	}
	again := knock(t, b)
	again.say(&schema.MemberFrame{Hello: with(func(h *schema.MemberHello) { h.Dialled = "x" })})
	if err := callers[0].end(); status.Code(err) != codes.Aborted {
		t.Errorf("a stream whose place another one has taken: %v", err)
	}
	for i := range 2 {
		c := knock(t, b)
		c.say(&schema.MemberFrame{Hello: with(func(h *schema.MemberHello) { h.Id, h.Process = uint64(10+i), uint64(20+i) })})
		if _, err := c.stream.Recv(); err != nil {
			t.Errorf("another member: %v", err)
		}
	}
	if err := knock(t, b).end(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one stream too many: %v", err)
	}
}
