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

// Limits that are not configurable.
const (
	frameBytes    = 64 << 10 // size beyond which a frame takes no further message or packet
	frameMessages = 1 << 10  // and number beyond which it takes none
	messageBytes  = 1 << 20  // of one message
	packetBytes   = 64 << 10 // of one packet of the gossip
	nameBytes     = 512      // of a name or an address
	acquaintances = 1 << 12  // members remembered
	streamsOfOne  = 8        // from one member, each under another address of this one
	idle          = time.Minute
	refusedPause  = 2 * time.Second // between attempts to reach a peer that refuses
	firstPause    = 20 * time.Millisecond
	// window is the flow control window of a stream and of a connection. With an explicit value gRPC does not measure
	// the connection's bandwidth, for which it would send a ping with nearly every frame.
	window = 1 << 20
)

// FrameBytes is the maximum size of a frame that a member accepts; a server must accept messages of that size. It has
// room for frameBytes plus one message.
const FrameBytes = 2 << 20

// Config configures a Transport.
type Config struct {
	// Identity returns this member's identity. It is called for every handshake, since a member may find its cluster
	// later; id and incarnation are constant. It must not call the transport. Required.
	Identity func() transport.Identity
	// Certificates authenticate this member to others, and others to it: each must show a certificate that carries its
	// claimed name and is signed by the members' authority. They encrypt connections to other members, and those of
	// Serve. If nil, TLS applies.
	Certificates *certificate.Store
	// TLS is used if Certificates is nil: its certificate, which must carry this member's name, and RootCAs, the
	// members' authority. Nil means plain text.
	TLS *tls.Config
	// Members are the names of the members, or patterns of them as in path.Match, that TLS accepts. Empty means every
	// name. Certificates has its own list.
	Members []string
	// Deadline is how long a frame may stay unconfirmed before its stream is closed: at most half of the protocols'
	// wait for an answer. Zero means 100 ms. If two round trips of the stream take longer, they are the deadline, up to
	// ten times Deadline or 250 ms, whichever is more.
	Deadline time.Duration
	// Retry is the longest pause between two attempts to reach a peer. Zero means 500 ms.
	Retry time.Duration
	// Queue is the maximum number of messages queued for one peer. Zero means 16,384.
	Queue int
	// Peers is the maximum number of addresses sent to, and of streams received from, at once. Zero means 1,024.
	Peers int
	// Policy returns the digest of this member's access policy, which others compare with theirs. Nil means that it does
	// not say.
	Policy func() string
	// Dial opens a connection to HOST:PORT or unix:///PATH. Nil means the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Observer receives the transport's counts. Nil means transport.Silent.
	Observer transport.Observer
	// Logger is the transport's logger. Nil discards.
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
	if c.Certificates, err = certificate.Fixed(c.TLS, c.Members...); err == nil {
		err = c.Certificates.Require(c.Identity().Name)
	}
	if err != nil {
		return fmt.Errorf("transport: TLS: %w", err)
	}
	return nil
}

// handshake returns the time limit of each step of reaching a peer: the connection, its encryption, the greeting. It is
// longer than that of a frame, because it is more work.
func (c *Config) handshake() time.Duration { return max(10*c.Deadline, 250*time.Millisecond) }

func plausible(address string) bool { return address != "" && len(address) <= nameBytes }
