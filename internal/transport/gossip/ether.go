package gossip

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Links carry packets and connections between members, by their advertised addresses.
type Links interface {
	// Gossip sets the receivers of packets and connections. Neither function blocks.
	Gossip(packets func(from string, packet []byte), streams func(net.Conn))
	// SendPacket sends a packet. It never blocks, and does not guarantee delivery.
	SendPacket(address string, packet []byte)
	// DialGossip opens a connection. The context bounds only the opening.
	DialGossip(ctx context.Context, address string) (net.Conn, error)
}

// anywhere is a dummy address for memberlist, which wants one with the name.
const anywhere = "0.0.0.0:1"

// Bounds of the input not yet processed. Beyond them it is lost.
const (
	mostPackets = 1024
	mostStreams = 64
)

// ether is memberlist's Transport over Links.
type ether struct {
	links   Links
	address string
	packets chan *memberlist.Packet
	streams chan net.Conn

	life context.Context // ends with abandon
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
}

var _ memberlist.NodeAwareTransport = (*ether)(nil)

func newEther(links Links, address string) *ether {
	e := &ether{
		links: links, address: address,
		packets: make(chan *memberlist.Packet, mostPackets), streams: make(chan net.Conn, mostStreams),
	}
	e.life, e.end = context.WithCancel(context.Background())
	links.Gossip(e.packet, e.stream)
	return e
}

func (e *ether) packet(from string, packet []byte) {
	select {
	case e.packets <- &memberlist.Packet{Buf: packet, From: sender(from), Timestamp: time.Now()}:
	default: // packets may be lost
	}
}

func (e *ether) stream(conn net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		select {
		case e.streams <- conn:
			return
		default: // more than can be processed
		}
	}
	_ = conn.Close() // nothing was sent on it
}

// sender is the address of a packet's sender.
type sender string

func (sender) Network() string  { return "holdfast" }
func (s sender) String() string { return string(s) }

// FinalAdvertiseAddr returns an IP address and port for the member. Nothing is sent there: they only have to be stable.
func (e *ether) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	host, port, err := net.SplitHostPort(e.address)
	if err == nil {
		if ip := net.ParseIP(host); ip != nil {
			if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
				return ip, int(n), nil
			}
		}
	}
	sum := fnv.New128a()
	sum.Write([]byte(e.address)) // never returns an error
	ip := net.IP(sum.Sum(nil))
	ip[0] = 0xfd // a private one
	return ip, 1, nil
}

var errNameless = errors.New("gossip: a member is reached by its name alone")

// WriteTo is not supported: members are reached by name.
func (e *ether) WriteTo([]byte, string) (time.Time, error) { return time.Time{}, errNameless }

// DialTimeout is not supported: members are reached by name.
func (e *ether) DialTimeout(string, time.Duration) (net.Conn, error) { return nil, errNameless }

// WriteToAddress sends a packet to the named member.
func (e *ether) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	address, err := addressOf(to)
	if err != nil {
		return time.Time{}, err
	}
	e.links.SendPacket(address, append([]byte(nil), b...))
	return time.Now(), nil
}

// DialAddressTimeout opens a connection to the named member.
func (e *ether) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	address, err := addressOf(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(e.life, timeout)
	defer cancel()
	return e.links.DialGossip(ctx, address)
}

func addressOf(to memberlist.Address) (string, error) {
	if to.Name == "" {
		return "", errNameless
	}
	address, err := url.PathUnescape(to.Name)
	if err != nil {
		return "", fmt.Errorf("gossip: the name %q: %w", to.Name, err)
	}
	return address, nil
}

// PacketCh returns the channel of received packets.
func (e *ether) PacketCh() <-chan *memberlist.Packet { return e.packets }

// StreamCh returns the channel of received connections.
func (e *ether) StreamCh() <-chan net.Conn { return e.streams }

// abandon ends the dials under way, and stops receiving.
func (e *ether) abandon() {
	e.end()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for {
		select {
		case conn := <-e.streams:
			_ = conn.Close() // nothing was sent on it
		default:
			return
		}
	}
}

// Shutdown is called by memberlist when it ends.
func (e *ether) Shutdown() error {
	e.abandon()
	return nil
}
