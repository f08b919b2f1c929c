package gossip_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/transport/gossip"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network has the links of all who gossip.
type network struct {
	mu    sync.Mutex
	nodes map[string]*node
}

// node is one who gossips.
type node struct {
	network *network
	address string
	packets func(string, []byte)
	streams func(net.Conn)
	away    bool // nothing goes in or out
	*gossip.Gossip

	hints []string
}

// links is a node as its gossip sees it.
type links struct{ *node }

func (l links) Gossip(packets func(string, []byte), streams func(net.Conn)) {
	l.packets, l.streams = packets, streams
}

// other returns the node at an address, if something can go there from h.
func (h *node) other(address string) *node {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	to := h.network.nodes[address]
	if to == nil || to.away || h.away {
		return nil
	}
	return to
}

func (l links) SendPacket(address string, packet []byte) {
	if to := l.other(address); to != nil {
		to.packets(l.address, packet)
	}
}

func (l links) DialGossip(ctx context.Context, address string) (net.Conn, error) {
	to := l.other(address)
	if to == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	near, far := net.Pipe()
	to.streams(far)
	return near, nil
}

// join lets a member gossip in the network.
func (v *network) join(t *testing.T, address string, join ...string) *node {
	t.Helper()
	h := &node{network: v, address: address}
	g, err := gossip.Start(gossip.Config{Links: links{h}, Deliver: h.deliver, Address: address, Join: join})
	if err != nil {
		t.Fatal(err)
	}
	h.Gossip = g
	v.mu.Lock()
	v.nodes[address] = h
	v.mu.Unlock()
	return h
}

func (h *node) deliver(events []protocol.Event) {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	for _, ev := range events {
		hint := ev.Fact.(protocol.Hint)
		if ev.Kind != protocol.Receive || ev.From != protocol.Rumour || ev.Port != protocol.Below {
			panic(fmt.Sprintf("%+v", ev))
		}
		h.hints = append(h.hints, fmt.Sprintf("%s %v", hint.Address, hint.Alive))
	}
}

func (h *node) setAway(away bool) {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	h.away = away
}

// takeHints takes the hints since it was called last.
func (h *node) takeHints() []string {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	hints := h.hints
	h.hints = nil
	slices.Sort(hints)
	return hints
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // inside a synctest bubble
	synctest.Wait()
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestFindsAndMisses: members find each other from one address, though only one knows
// it, and miss a member that goes without a word within about two leases; one that was
// cut off is found again by itself; one that has ended is missed like one that is cut off.
func TestFindsAndMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &network{nodes: map[string]*node{}}
		a := v.join(t, "10.0.0.1:4040")
		b := v.join(t, "b.example:4040", "10.0.0.1:4040", "b.example:4040")
		c := v.join(t, "unix:///run/c.sock", "10.0.0.1:4040")
		pass(3 * time.Second)
		same(t, "a finds", a.takeHints(), "b.example:4040 true", "unix:///run/c.sock true")
		same(t, "b finds", b.takeHints(), "10.0.0.1:4040 true", "unix:///run/c.sock true")
		same(t, "c finds", c.takeHints(), "10.0.0.1:4040 true", "b.example:4040 true")
		same(t, "here are", c.Members(), "10.0.0.1:4040", "b.example:4040", "unix:///run/c.sock")

		c.setAway(true)
		pass(6 * time.Second)
		same(t, "a misses", a.takeHints(), "unix:///run/c.sock false")
		same(t, "b misses", b.takeHints(), "unix:///run/c.sock false")
		same(t, "c misses", c.takeHints(), "10.0.0.1:4040 false", "b.example:4040 false")
		c.setAway(false)
		pass(time.Minute)
		same(t, "a finds again", a.takeHints(), "unix:///run/c.sock true")
		same(t, "c finds again", c.takeHints(), "10.0.0.1:4040 true", "b.example:4040 true")

		b.takeHints()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		pass(6 * time.Second)
		same(t, "a hears", a.takeHints(), "unix:///run/c.sock false")
		same(t, "b hears", b.takeHints(), "unix:///run/c.sock false")
		for _, h := range []*node{a, b} {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
		pass(time.Minute) // what memberlist has under way ends by itself
	})
}

// TestCloseAlone: with no other member there, and with a dial under way.
func TestCloseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &network{nodes: map[string]*node{}}
		a := v.join(t, "10.0.0.1:4040", "10.0.0.9:4040")
		pass(time.Second)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		same(t, "hints", a.takeHints())
		pass(time.Minute)
	})
}

func TestStartNamesTheWrongField(t *testing.T) {
	good := gossip.Config{Links: links{&node{}}, Deliver: func([]protocol.Event) {}, Address: "a:1"}
	for want, change := range map[string]func(*gossip.Config){
		"Links":   func(c *gossip.Config) { c.Links = nil },
		"Deliver": func(c *gossip.Config) { c.Deliver = nil },
		"Address": func(c *gossip.Config) { c.Address = "" },
		"Lease":   func(c *gossip.Config) { c.Lease = -1 },
	} {
		c := good
		change(&c)
		if _, err := gossip.Start(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", want, err)
		}
	}
}

// TestHostilePackets do no harm.
func TestHostilePackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &network{nodes: map[string]*node{}}
		a := v.join(t, "10.0.0.1:4040")
		for kind := range 256 {
			for _, rest := range []string{"", "\x00", "\xff\xff\xff\xff\xff\xff\xff\xff", strings.Repeat("\x80", 100), "\x01\x00\x02\xdf"} {
				a.packets("10.0.0.9:4040", append([]byte{byte(kind)}, rest...))
				near, far := net.Pipe()
				a.streams(far)
				if _, err := near.Write(append([]byte{byte(kind)}, rest...)); err != nil && !errors.Is(err, net.ErrClosed) {
					t.Logf("kind %d: %v", kind, err) // it was closed for what came on it
				}
				_ = near.Close()
			}
			synctest.Wait()
		}
		pass(time.Second)
		same(t, "here are", a.Members(), "10.0.0.1:4040")
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
	})
}
