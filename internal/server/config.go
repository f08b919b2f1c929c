package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math"
	"time"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/descriptors"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config configures a Server. Driver, Spaces, Identity and Observer are required.
type Config struct {
	// Driver drives the member's machines: a session.Machine over a protocol.Stack.
	Driver *run.Driver
	// Spaces are the lockspaces, each with its port in the stack. Listings keep their order.
	Spaces []Space
	// Identity returns this member's identity. It is called for every answer that contains it.
	Identity func() Identity
	// View returns the latest view, which maps members' ids to names. Nil means a view of this member alone.
	View func() protocol.View
	// Who returns this member's knowledge of itself and of the others. Nil means that only the view is known.
	Who func(context.Context) (*membership.Self, error)
	// Members receives messages of other members, which also arrive on port 4040. Nil means that there are no other
	// members.
	Members interface{ Register(grpc.ServiceRegistrar) }
	// Policies returns the digests of the access policies of other members, as far as they are known. Nil means that none
	// is.
	Policies func() map[protocol.ID]string
	// Others subscribes to the events of other members' clients: a transport of members does. Nil means that watchers
	// see only the events of this member's clients. The node sends this member's own events to the others;
	// Observer.Source has them.
	Others events.Peers
	// Insiders returns the addresses of the members that serve clients in this one's place, because it has no part in
	// the spaces that are kept on disks; none while it has one. Sessions, and requests in those spaces, are passed on
	// to them. It is called often. Nil means none.
	Insiders func() []string
	// Leave starts an orderly leave of the member, and Drain one that waits until no lock is held through it, within
	// ctx. Their provider ends the process afterwards; the functions do not wait for that. Nil refuses the call.
	Leave, Drain func(ctx context.Context) error
	// Lag returns how long input waits before the member's machines are stepped with it, and whether that is long
	// enough to refuse new work. Nil means the Driver's measurement.
	Lag func() (late time.Duration, overloaded bool)
	// Forcer makes a view without its permanently lost quorum: a *host.Node does. Nil refuses the calls.
	Forcer Forcer
	// Guard decides who a caller is and what it may do, and has the audit log. Nil means the default policy, and an audit
	// log in memory.
	Guard *guard.Guard
	// AuditLocks adds every grant, release and loss of a lock to the audit log.
	AuditLocks bool
	// Observer is fed by the driver's Config.Observe: metrics and events.
	Observer *Observer
	// Limits bound clients' requests. A zero field means its default.
	Limits Limits
	// Hosts are further host names for HTTP requests to this server, besides localhost, the loopback addresses, the
	// address of the connection, the machine's name, and the hosts of Identity's addresses. A request for another host
	// is refused: a tricked browser sends such a request.
	Hosts []string
	// Warnings returns sentences about the configuration, for status. Nil means none.
	Warnings func() []string
	// Certificates encrypt both ports, and identify clients. If nil, TLS applies.
	Certificates *certificate.Store
	// TLS is used if Certificates is nil: the server's certificate, what clients must show (ClientAuth), and the
	// authorities of clients (ClientCAs) and of other members (RootCAs). Nil means plain text.
	TLS *tls.Config
	// Logger is the server's logger. Nil discards.
	Logger *slog.Logger
}

// Forcer makes a view without its permanently lost quorum.
type Forcer interface {
	// PlanForce returns the view that forcing with just the named founders would give.
	PlanForce(ctx context.Context, members []string) (*schema.ForcePlan, error)
	// Force makes it, unless the confirmed plan no longer holds.
	Force(ctx context.Context, order *schema.ForceViewRequest) (*schema.ForcedView, error)
	// Forced returns the latest forced view; nil if there is none.
	Forced() *schema.ForcedView
}

// Space is one lockspace as the server serves it.
type Space struct {
	Name     string
	Port     protocol.Port // in the stack; 1 is the first
	Protocol string        // "central", …
	Class    holdfast.Class
	HasGrace bool // names stay taken for a while after a hold limit
	// Options are the protocol's effective options, for status.
	Options map[string]string
	// Store and Settings are for status, if locks are kept in a store: the URL without its password, and the settings
	// that all its users must agree on.
	Store, Settings string

	described protocol.Descriptor // set by newService
	edge      edge.Space          // set by newService
}

// Identity identifies this member.
type Identity struct {
	Member  *schema.Member
	Cluster string
	Version string
	// Sync is the latency of a small synced write to the data folder. Zero means that there is none.
	Sync time.Duration
}

// Limits bound the resources that one server spends on its clients.
type Limits struct {
	// NameBytes is the maximum length of a lock's name. Zero means 512, which is also the upper bound.
	NameBytes int
	// ValueBytes is the maximum length of the value that a lock publishes. Zero means 4096, which is also the upper bound.
	ValueBytes int
	// MessageBytes is the maximum size of a request. Zero means 4 MiB.
	MessageBytes int64
	// LongPoll is the maximum wait of one HTTP request. Zero means 60 s.
	LongPoll time.Duration
	// Grace is how long a request that LongPoll has ended keeps its place in the queue, so that it can be repeated.
	// Zero means 10 s.
	Grace time.Duration
	// Requests is the maximum number of requests remembered by id, while they wait and after their grant; one for
	// several names counts once for each. Zero means 100,000.
	Requests int
	// Remember is how long a granted request is remembered by its id. Zero means 5 min.
	Remember time.Duration
	// Names is the maximum number of names in one request. Zero means 1,000.
	Names int
	// Connections is the maximum number of connections at each port; fewer if there are too few Descriptors. Zero means
	// 20,000.
	Connections int
	// ConnectionsPerAddress is the maximum number of connections from one address (for IPv6: from its /64) at each port,
	// not counting those from this machine. Zero means a quarter of the port's.
	ConnectionsPerAddress int
	// Descriptors is the maximum number of open files and connections of the process. 256 of them, or half if that is
	// less, are reserved for files and outgoing connections; each port gets at most half of the rest. Zero means the
	// process's limit of open files.
	Descriptors int
	// Rate is the maximum number of requests per second of one client: operations of its streams, names of its
	// acquires, calls. A client is identified by its verified certificate, and otherwise by its address. Zero means no
	// limit, because no single number fits: a machine with many users may need more than another should have, and every
	// bound of memory holds without it. It divides this member's CPU time fairly among its clients; `holdfast bench`
	// shows how much there is.
	Rate int
	// Burst is the maximum number of requests at once, if there is a Rate. Zero means those of a second.
	Burst int
	// Sessions, LockNames and WaitersPerName are the bounds of the member's machines, of which one caller gets a
	// quarter. Zero means 100,000 sessions, 1,000,000 names of a space, and 10,000 waiters for one name.
	Sessions, LockNames, WaitersPerName int
	// Watchers is the maximum number of feeds of events, not counting those of other members. Zero means 1,000.
	Watchers int
	// Header is the time limit for receiving a request's header. Zero means 10 s.
	Header time.Duration
	// Body is the time limit for receiving a request, header and body, and for sending one part of an answer. Zero
	// means 30 s.
	Body time.Duration
	// Idle is how long a connection may be idle. Zero means 2 min.
	Idle time.Duration
}

// resolve checks c and fills in the defaults.
func (c *Config) resolve() error {
	switch {
	case c.Driver == nil:
		return fmt.Errorf("server: Driver is nil; give the driver of the member's machines")
	case len(c.Spaces) == 0:
		return fmt.Errorf("server: Spaces is empty; a member serves at least one")
	case c.Identity == nil:
		return fmt.Errorf("server: Identity is nil; say who this member is")
	case c.Observer == nil:
		return fmt.Errorf("server: Observer is nil; give the one that the driver feeds")
	}
	seen := map[string]bool{}
	for _, space := range c.Spaces {
		if err := holdfast.CheckSpace(space.Name); err != nil {
			return fmt.Errorf("server: Spaces: %w", err)
		}
		if seen[space.Name] || space.Port == protocol.Below {
			return fmt.Errorf("server: Spaces: %q at port %d: each name may be there once, at a port from 1 on", space.Name, space.Port)
		}
		if known := c.Observer.spaces; int(space.Port) > len(known) || known[space.Port-1].name != space.Name {
			return fmt.Errorf("server: Observer: it was not made for space %q at port %d; give NewObserver the names in port order", space.Name, space.Port)
		}
		seen[space.Name] = true
	}
	if c.View == nil {
		c.View = alone(c.Identity().Member)
	}
	if c.Policies == nil {
		c.Policies = func() map[protocol.ID]string { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Certificates == nil && c.TLS != nil {
		var err error
		if c.Certificates, err = certificate.Fixed(c.TLS); err != nil {
			return fmt.Errorf("server: TLS: %w", err)
		}
	}
	if c.Guard == nil {
		var err error
		if c.Guard, err = guard.Open(guard.Config{Logger: c.Logger}); err != nil {
			return fmt.Errorf("server: Guard: %w", err)
		}
	}
	return c.Limits.resolve()
}

// alone returns the view of a member without others.
func alone(me *schema.Member) func() protocol.View {
	id := protocol.ID(me.GetId())
	view := protocol.View{Number: 1, Coordinator: id, Members: []protocol.Member{{ID: id, Name: me.GetName(), Address: me.GetAddress(), Founder: me.GetFounder()}}}
	return func() protocol.View { return view }
}

func (l *Limits) resolve() error {
	for _, d := range []struct {
		field   string
		value   *time.Duration
		without time.Duration
	}{
		{"LongPoll", &l.LongPoll, time.Minute},
		{"Grace", &l.Grace, 10 * time.Second},
		{"Remember", &l.Remember, 5 * time.Minute},
		{"Header", &l.Header, 10 * time.Second},
		{"Body", &l.Body, 30 * time.Second},
		{"Idle", &l.Idle, 2 * time.Minute},
	} {
		if *d.value < 0 {
			return fmt.Errorf("server: Limits.%s is %v; more than 0 is allowed, or 0 for %v", d.field, *d.value, d.without)
		}
		if *d.value == 0 {
			*d.value = d.without
		}
	}
	for _, n := range []struct {
		field   string
		value   *int
		without int
		most    int
	}{
		{"NameBytes", &l.NameBytes, holdfast.MaxName, holdfast.MaxName},
		{"ValueBytes", &l.ValueBytes, holdfast.MaxValue, holdfast.MaxValue},
		{"Requests", &l.Requests, 100_000, 1 << 30},
		{"Names", &l.Names, 1000, 1 << 20},
		{"Connections", &l.Connections, 20_000, 1 << 30},
		{"ConnectionsPerAddress", &l.ConnectionsPerAddress, 0, 1 << 30},
		{"Descriptors", &l.Descriptors, descriptors.Limit(), 1 << 30},
		{"Sessions", &l.Sessions, 100_000, math.MaxInt32},
		{"LockNames", &l.LockNames, 1_000_000, math.MaxInt32},
		{"WaitersPerName", &l.WaitersPerName, 10_000, math.MaxInt32},
		{"Watchers", &l.Watchers, 1000, 1 << 20},
		{"Rate", &l.Rate, 0, math.MaxInt32},
		{"Burst", &l.Burst, 0, math.MaxInt32},
	} {
		if *n.value < 0 || *n.value > n.most {
			return fmt.Errorf("server: Limits.%s is %d; 1 to %d is allowed, or 0 for %d", n.field, *n.value, n.most, n.without)
		}
		if *n.value == 0 {
			*n.value = n.without
		}
	}
	if l.MessageBytes < 0 {
		return fmt.Errorf("server: Limits.MessageBytes is %d; more than 0 is allowed, or 0 for %d", l.MessageBytes, 4<<20)
	}
	if l.MessageBytes == 0 {
		l.MessageBytes = 4 << 20
	}
	return nil
}
