package gossip

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config configures a Gossip.
type Config struct {
	// Links carry the gossip. Start must be called before they deliver. Required.
	Links Links
	// Deliver receives the hints. Required.
	Deliver transport.Deliver
	// Address is the member's advertised address. Required.
	Address string
	// Join are addresses of possible members; the member's own may be among them.
	Join []string
	// Lease sets the pace: a member that does not answer for about that long is reported dead. Zero means 3 s.
	Lease time.Duration
	// Logger logs memberlist's messages, at level debug. Nil discards.
	Logger *slog.Logger
}

// Gossip finds members by gossip, until Close.
type Gossip struct {
	config Config
	list   *memberlist.Memberlist
	ether  *ether
	hints  hints

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup
}

// Start begins to gossip. The error names the invalid field of c, and the allowed values. No member is reached before
// the Links deliver.
func Start(c Config) (*Gossip, error) {
	switch {
	case c.Links == nil:
		return nil, fmt.Errorf("gossip: Links is nil; give the members' connections")
	case c.Deliver == nil:
		return nil, fmt.Errorf("gossip: Deliver is nil; say who takes the hints")
	case c.Address == "":
		return nil, fmt.Errorf("gossip: Address is empty; say where this member is reached")
	case c.Lease < 0:
		return nil, fmt.Errorf("gossip: Lease is %v; more than 0 is allowed, or 0 for 3s", c.Lease)
	}
	c.Lease = cmp.Or(c.Lease, 3*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gossip{config: c, ether: newEther(c.Links, c.Address)}
	g.hints.wake = make(chan struct{}, 1)
	g.life, g.end = context.WithCancel(context.Background())
	list, err := memberlist.Create(g.settings())
	if err != nil {
		g.end()
		return nil, fmt.Errorf("start gossip: %w", err)
	}
	g.list = list
	g.work.Go(g.deliver)
	g.work.Go(g.seek)
	return g, nil
}

// settings returns memberlist's configuration, at the lease's pace.
func (g *Gossip) settings() *memberlist.Config {
	lease := g.config.Lease
	s := memberlist.DefaultLANConfig()
	s.Name = nameOf(g.config.Address)
	s.Transport = g.ether
	s.RequireNodeNames = true // they are the addresses
	s.Events = &g.hints
	s.Logger = log.New(lines{g.config.Logger}, "", 0)
	s.ProbeInterval, s.ProbeTimeout = lease/6, lease/12
	s.SuspicionMult, s.SuspicionMaxTimeoutMult = 2, 3
	s.GossipInterval = lease / 15
	s.PushPullInterval = 5 * lease
	s.TCPTimeout = lease
	s.GossipToTheDeadTime = 10 * lease
	s.DisableTcpPings = true // they would take the same path as the packets
	s.EnableCompression = false
	return s
}

// deliver passes hints on, outside of memberlist's locks.
func (g *Gossip) deliver() {
	own := nameOf(g.config.Address)
	for {
		select {
		case <-g.hints.wake:
		case <-g.life.Done():
			return
		}
		var events []protocol.Event
		for _, hint := range g.hints.take() {
			if hint.name == own {
				continue
			}
			address, err := url.PathUnescape(hint.name)
			if err != nil {
				continue // no member of ours has such a name
			}
			events = append(events, protocol.Event{
				Kind: protocol.Receive, From: protocol.Rumour, Port: protocol.Below,
				Fact: protocol.Hint{Address: address, Alive: hint.alive},
			})
		}
		if len(events) > 0 {
			g.config.Deliver(events)
		}
	}
}

// seek contacts addresses without a known member, ever less often: at the start, and again after a partition.
func (g *Gossip) seek() {
	pause := g.config.Lease / 12
	for {
		if missing := g.missing(); len(missing) > 0 {
			if _, err := g.list.Join(missing); err != nil {
				g.config.Logger.Debug("no member to gossip with", "error", err)
			}
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2+1))
		select {
		case <-timer.C:
		case <-g.life.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, 5*g.config.Lease)
	}
}

// missing returns the addresses without a known member, in the form for memberlist's Join.
func (g *Gossip) missing() (missing []string) {
	members := g.list.Members()
	for _, address := range g.config.Join {
		name := nameOf(address)
		if name == nameOf(g.config.Address) || slices.ContainsFunc(members, func(n *memberlist.Node) bool { return n.Name == name }) {
			continue
		}
		missing = append(missing, name+"/"+anywhere)
	}
	return missing
}

// Members returns the sorted addresses of the members that seem to be up, including this one.
func (g *Gossip) Members() (addresses []string) {
	for _, node := range g.list.Members() {
		if address, err := url.PathUnescape(node.Name); err == nil {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	return addresses
}

// Close ends the gossip; the Links belong to their owner. No hint is delivered after it has returned.
func (g *Gossip) Close() error {
	g.end()
	g.ether.abandon()
	g.work.Wait()
	if err := g.list.Shutdown(); err != nil {
		return fmt.Errorf("end gossip: %w", err)
	}
	return nil
}

// nameOf turns an address into a name, which may not have a slash.
func nameOf(address string) string { return url.PathEscape(address) }

// lines forwards memberlist's log.
type lines struct{ logger *slog.Logger }

func (l lines) Write(b []byte) (int, error) {
	l.logger.Debug(strings.TrimSpace(string(b)))
	return len(b), nil
}

// mostHints bounds the pending hints for the machine. Later events repeat them, so the oldest may be dropped.
const mostHints = 1024

// hint is memberlist's current belief about a name.
type hint struct {
	name  string
	alive bool
}

// hints collects memberlist's events under its locks. It is its EventDelegate.
type hints struct {
	wake chan struct{}

	mu      sync.Mutex
	waiting []hint
}

func (h *hints) add(node *memberlist.Node, alive bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) >= mostHints {
		h.waiting = slices.Delete(h.waiting, 0, 1)
	}
	h.waiting = append(h.waiting, hint{node.Name, alive})
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
}

func (h *hints) take() []hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting := h.waiting
	h.waiting = nil
	return waiting
}

// NotifyJoin is called when a member is found.
func (h *hints) NotifyJoin(node *memberlist.Node) { h.add(node, true) }

// NotifyLeave is called when a member is gone.
func (h *hints) NotifyLeave(node *memberlist.Node) { h.add(node, false) }

// NotifyUpdate is called when a member's metadata changes; there is none.
func (h *hints) NotifyUpdate(*memberlist.Node) {}
