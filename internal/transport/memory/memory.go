package memory

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Network carries messages between the members that have joined it. It is safe for concurrent use.
type Network struct {
	mu      sync.Mutex
	script  Script
	now     time.Duration
	sent    int
	flying  []flight // in order of delivery, then of sending
	members []*Member
}

// Passage is one message under way.
type Passage struct {
	Number  int         // of the message, from 1 on
	From    protocol.ID // the sender
	To      protocol.ID // protocol.AnyMember if it goes by address
	Address string      // the destination
	Port    protocol.Port
	Message protocol.Message
}

// Script decides the fate of a message: it returns a delay for each copy that arrives. None loses it. It is called with
// the network's mutex held.
type Script func(p Passage) []time.Duration

// Faithful is the Script that delivers every message once, at once.
func Faithful(Passage) []time.Duration { return []time.Duration{0} }

type flight struct {
	passage Passage
	due     time.Duration
}

// New returns a network with a script; nil means Faithful.
func New(script Script) *Network {
	n := &Network{}
	n.Obey(script)
	return n
}

// Obey replaces the script for later messages; nil means Faithful.
func (n *Network) Obey(script Script) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if script == nil {
		script = Faithful
	}
	n.script = script
}

// Join puts a member on the network, in place of an earlier one under its address. The error says what its identity
// lacks, or which other member has its id.
func (n *Network) Join(self transport.Identity) (*Member, error) {
	if self.ID == 0 || self.Address == "" {
		return nil, fmt.Errorf("join memory network: identity %v: it needs an id and an address", self)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.members {
		if m.self.ID == self.ID && m.self.Address != self.Address {
			return nil, &transport.Refusal{What: transport.SameID, Who: self.String(), Ours: m.self.String(), Theirs: self.String()}
		}
	}
	n.members = slices.DeleteFunc(n.members, func(m *Member) bool { return m.self.Address == self.Address })
	m := &Member{network: n, self: self}
	n.members = append(n.members, m)
	return m, nil
}

// Deliver delivers the messages that are due, and those sent meanwhile, until none is left. It returns the number of
// deliveries. A message for a member that is not here, or does not listen, is lost.
func (n *Network) Deliver() int {
	arrived := 0
	for {
		deliver, ev, ok := n.next()
		if !ok {
			return arrived
		}
		if deliver != nil {
			deliver([]protocol.Event{ev})
			arrived++
		}
	}
}

// Advance advances time and delivers what becomes due, each at its time. It returns the number of deliveries.
func (n *Network) Advance(d time.Duration) int {
	n.mu.Lock()
	until := n.now + d
	n.mu.Unlock()
	arrived := 0
	for {
		arrived += n.Deliver()
		n.mu.Lock()
		if len(n.flying) == 0 || n.flying[0].due > until {
			n.now = until
			n.mu.Unlock()
			return arrived
		}
		n.now = n.flying[0].due
		n.mu.Unlock()
	}
}

// Waiting returns the messages under way, in order of arrival.
func (n *Network) Waiting() []Passage {
	n.mu.Lock()
	defer n.mu.Unlock()
	waiting := make([]Passage, len(n.flying))
	for i, f := range n.flying {
		waiting[i] = f.passage
	}
	return waiting
}

// next takes the next message that is due, with its receiver, nil if there is none.
func (n *Network) next() (transport.Deliver, protocol.Event, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.flying) == 0 || n.flying[0].due > n.now {
		return nil, protocol.Event{}, false
	}
	p := n.flying[0].passage
	n.flying = slices.Delete(n.flying, 0, 1)
	ev := protocol.Event{Kind: protocol.Receive, From: p.From, Port: p.Port, Fact: p.Message}
	for _, m := range n.members {
		if m.is(p) {
			return m.deliver, ev, true
		}
	}
	return nil, ev, true
}

// send applies the script to a message and puts its copies under way.
func (n *Network) send(from protocol.ID, e *protocol.Envelope) {
	n.sent++
	p := Passage{Number: n.sent, From: from, To: e.To, Address: e.Address, Port: e.Port, Message: e.Message}
	for _, m := range n.members {
		if e.To != protocol.AnyMember && m.self.ID == e.To {
			p.Address = m.self.Address
		}
	}
	for _, delay := range n.script(p) {
		due := n.now + delay
		at, _ := slices.BinarySearchFunc(n.flying, due, func(f flight, due time.Duration) int {
			if f.due <= due {
				return -1
			}
			return 1
		})
		n.flying = slices.Insert(n.flying, at, flight{p, due})
	}
}

// Member is one member's end of the network: a transport.Transport.
type Member struct {
	network *Network
	self    transport.Identity
	deliver transport.Deliver
	closed  bool
}

var _ transport.Transport = (*Member)(nil)

// is reports whether p is for m.
func (m *Member) is(p Passage) bool {
	if p.To == protocol.AnyMember {
		return m.self.Address == p.Address
	}
	return m.self.ID == p.To
}

// Send puts messages on their way.
func (m *Member) Send(envelopes []protocol.Envelope) {
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	if m.closed {
		return
	}
	for i := range envelopes {
		m.network.send(m.self.ID, &envelopes[i])
	}
}

// Listen begins to deliver.
func (m *Member) Listen(deliver transport.Deliver) {
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	m.deliver = deliver
}

// Close takes the member off the network. Its earlier messages are still under way.
func (m *Member) Close() error {
	n := m.network
	n.mu.Lock()
	defer n.mu.Unlock()
	m.closed, m.deliver = true, nil
	n.members = slices.DeleteFunc(n.members, func(other *Member) bool { return other == m })
	return nil
}
