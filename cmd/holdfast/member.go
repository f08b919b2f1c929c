package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/node"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/server"
	"github.com/holdfast-locks/holdfast/storage/cell"
	"github.com/holdfast-locks/holdfast/wire"
)

// member is this process as a member that serves clients: a node, and a server over
// it.
type member struct {
	settings *config.Config
	log      *slog.Logger
	listen   string // where it really listens
	http     string // "" where HTTP is off
	grpc     net.Listener
	web      net.Listener // nil where HTTP is off
	node     *node.Node
	server   *server.Server
	ready    atomic.Bool
}

// startMember listens, reads what the member remembers, and makes its server. It
// accepts nothing yet. The ports are the first thing that is taken, because they say
// who this is where no name was given, and because two processes at one address are
// the mistake that is made most often.
func (p *program) startMember(ctx context.Context, settings *config.Config, log *slog.Logger) (*member, error) {
	material, err := settings.TLS.Server()
	if err != nil {
		return nil, misconfigured("serve: %w", err)
	}
	m := &member{settings: settings, log: log}
	if m.grpc, m.listen, err = listen("listen", settings.Listen); err != nil {
		return nil, err
	}
	if settings.HTTP != "" {
		if m.web, m.http, err = listen("http", settings.HTTP); err != nil {
			return nil, errors.Join(err, m.deafen())
		}
	}
	if err := m.join(ctx, p.environ, material); err != nil {
		return nil, errors.Join(err, m.deafen())
	}
	log.Info("listening", "listen", m.listen, "http", m.http, "name", m.node.Name(), "cluster", m.cluster())
	return m, nil
}

// listen takes an address, and returns the one that it really is.
func listen(key, address string) (net.Listener, string, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, l.Addr().String(), nil
	}
	reason := err.Error()
	var number syscall.Errno
	var unknown *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		reason = "address already in use; stop who uses it"
	case errors.As(err, &number):
		reason = number.Error() + "; give an address of this machine"
	case errors.As(err, &unknown):
		reason = "the host is not known; give an address of this machine"
	}
	return nil, "", misconfigured("serve: %s %s: %s, or choose another --%s", key, address, reason, key)
}

// join makes the node and its server.
func (m *member) join(ctx context.Context, environ []string, material *tls.Config) error {
	name := cmp.Or(m.settings.Name, config.DefaultName(m.listen))
	state, err := m.settings.StateDir(name, environ)
	if err != nil {
		return misconfigured("serve: %w", err)
	}
	var names []string
	var spaces []node.Space
	for _, space := range m.settings.Spaces {
		names = append(names, space.Name)
		spaces = append(spaces, node.Space{Name: space.Name, Protocol: space.Protocol})
	}
	observer := server.NewObserver(names)
	limits := m.settings.Limits
	m.node, err = node.Start(ctx, node.Config{
		Name: name, Address: cmp.Or(m.settings.Advertise, m.listen), State: state, Serves: true, Spaces: spaces,
		Lease: m.settings.Lease, Drift: m.settings.Drift, TTL: min(defaultTTL, limits.TTL),
		Limits: node.Limits{
			TTL: limits.TTL, Sessions: limits.Sessions,
			LocksPerSession: limits.LocksPerSession, WaitersPerName: limits.WaitersPerName,
		},
		Observe: observer.Observe, Logger: m.log,
	})
	if err != nil {
		return badStart(err)
	}
	m.server, err = server.New(server.Config{
		Driver: m.node.Driver(), Spaces: m.spaces(), Identity: m.identity, View: m.node.View, Observer: observer,
		Limits: server.Limits{TTL: limits.TTL, NameBytes: limits.NameBytes, MessageBytes: int64(limits.MessageBytes)},
		TLS:    material, Logger: m.log,
	})
	if err != nil {
		return errors.Join(err, m.node.Close())
	}
	return nil
}

// defaultTTL is what a session of a member alone gets that asks for nothing.
const defaultTTL = 10 * time.Second

// badStart adds to an error of the state folder what can be done about it.
func badStart(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, cell.ErrInUse):
		return misconfigured("serve: %w; stop that one, or give this one another --state", err)
	case strings.Contains(err.Error(), "stable cell in"): // damaged: the sentence says what to do
		return misconfigured("serve: %w", err)
	}
	return misconfigured("serve: %w; give a folder that can be written with --state DIR, or --state none", err)
}

// spaces are the node's lockspaces as they are served.
func (m *member) spaces() []server.Space {
	var all []server.Space
	for i, space := range m.settings.Spaces {
		served := server.Space{
			Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol,
			Class: holdfast.Fenced, Partition: cmp.Or(space.Options["partition"], "primary"),
		}
		if served.Partition == "any" {
			served.Class = holdfast.Available
		}
		all = append(all, served)
	}
	return all
}

// cluster is the cluster's id as text.
func (m *member) cluster() string { return strconv.FormatUint(m.node.Identity().Cluster, 36) }

// identity says who this member is.
func (m *member) identity() server.Identity {
	remembered := m.node.Identity()
	state := "recovering"
	if m.ready.Load() {
		state = "normal"
	}
	return server.Identity{
		Cluster: m.cluster(), Version: version(),
		Member: wire.Member{
			Name: m.node.Name(), ID: uint64(remembered.ID), Incarnation: remembered.Incarnation, Founder: true,
			Address: cmp.Or(m.settings.Advertise, m.listen), HTTP: m.http,
			Since: wire.At(m.node.Started()), State: state, Election: "normal",
		},
	}
}

// serveUntil accepts clients until ctx ends or a port does, and calls ready once,
// when every space can grant. Clients are served before that, too: they wait, or are
// told that nobody can grant.
func (m *member) serveUntil(ctx context.Context, ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	defer work.Wait()
	accept := func(accept func(net.Listener) error, l net.Listener) {
		go func() {
			if err := accept(l); err != nil {
				cancel(err)
			}
		}()
	}
	accept(m.server.AcceptGRPC, m.grpc)
	if m.web != nil {
		accept(m.server.AcceptHTTP, m.web)
	}
	work.Go(func() {
		m.tellRecovery(ctx)
		if err := m.node.WaitReady(ctx); err != nil {
			if ctx.Err() == nil {
				cancel(fmt.Errorf("wait until every space can grant: %w", err))
			}
			return
		}
		m.ready.Store(true)
		ready()
	})
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("serve: %w", cause)
	}
	return nil
}

// tellRecovery logs which spaces cannot grant yet, why, and until when.
func (m *member) tellRecovery(ctx context.Context) {
	for i, space := range m.settings.Spaces {
		reply, err := m.node.Driver().Ask(ctx, protocol.Port(i+1), &protocol.Inspect{})
		if err != nil {
			return // it ends
		}
		condition := reply.Result.(*protocol.Condition)
		if condition.State == protocol.Ready {
			continue
		}
		until := "unknown"
		if condition.Until != 0 && condition.Until != protocol.Never {
			until = wire.At(m.node.Driver().Wall(condition.Until)).String()
		}
		m.log.Warn("not ready", "space", space.Name, "state", condition.State.String(), "why", condition.Why, "until", until)
	}
}

// stopLimit is how long clients may take to hear that the member leaves.
const stopLimit = 10 * time.Second

// stop leaves in good order: clients are told, the cell says what they may still
// believe. Their sessions live on to their deadlines, for a restart to wait for.
func (m *member) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := m.server.Shutdown(ctx); err != nil {
		m.log.Warn("some clients were not told", "error", err)
	}
	if err := m.node.Close(); err != nil {
		return fmt.Errorf("serve: leave in good order: %w", err)
	}
	m.log.Info("left")
	return nil
}

// deafen closes the ports of a member that did not start.
func (m *member) deafen() error {
	err := m.grpc.Close()
	if m.web != nil {
		err = errors.Join(err, m.web.Close())
	}
	return err
}
