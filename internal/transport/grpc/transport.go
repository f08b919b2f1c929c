package grpc

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Transport carries one member's messages over gRPC. It is a transport.Transport, and safe for concurrent use.
type Transport struct {
	config   Config
	identity func() transport.Identity
	process  uint64 // distinguishes this process from every other
	self     protocol.ID

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // all running tasks

	listening chan struct{} // closed by Listen
	deliver   transport.Deliver
	packets   func(from string, packet []byte)
	streams   func(net.Conn)
	publisher Publisher
	outdated  func(error) // set by Superseded

	mu       sync.Mutex
	closed   bool
	peers    map[string]*peer
	known    map[protocol.ID]*known
	incoming map[*incoming]struct{}
	gossips  int                 // open connections of the gossip
	watches  int                 // open streams of events
	reported map[string]struct{} // logged refusals
}

var _ transport.Transport = (*Transport)(nil)

// New returns a Transport without connections. The error names the invalid field of c, and the allowed values. Close
// it.
func New(c Config) (*Transport, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	t := &Transport{
		config: c, identity: c.Identity, process: 1 + rand.Uint64N(1<<63), self: c.Identity().ID,
		listening: make(chan struct{}),
		peers:     map[string]*peer{}, known: map[protocol.ID]*known{},
		incoming: map[*incoming]struct{}{}, reported: map[string]struct{}{},
	}
	t.life, t.end = context.WithCancel(context.Background())
	return t, nil
}

// Superseded sets a function that is called, once, when another member refuses this one because it knows of a later
// life of it, whose promises are not known here. It is called before Listen.
func (t *Transport) Superseded(f func(error)) {
	var once sync.Once
	t.outdated = func(err error) { once.Do(func() { f(err) }) }
}

// supersede reports that a later life of this member is known elsewhere.
func (t *Transport) supersede(err error) {
	select {
	case <-t.listening:
	default:
		return // it will be refused again
	}
	if t.outdated != nil {
		t.outdated(err)
	}
}

// Listen begins to deliver. Before that no member is admitted.
func (t *Transport) Listen(deliver transport.Deliver) {
	t.deliver = deliver
	close(t.listening)
}

// Send sends messages. An envelope for a member that no handshake has found yet goes to its Address, if it has one, and
// is delivered there to no other member.
func (t *Transport) Send(envelopes []protocol.Envelope) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last *peer
	for i := range envelopes {
		e := &envelopes[i]
		p, why := t.route(e)
		if p != last && last != nil {
			last.queue.signal()
		}
		last = p
		if p == nil {
			t.config.Observer.Dropped(e.Port, e.Message, why)
			continue
		}
		dropped, packet := p.queue.put(outgoing{e.To, e.Port, e.Message})
		if packet {
			t.config.Observer.DroppedPacket(transport.Full)
		} else if dropped.message != nil {
			t.config.Observer.Dropped(dropped.port, dropped.message, transport.Full)
		}
	}
	if last != nil {
		last.queue.signal()
	}
}

// route returns the peer for an envelope, or why there is none. It is called with the mutex held.
func (t *Transport) route(e *protocol.Envelope) (*peer, transport.Drop) {
	address := e.Address
	if e.To != protocol.AnyMember {
		if k := t.known[e.To]; k != nil {
			if k.link != nil {
				return k.link, ""
			}
			address = k.Address
		} else if e.To == t.self {
			address = ownAddress
		}
	}
	if address == "" {
		return nil, transport.Unknown
	}
	return t.peerAt(address)
}

// ownAddress is the address of this member for itself, before it has met itself under another.
const ownAddress = "self"

// peerAt returns the peer at an address, and starts it if necessary. It is called with the mutex held.
func (t *Transport) peerAt(address string) (*peer, transport.Drop) {
	if p := t.peers[address]; p != nil {
		return p, ""
	}
	switch {
	case t.closed:
		return nil, transport.Closing
	case len(t.peers) >= t.config.Peers:
		return nil, transport.Full
	case !plausible(address):
		return nil, transport.Unreachable
	}
	p := newPeer(t, address)
	t.peers[address] = p
	t.work.Go(p.run)
	return p, ""
}

// Refusals returns, by address, why this member and the one that answers there refuse each other: a sentence for each
// whose latest handshake was refused by either side.
func (t *Transport) Refusals() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	refusals := map[string]string{}
	for address, p := range t.peers {
		if why := p.refusal.Load(); why != nil {
			refusals[address] = *why
		}
	}
	return refusals
}

// hint informs the machine that an address accepts no connections, or accepts them again.
func (t *Transport) hint(address string, alive bool) {
	select {
	case <-t.listening:
		t.deliver([]protocol.Event{{
			Kind: protocol.Receive, From: protocol.Rumour, Port: protocol.Below,
			Fact: protocol.Hint{Address: address, Alive: alive},
		}})
	default: // the machine does not run yet
	}
}

// Close ends every stream, in both directions, and drops the queues. It returns when nothing of the transport runs any
// more.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	for in := range t.incoming {
		in.finish(status.Error(codes.Unavailable, "this member is leaving"))
	}
	t.mu.Unlock()
	t.end()
	t.work.Wait()
	return nil
}
