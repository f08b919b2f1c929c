package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/private"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/grpc"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// member is this process as a member that serves clients: a node with a server.
type member struct {
	settings   *config.Config
	version    string
	log        *slog.Logger
	listen     string             // the actual listen address
	http       string             // "" if HTTP is off
	grpc       net.Listener       // nil with only a socket
	socket     net.Listener       // nil for none
	web        net.Listener       // nil if HTTP is off
	identities *certificate.Store // nil without TLS
	guard      *guard.Guard
	audit      *audit.Log
	observer   *server.Observer
	peers      *grpc.Transport
	stores     stores           // for spaces of protocol claim
	unguarded  []*private.Error // files and folders that other users can use
	node       *host.Member
	server     *server.Server
	ready      atomic.Bool
	left       chan struct{} // closed when the member has left by an operator's call
	leaving    sync.Once
}

// startMember listens, reads the member's memory, and makes its server. It accepts nothing yet. The ports come first,
// because they determine the name of an unnamed member, and because two processes at one address are the most frequent
// mistake.
func (p *program) startMember(ctx context.Context, settings *config.Config, log *slog.Logger) (*member, error) {
	m := &member{settings: settings, version: version(), log: log, stores: stores{}, left: make(chan struct{})}
	var err error
	if m.identities, err = settings.TLS.Open(log); err != nil {
		return nil, misconfigured("serve: %w", err)
	}
	if err := m.hear(); err != nil {
		return nil, errors.Join(err, m.deafen())
	}
	if err := m.openStores(ctx); err != nil {
		return nil, errors.Join(err, m.deafen(), m.stores.close())
	}
	if err := m.join(ctx, p.environ); err != nil {
		return nil, errors.Join(err, m.deafen(), m.stores.close())
	}
	if !settings.Adopts() {
		m.logListening(m.node.Name())
	}
	m.warnOpen()
	m.logMemory()
	if settings.Clustered() {
		log.Info("looking for other members", "as", m.address(), "join", strings.Join(settings.Join, ","), "guest", settings.Guest())
	}
	return m, nil
}

func (m *member) logListening(name string) {
	m.log.Info("listening", "listen", m.listen, "socket", m.settings.Socket, "http", m.http, "name", name)
}

// hear opens the ports, and the socket.
func (m *member) hear() (err error) {
	s := m.settings
	if s.Listen != "" {
		if m.grpc, m.listen, err = listen("listen", s.Listen); err != nil {
			return err
		}
	}
	if s.Socket != "" {
		if m.socket, err = socket.Listen(s.Socket, s.SocketMode); err != nil {
			return misconfigured("serve: %w; choose another --listen", err)
		}
		m.listen = cmp.Or(m.listen, socket.Scheme+s.Socket)
	}
	if s.HTTP != "" {
		m.web, m.http, err = listen("http", s.HTTP)
	}
	return err
}

// openStores opens the stores of spaces of protocol claim.
func (m *member) openStores(ctx context.Context) error {
	for _, space := range m.settings.Spaces {
		if url := space.Store(); url != "" {
			if err := m.stores.open(ctx, url); err != nil {
				return err
			}
		}
	}
	return nil
}

// warnOpen logs the exposures that the operator has accepted, and what the certificates leave open.
func (m *member) warnOpen() {
	for _, open := range m.settings.Exposed() {
		m.log.Warn("in plain text: "+open.What, "key", open.Key, "address", open.Address)
	}
	for _, open := range m.unguarded {
		m.log.Warn("accepted with insecure_files: " + open.Advice())
	}
	if m.identities != nil {
		for _, sentence := range m.identities.Warnings() {
			m.log.Warn(sentence)
		}
	}
}

// warnings returns the sentences of warnOpen, as they are now, for status.
func (m *member) warnings() (all []string) {
	for _, open := range m.settings.Exposed() {
		all = append(all, fmt.Sprintf("%s %s in plain text: %s", open.Key, open.Address, open.What))
	}
	for _, open := range m.unguarded {
		all = append(all, "accepted with insecure_files: "+open.Advice())
	}
	if m.identities != nil {
		all = append(all, m.identities.Warnings()...)
	}
	return all
}

// logMemory logs why locks are in memory if that was not requested.
func (m *member) logMemory() {
	if why := m.settings.ImpliedMemory(); why != "" {
		m.log.Warn("locks of the default space are kept in memory, and end with this member", "because", why)
	}
}

// listen listens on an address, and returns the actual one.
func listen(key, address string) (net.Listener, string, error) {
	l, err := listenAt(address)
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
func (m *member) join(ctx context.Context, environ []string) error {
	config, err := m.config(environ)
	if err == nil {
		err = m.identify(config.Name)
	}
	if err != nil {
		return misconfigured("serve: %w", err)
	}
	if err := m.openGuard(config.Name, config.State); err != nil {
		return err
	}
	if err := m.serveNode(ctx, config); err != nil {
		return errors.Join(err, m.audit.Close())
	}
	return nil
}

// serveNode starts the node, and makes its server.
func (m *member) serveNode(ctx context.Context, config host.Config) (err error) {
	if config, err = m.adopt(ctx, config); err != nil {
		return err
	}
	var names []string
	for _, space := range config.Spaces {
		names = append(names, space.Name)
	}
	m.observer = server.NewObserver(names)
	config.Observe, config.Events = m.observer.Observe, m.observer.Source()
	if m.node, err = host.Start(ctx, config); err != nil {
		return badStart(err, config.Data != "")
	}
	for i, space := range m.node.Spaces() { // in the order of the settings
		if space.Store != nil {
			m.log.Info("locks are kept in a store", "space", space.Name, "store", open.Redacted(m.settings.Spaces[i].Store()), "class", space.Class().String(), "settings", space.Settings())
		}
	}
	limits := m.settings.Limits
	m.server, err = server.New(server.Config{
		Driver: m.node.Driver(), Spaces: m.spaces(), Identity: m.identity, View: m.node.View, Who: m.node.Who,
		Members: m.peers, Others: m.peers, Insiders: m.node.Insiders, Leave: m.leave, Drain: m.drain, Forcer: m.node, Observer: m.observer, Guard: m.guard, AuditLocks: m.settings.Audit.Locks,
		Limits: server.Limits{
			NameBytes: limits.NameBytes, ValueBytes: limits.ValueBytes, MessageBytes: int64(limits.MessageBytes),
			Connections: limits.Connections, ConnectionsPerAddress: limits.ConnectionsPerAddress, Watchers: limits.Watchers, Requests: limits.Requests,
			Rate: limits.RequestsPerSecond, Burst: limits.RequestsBurst,
			Sessions: limits.Sessions, LockNames: limits.Names, WaitersPerName: limits.WaitersPerName,
		},
		Certificates: m.identities, Warnings: m.warnings, Hosts: m.settings.Hosts, Policies: m.peers.Policies, Logger: m.log,
	})
	if err != nil {
		return errors.Join(err, m.node.Close())
	}
	return nil
}

// identify requires the certificate to carry this member's name. No peer checks the name of a member alone, unless a
// guest joins.
func (m *member) identify(name string) error {
	if m.identities == nil {
		return nil
	}
	err := m.identities.Require(name)
	if err == nil || m.settings.Clustered() {
		return err
	}
	m.identities.Release()
	m.log.Warn("no other member can join this one: " + err.Error())
	return nil
}

// config returns the node's configuration.
func (m *member) config(environ []string) (host.Config, error) {
	s := m.settings
	name := cmp.Or(s.Name, config.DefaultName(m.listen))
	if s.Name == "" && s.Clustered() && s.Advertise != "" {
		name = config.DefaultName(s.Address()) // many may listen on 0.0.0.0:4040
	}
	state, err := s.StateDir(name, environ)
	if err == nil {
		err = checkClock(time.Now(), state)
	}
	if err == nil {
		err = m.checkFiles(state)
	}
	if err != nil {
		return host.Config{}, err
	}
	c := host.Config{
		Name: name, Address: m.address(), HTTP: m.http, State: state, Data: s.DataDir(state), Serves: true,
		Join: s.Join, Expect: s.Expect, Peers: m.connect,
		Candidate: cmp.Or(s.Candidate, host.NoCandidate), Lease: s.Lease, Patience: s.Patience, Drift: s.Drift,
		Limits: host.Limits{
			TTL: s.Limits.TTL, Sessions: s.Limits.Sessions,
			LocksPerSession: s.Limits.LocksPerSession, WaitersPerName: s.Limits.WaitersPerName, Names: s.Limits.Names,
		},
		Trace: s.Trace, TraceSize: int64(s.TraceSize), Logger: m.log,
	}
	if s.Adopts() {
		c.Terms = (&grpc.Newcomer{Name: name, Certificates: m.identities}).Terms
		if !s.Given("lease") {
			c.Lease = 0
		}
		if !s.Given("drift") {
			c.Drift = 0
		}
		if !s.Given("limits.ttl") {
			c.Limits.TTL = 0
		}
		return c, nil
	}
	for _, space := range s.Spaces {
		c.Spaces = append(c.Spaces, host.Space{
			Name: space.Name, Protocol: space.Protocol, Store: m.stores[space.Store()], Options: space.ProtocolOptions(),
		})
	}
	return c, nil
}

// checkFiles refuses files and folders of the member that other users can use, or keeps them for the warnings.
func (m *member) checkFiles(state string) error {
	open := m.settings.Unguarded(state, m.settings.DataDir(state))
	if len(open) > 0 && !m.settings.InsecureFiles {
		return open[0]
	}
	m.unguarded = open
	return nil
}

// checkClock refuses a clock that is not set, as on a machine without a battery, if the member has no folder: then only
// the clock keeps tokens from restarting in each life. With a folder the node warns at the first start.
func checkClock(now time.Time, state string) error {
	if origin := time.Unix(membership.Origin, 0).UTC(); state == "" && now.Before(origin) {
		return fmt.Errorf("the clock stands at %s, before %s: with state none tokens would start again at each start; set the clock, or give a folder with --state DIR",
			now.UTC().Format(time.RFC3339), origin.Format(time.RFC3339))
	}
	return nil
}

// address returns this member's address for others: it is in their lists, so as configured and not as resolved, unless
// the machine chose the port.
func (m *member) address() string {
	_, port, err := net.SplitHostPort(m.settings.Address())
	if m.settings.Advertise == "" && (err != nil || port == "0" || !m.settings.Clustered()) {
		return m.listen
	}
	return m.settings.Address()
}

// connect makes the transport to other members. A member alone has it as well: guests may join it.
func (m *member) connect(introduce func() transport.Identity) (transport.Transport, error) {
	var err error
	m.peers, err = host.NewTransport(introduce, host.Link{
		Certificates: m.identities, Patience: m.settings.Patience, Policy: func() string { return m.guard.State().Digest },
		Observer: m.observer.Members(), Logger: m.log,
	})
	if err != nil {
		return nil, err
	}
	return m.peers, nil
}

// badStart adds advice to an error of the state folder, or of the trace. With data it is about the data folder.
func badStart(err error, data bool) error {
	const unwritable = "give a folder that can be written with --data DIR, or keep locks in memory with --memory, and nothing at all with --state none"
	var record *trace.OpenError
	var disk *fs.PathError
	var explained *host.StartError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, cell.ErrInUse) && data:
		return misconfigured("serve: %w; stop that one, or give this one another --data or --state", err)
	case errors.Is(err, cell.ErrInUse):
		return misconfigured("serve: %w; stop that one, or give this one another --state", err)
	case data && errors.As(err, &disk):
		return misconfigured("serve: %w; "+unwritable, err)
	case errors.As(err, &explained):
		return misconfigured("serve: %w", err)
	case errors.As(err, &record):
		return misconfigured("serve: %w; give another file with --trace FILE", err)
	}
	if data {
		return misconfigured("serve: %w; "+unwritable, err)
	}
	return misconfigured("serve: %w; give a folder that can be written with --state DIR, or --state none", err)
}

// spaces returns the node's lockspaces as the server serves them.
func (m *member) spaces() []server.Space {
	var all []server.Space
	for i, space := range m.node.Spaces() {
		served := server.Space{
			Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol,
			Class: space.Class(), HasGrace: space.HasGrace(), Options: space.Given(), Settings: space.Settings(),
		}
		if space.Store != nil { // the settings have it at the same index
			served.Store = open.Redacted(m.settings.Spaces[i].Store())
		}
		all = append(all, served)
	}
	return all
}

// cluster returns the cluster's id as text.
func (m *member) cluster() string { return strconv.FormatUint(m.node.Identity().Cluster, 36) }

// identity returns this member's identity.
func (m *member) identity() server.Identity {
	remembered := m.node.Identity()
	state := "recovering"
	if m.ready.Load() {
		state = "normal"
	}
	return server.Identity{
		Cluster: m.cluster(), Version: m.version, Sync: m.node.SyncTime(),
		Member: &schema.Member{
			Name: m.node.Name(), Id: uint64(remembered.ID), Incarnation: remembered.Incarnation, Voter: !m.settings.Guest(), Founder: !m.settings.Guest(),
			Address: m.address(), Http: m.http,
			Since: api.Stamp(m.node.Started()), State: state, Election: "normal",
		},
	}
}
