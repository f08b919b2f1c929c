package grpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/transport"
)

// Bounds that no user has had a reason to set.
const (
	frameBytes    = 64 << 10 // a frame takes no further message or packet beyond it
	frameMessages = 1 << 10  // nor beyond this number
	messageBytes  = 1 << 20  // of one message
	packetBytes   = 64 << 10 // of one packet of the gossip
	nameBytes     = 512      // of a name or an address
	acquaintances = 1 << 12  // members remembered
	streamsOfOne  = 8        // from one member, each under another address of this one
	idle          = time.Minute
	refusedPause  = 2 * time.Second // between attempts to reach who refuses
	firstPause    = 20 * time.Millisecond
	// window is what a member may send before it is read, on a stream and on all of a
	// connection. Where it is given gRPC does not measure the connection's bandwidth, for
	// which it would send a ping with nearly every frame.
	window = 1 << 20
)

// FrameBytes is the largest frame that a member accepts, and a server must accept
// messages of that size. It has room for frameBytes and a message more.
const FrameBytes = 2 << 20

// Config configures a Transport.
type Config struct {
	// Identity returns who this member is. It is asked for every handshake, since a
	// member may find its cluster later; id and incarnation stay. It must not call the
	// transport. Required.
	Identity func() transport.Identity
	// Certificates prove to other members who this one is, and to this one who they are:
	// each must show one that carries the name that it says it has, which the members'
	// authority has signed. They encrypt connections to other members, and what Serve
	// accepts. Nil means what TLS says.
	Certificates *certificate.Store
	// TLS is what Certificates are made of where those are nil: its certificate, which must
	// carry this member's name, and RootCAs, the members' authority. Nil means plain text.
	TLS *tls.Config
	// Deadline is how long a frame may stay unconfirmed before its stream is given up:
	// at most half of what the protocols wait for an answer. Zero means 100 ms. Where two
	// round trips of the stream take longer it is those, up to ten times Deadline or 250 ms,
	// whichever is more.
	Deadline time.Duration
	// Retry is the longest pause between two attempts to reach a peer. Zero means 500 ms.
	Retry time.Duration
	// Queue is how many messages may wait for one peer. Zero means 16,384.
	Queue int
	// Peers is how many addresses are spoken to at once, and how many streams are heard
	// at once. Zero means 1,024.
	Peers int
	// Dial opens a connection to HOST:PORT or unix:///PATH. Nil means the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Observer counts. Nil means transport.Silent.
	Observer transport.Observer
	// Logger gets what operators should know. Nil discards.
	Logger *slog.Logger
}

func (c *Config) resolve() error {
	if c.Identity == nil {
		return fmt.Errorf("transport: Identity is nil; say who this member is")
	}
	if self := c.Identity(); self.ID == 0 || !plausible(self.Address) || len(self.Name) > nameBytes {
		return fmt.Errorf("transport: Identity is %v; it needs an id, an address, and texts of at most %d bytes", self, nameBytes)
	}
	if err := c.prove(); err != nil {
		return err
	}
	for _, field := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"Deadline", int64(c.Deadline), int64(longestDeadline)}, {"Retry", int64(c.Retry), int64(time.Hour)},
		{"Queue", int64(c.Queue), 1 << 24}, {"Peers", int64(c.Peers), 1 << 16},
	} {
		if field.value < 0 || field.value > field.most {
			return fmt.Errorf("transport: %s is %d; 1 to %d is allowed, or 0 for the default", field.name, field.value, field.most)
		}
	}
	c.Deadline = cmp.Or(c.Deadline, 100*time.Millisecond)
	c.Retry = cmp.Or(c.Retry, 500*time.Millisecond)
	c.Queue = cmp.Or(c.Queue, 1<<14)
	c.Peers = cmp.Or(c.Peers, 1<<10)
	if c.Dial == nil {
		c.Dial = socket.Dial
	}
	if c.Observer == nil {
		c.Observer = transport.Silent{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// prove makes the certificates of a configuration that has only TLS.
func (c *Config) prove() (err error) {
	if c.Certificates != nil || c.TLS == nil {
		return nil
	}
	if c.TLS.RootCAs == nil {
		return errors.New("transport: TLS.RootCAs is nil; give the authority that signs members' certificates")
	}
	if c.Certificates, err = certificate.Fixed(c.TLS); err == nil {
		err = c.Certificates.Require(c.Identity().Name, true)
	}
	if err != nil {
		return fmt.Errorf("transport: TLS: %w", err)
	}
	return nil
}

// handshake is how long each step of reaching a peer may take: a connection, its encryption, the
// greeting. It is longer than what is granted to a frame, because it is more.
func (c *Config) handshake() time.Duration { return max(10*c.Deadline, 250*time.Millisecond) }

func plausible(address string) bool { return address != "" && len(address) <= nameBytes }
