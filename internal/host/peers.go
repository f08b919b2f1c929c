package host

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/gossip"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/protocol"
)

// connect makes the transport to other members, if there can be any.
func (n *Member) connect() (err error) {
	switch c := &n.config; {
	case c.Peers != nil:
		n.transport, err = c.Peers(n.introduce)
	case c.Listen != "":
		err = n.listen()
	}
	if err != nil {
		return fmt.Errorf("reach other members: %w", err)
	}
	return nil
}

// introduce returns this member's identity. It belongs to a cluster once it has joined it.
func (n *Member) introduce() transport.Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	return transport.Identity{
		ID: n.cell.ID, Incarnation: n.cell.Incarnation, Cluster: n.cell.Joined(),
		Name: n.config.Name, Address: n.config.Address, Terms: n.terms,
	}
}

// listen serves other members, and no clients.
func (n *Member) listen() error {
	network, place := "tcp", n.config.Listen
	if path, unix := strings.CutPrefix(place, "unix://"); unix {
		network, place = "unix", path
	}
	l, err := net.Listen(network, place)
	if err != nil {
		return err
	}
	t, err := NewTransport(n.introduce, Link{TLS: n.config.TLS, Members: n.config.Members, Patience: n.config.Patience, Logger: n.logger})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	n.transport = t
	n.hearing.Go(func() {
		if err := t.Serve(l); err != nil {
			n.logger.Error("other members cannot reach this one any more", "error", err)
		}
	})
	return nil
}

// Link configures a member's connections to others.
type Link struct {
	// Certificates authenticate this member to others, and others to it. If nil, TLS applies.
	Certificates *certificate.Store
	// TLS is used if Certificates is nil. Nil means plain text.
	TLS *tls.Config
	// Members are the names of the members that TLS accepts, or patterns of them. Empty means every name.
	Members []string
	// Patience is how long to wait for an answer. Zero means the transport's default.
	Patience time.Duration
	// Policy returns the digest of this member's access policy. Nil means that other members do not learn it.
	Policy func() string
	// Observer receives the transport's counts. Nil discards them.
	Observer transport.Observer
	// Logger is the transport's logger. Nil discards.
	Logger *slog.Logger
}

// NewTransport returns a gRPC transport to other members, with deadlines that match a patience. A server that shares
// its port with members registers it: see grpc.Transport.Register.
func NewTransport(introduce func() transport.Identity, link Link) (*grpc.Transport, error) {
	c := grpc.Config{Identity: introduce, Certificates: link.Certificates, TLS: link.TLS, Members: link.Members, Policy: link.Policy, Observer: link.Observer, Logger: link.Logger}
	if link.Patience > 0 {
		c.Deadline = min(100*time.Millisecond, link.Patience/2)
	}
	return grpc.New(c)
}

// hear connects the machines to other members: to their messages and, if the same connections can carry gossip, to
// rumours of them.
func (n *Member) hear() (err error) {
	if n.transport == nil {
		return nil
	}
	deliver := func(events []protocol.Event) {
		n.roll.note(n.driver.Now(), events)
		n.driver.Step(events...)
	}
	if links, carries := n.transport.(gossip.Links); carries && n.config.Address != "" {
		n.rumours, err = gossip.Start(gossip.Config{
			Links: links, Deliver: deliver, Address: n.config.Address, Join: n.config.Join,
			Lease: n.config.Lease, Logger: n.logger,
		})
		if err != nil {
			return err
		}
	}
	if publishing, is := n.transport.(interface{ PublishEvents(grpc.Publisher) }); is {
		publishing.PublishEvents(n.events.Stream)
	}
	if heeds, is := n.transport.(interface{ Superseded(func(error)) }); is {
		heeds.Superseded(n.superseded)
	}
	n.transport.Listen(deliver)
	return nil
}

// observer returns the function that sees the effects of every step: for Config.Observe, and for the source of this
// member's events, which other members and observers in this process read.
func (n *Member) observer() func(protocol.Time, *protocol.Effects) {
	if n.events = n.config.Events; n.events != nil {
		return n.config.Observe // it feeds the source
	}
	var names []string
	for _, space := range n.config.Spaces {
		names = append(names, space.Name)
	}
	n.events = events.NewSource(names)
	return func(now protocol.Time, effects *protocol.Effects) {
		n.events.Observe(effects)
		if n.config.Observe != nil {
			n.config.Observe(now, effects)
		}
	}
}

// flushTimeout is how long this member still sends others its events when it ends.
const flushTimeout = 500 * time.Millisecond

// disconnect undoes connect and hear.
func (n *Member) disconnect() error {
	if n.transport == nil {
		return nil
	}
	slow := time.NewTimer(flushTimeout)
	defer slow.Stop()
	select {
	case <-n.events.End():
	case <-slow.C: // they find out what they miss
	}
	var err error
	if n.rumours != nil {
		err = n.rumours.Close()
	}
	err = errors.Join(err, n.transport.Close())
	n.hearing.Wait()
	return err
}
