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

// village has the links of all who gossip.
type village struct {
	mu     sync.Mutex
	houses map[string]*house
}

// house is one who gossips.
type house struct {
	village *village
	address string
	packets func(string, []byte)
	streams func(net.Conn)
	away    bool // nothing goes in or out
	*gossip.Gossip

	hints []string
}

// links is a house as its gossip sees it.
type links struct{ *house }

func (l links) Gossip(packets func(string, []byte), streams func(net.Conn)) {
	l.packets, l.streams = packets, streams
}

// other returns the house at an address, if something can go there from h.
func (h *house) other(address string) *house {
	h.village.mu.Lock()
	defer h.village.mu.Unlock()
	to := h.village.houses[address]
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

// settle lets a member gossip in the village.
func (v *village) settle(t *testing.T, address string, join ...string) *house {
	t.Helper()
	h := &house{village: v, address: address}
	g, err := gossip.Start(gossip.Config{Links: links{h}, Deliver: h.deliver, Address: address, Join: join})
	if err != nil {
		t.Fatal(err)
	}
	h.Gossip = g
	v.mu.Lock()
	v.houses[address] = h
	v.mu.Unlock()
	return h
}

func (h *house) deliver(events []protocol.Event) {
	h.village.mu.Lock()
	defer h.village.mu.Unlock()
	for _, ev := range events {
		hint := ev.Fact.(protocol.Hint)
		if ev.Kind != protocol.Receive || ev.From != protocol.Rumour || ev.Port != protocol.Below {
			panic(fmt.Sprintf("%+v", ev))
		}
		h.hints = append(h.hints, fmt.Sprintf("%s %v", hint.Address, hint.Alive))
	}
}

func (h *house) setAway(away bool) {
	h.village.mu.Lock()
	defer h.village.mu.Unlock()
	h.away = away
}

// told takes the hints since it was called last.
func (h *house) told() []string {
	h.village.mu.Lock()
	defer h.village.mu.Unlock()
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
		v := &village{houses: map[string]*house{}}
		a := v.settle(t, "10.0.0.1:4040")
		b := v.settle(t, "b.example:4040", "10.0.0.1:4040", "b.example:4040")
		c := v.settle(t, "unix:///run/c.sock", "10.0.0.1:4040")
		pass(3 * time.Second)
		same(t, "a finds", a.told(), "b.example:4040 true", "unix:///run/c.sock true")
		same(t, "b finds", b.told(), "10.0.0.1:4040 true", "unix:///run/c.sock true")
		same(t, "c finds", c.told(), "10.0.0.1:4040 true", "b.example:4040 true")
		same(t, "here are", c.Members(), "10.0.0.1:4040", "b.example:4040", "unix:///run/c.sock")

		c.setAway(true)
		pass(6 * time.Second)
		same(t, "a misses", a.told(), "unix:///run/c.sock false")
		same(t, "b misses", b.told(), "unix:///run/c.sock false")
		same(t, "c misses", c.told(), "10.0.0.1:4040 false", "b.example:4040 false")
		c.setAway(false)
		pass(time.Minute)
		same(t, "a finds again", a.told(), "unix:///run/c.sock true")
		same(t, "c finds again", c.told(), "10.0.0.1:4040 true", "b.example:4040 true")

		b.told()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		pass(6 * time.Second)
		same(t, "a is told", a.told(), "unix:///run/c.sock false")
		same(t, "b is told", b.told(), "unix:///run/c.sock false")
		for _, h := range []*house{a, b} {
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
		v := &village{houses: map[string]*house{}}
		a := v.settle(t, "10.0.0.1:4040", "10.0.0.9:4040")
		pass(time.Second)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		same(t, "hints", a.told())
		pass(time.Minute)
	})
}

func TestStartNamesTheWrongField(t *testing.T) {
	good := gossip.Config{Links: links{&house{}}, Deliver: func([]protocol.Event) {}, Address: "a:1"}
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
		v := &village{houses: map[string]*house{}}
		a := v.settle(t, "10.0.0.1:4040")
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
