package grpc

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// pinger is a machine that asks every other member again and again until each has
// answered, as every protocol here does, and answers what it is asked. A question is
// an odd number, its answer the even one above.
type pinger struct {
	others []string // their addresses
	ids    []protocol.ID
	every  time.Duration

	round   int // that is under way; 0 for none
	missing []protocol.ID
	call    protocol.CallID
	wake    protocol.Time
}

// begin is what the machine is called with: ask all others; the answer is the round.
type begin struct{}

func (m *pinger) Wake() protocol.Time { return m.wake }

func (m *pinger) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *begin:
		m.round++
		m.missing = slices.Clone(m.ids)
		m.call = ev.Call
		m.ping(now, out)
	case authority.InfoRequest:
		switch {
		case fact.Chunk%2 == 1:
			out.Send(ev.From, note(int(fact.Chunk)+1))
		case int(fact.Chunk) == 2*m.round:
			m.missing = slices.DeleteFunc(m.missing, func(id protocol.ID) bool { return id == ev.From })
			if len(m.missing) == 0 && m.call != (protocol.CallID{}) {
				out.Reply(m.call, m.round)
				m.call, m.wake = protocol.CallID{}, protocol.Never
			}
		}
	case nil:
		if ev.Kind == protocol.Tick && m.wake <= now && len(m.missing) > 0 {
			m.ping(now, out)
		}
	}
}

func (m *pinger) ping(now protocol.Time, out *protocol.Effects) {
	m.wake = now + m.every
	for i, id := range m.ids {
		if slices.Contains(m.missing, id) {
			out.SendTo(m.others[i], note(2*m.round-1))
		}
	}
}

// cluster is three members, each a driver over a transport on loopback.
type cluster struct {
	t          *testing.T
	identities []transport.Identity
	members    [3]*peerHarness
	drivers    [3]*run.Driver
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var listeners []net.Listener
	for i := range c.members {
		l := listenAgain(t, "127.0.0.1:0")
		listeners = append(listeners, l)
		c.identities = append(c.identities, identityAt(protocol.ID(i+1), l))
	}
	for i, l := range listeners {
		c.start(i, l)
	}
	t.Cleanup(func() {
		for i := range c.members {
			c.kill(i)
		}
	})
	return c
}

// start begins a life of member i.
func (c *cluster) start(i int, l net.Listener) {
	c.t.Helper()
	b := prepare(c.t, c.identities[i], func(config *Config) { config.Deadline = 125 * time.Millisecond })
	m := &pinger{every: 10 * time.Millisecond, wake: protocol.Never}
	for j, other := range c.identities {
		if j != i {
			m.ids, m.others = append(m.ids, other.ID), append(m.others, other.Address)
		}
	}
	driver, err := run.New(run.Config{Machine: m, Peers: b})
	if err != nil {
		c.t.Fatal(err)
	}
	c.members[i], c.drivers[i] = b, driver
	b.Listen(func(events []protocol.Event) { driver.Step(events...) })
	go func() { b.served <- b.Serve(l) }()
}

// kill ends the life of member i without a word.
func (c *cluster) kill(i int) {
	c.t.Helper()
	c.members[i].stop()
	if err := c.drivers[i].Close(); err != nil {
		c.t.Error(err)
	}
}

// ping lets member i ask all others, and returns when all have answered.
func (c *cluster) ping(i int) {
	c.t.Helper()
	select {
	case <-c.pinging(i):
	case <-time.After(patience):
		c.t.Fatalf("member %d gets no answers", i+1)
	}
}

func (c *cluster) pinging(i int) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := c.drivers[i].Do(c.t.Context(), protocol.Below, &begin{}); err != nil {
			c.t.Errorf("member %d: %v", i+1, err)
		}
	}()
	return done
}

// TestDriversTalk: three machines over their drivers and the network.
func TestDriversTalk(t *testing.T) {
	c := newCluster(t)
	for range 20 {
		for i := range c.members {
			c.ping(i)
		}
	}
}

// TestDriversOutliveARestart: a member that asks another one while it is gone gets its answer when it is
// back.
func TestDriversOutliveARestart(t *testing.T) {
	c := newCluster(t)
	c.ping(0)
	for life := range 3 {
		c.kill(2)
		answered := c.pinging(0)
		c.members[0].counts.await(t, "dropped unreachable", life+1)
		select {
		case <-answered:
			t.Fatal("a member that is gone has answered")
		default:
		}
		c.identities[2].Incarnation++
		c.start(2, listenAgain(t, c.identities[2].Address))
		<-answered
		c.ping(2)
	}
}

// TestDriversOutliveACut: a member that stops listening, and whose connections break, is found
// again when it listens again.
func TestDriversOutliveACut(t *testing.T) {
	c := newCluster(t)
	c.ping(0)
	c.ping(1)
	address := c.identities[1].Address
	proxied := relayTo(t, address)
	c.identities[1].Address = proxied.address // where the others look for it from now on
	for i := range c.members {
		c.kill(i)
		c.identities[i].Incarnation++
	}
	for i, identity := range c.identities {
		if i == 1 {
			c.start(i, listenAgain(t, address))
		} else {
			c.start(i, listenAgain(t, identity.Address))
		}
	}
	c.ping(0)
	for round := range 3 {
		before, _ := c.members[0].counts.lost()
		proxied.close()
		answered := c.pinging(0)
		wait(t, fmt.Sprintf("to miss it in round %d", round), func() (bool, <-chan struct{}) {
			lost, changed := c.members[0].counts.lost()
			return lost > before, changed
		})
		proxied.open(t)
		<-answered
	}
}

// proxy passes connections on to a target while it is open.
type proxy struct {
	address string
	target  string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	work     sync.WaitGroup
}

func relayTo(t *testing.T, target string) *proxy {
	t.Helper()
	l := listenAgain(t, "127.0.0.1:0")
	p := &proxy{address: l.Addr().String(), target: target}
	p.accept(l)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) open(t *testing.T) { p.accept(listenAgain(t, p.address)) }

func (p *proxy) accept(l net.Listener) {
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	p.work.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", p.target)
			if err != nil {
				_ = near.Close() // as the target would have done
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, near, far)
			p.mu.Unlock()
			p.work.Go(func() { pump(near, far) })
			p.work.Go(func() { pump(far, near) })
		}
	})
}

func pump(from, to net.Conn) {
	defer to.Close()
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// close breaks all connections and accepts no more.
func (p *proxy) close() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close() // it may be closed already
	}
	for _, conn := range p.conns {
		_ = conn.Close() // either end may have closed it
	}
	p.conns = nil
	p.mu.Unlock()
	p.work.Wait()
}
