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
	// Spaces are the lockspaces, each with its port in the stack. Their order is that
	// of every listing.
	Spaces []Space
	// Identity returns who this member is. It is asked again for every answer that
	// tells it.
	Identity func() Identity
	// View returns the latest view, which turns members' ids into names. Nil means a
	// view of this member alone.
	View func() protocol.View
	// Who returns what this member knows of itself and of the others. Nil means what the
	// view says.
	Who func(context.Context) (*membership.Self, error)
	// Members takes messages of other members, which come to port 4040 as well.
	// Nil means that there are none.
	Members interface{ Register(grpc.ServiceRegistrar) }
	// Others asks other members for the events of their clients: a transport of members
	// does. Nil means that watchers see only the events of this member's clients. This
	// member's own events are for its node to tell; Observer.Source has them.
	Others events.Peers
	// Insiders returns the addresses of the members that serve clients in this one's place, because it has no part in the
	// spaces that are kept on disks; none while it has one. Sessions, and requests in those spaces, are passed on to them.
	// It is called often. Nil means none.
	Insiders func() []string
	// Leave lets the member leave in good order, and Drain lets it do so when nothing is
	// held through it any more, which ctx bounds. Their provider ends the process
	// then; the functions do not wait for that. Nil refuses the call.
	Leave, Drain func(ctx context.Context) error
	// Lag returns how long what arrives waits until the member's machines are stepped with it, and whether
	// that is so long that new work is refused. Nil means what the Driver measures.
	Lag func() (late time.Duration, overloaded bool)
	// Forcer makes a view without the quorum that is lost for good: a *host.Node does.
	// Nil refuses the calls.
	Forcer Forcer
	// Observer is what the driver's Config.Observe feeds: the metrics, and the events.
	Observer *Observer
	// Limits bound what clients may ask. A zero field means its default.
	Limits Limits
	// Hosts are further names under which HTTP requests may address this server,
	// besides localhost, the loopback addresses, the address that the connection came
	// to, the machine's name, and the hosts of Identity's addresses. A request for
	// another host is refused: a browser that was tricked sends one.
	Hosts []string
	// Certificates encrypt both ports, and say who clients are. Nil means what TLS says.
	Certificates *certificate.Store
	// TLS is what Certificates are made of where those are nil: the server's certificate,
	// what clients must show (ClientAuth), and who vouches for them (ClientCAs) and for
	// other members (RootCAs). Nil means plain text.
	TLS *tls.Config
	// Logger gets what operators should know. Nil discards.
	Logger *slog.Logger
}

// Forcer makes a view without the quorum that is lost for good.
type Forcer interface {
	// PlanForce returns what a view of the named founders alone would be.
	PlanForce(ctx context.Context, members []string) (*schema.ForcePlan, error)
	// Force makes it, unless the confirmed plan no longer holds.
	Force(ctx context.Context, order *schema.ForceViewRequest) (*schema.ForcedView, error)
	// Forced returns the latest view that was forced; nil where there is none.
	Forced() *schema.ForcedView
}

// Space is one lockspace as it is served.
type Space struct {
	Name     string
	Port     protocol.Port // in the stack; 1 is the first
	Protocol string        // "central", …
	Class    holdfast.Class
	HasGrace bool // names stay taken for a while after a hold limit
	// Options are those of the protocol as they hold, for status to show.
	Options map[string]string
	// Store and Settings are for status to show, where locks are kept in a store: the URL without its
	// password, and what all processes that use it must agree on.
	Store, Settings string

	described protocol.Descriptor // from newService on
	edge      edge.Space          // from newService on
}

// Identity identifies this member.
type Identity struct {
	Member  *schema.Member
	Cluster string
	Version string
	// Sync is how long the disk of the data folder takes to sync a small write. Zero means that nothing is kept there.
	Sync time.Duration
}

// Limits bound what one server does for its clients.
type Limits struct {
	// NameBytes is how long a lock's name may be. Zero means 512, which is also the
	// most.
	NameBytes int
	// MessageBytes is how large a request may be. Zero means 4 MiB.
	MessageBytes int64
	// LongPoll is how long one HTTP request may wait. Zero means 60 s.
	LongPoll time.Duration
	// Grace is how long a request that LongPoll has ended keeps its place in the
	// queue, for the same request to be sent again. Zero means 10 s.
	Grace time.Duration
	// Requests is how many requests are remembered by their id, while they wait and
	// when they were granted; one for several names counts once for each. Zero means
	// 100,000.
	Requests int
	// Remember is how long a granted request is remembered by its id. Zero means 5 min.
	Remember time.Duration
	// Names is how many names one request may ask for. Zero means 1,000.
	Names int
	// Connections is how many connections each port serves at once; fewer where there are too few Descriptors. Zero
	// means 20,000.
	Connections int
	// Descriptors is how many files and connections the process may have open. 256 of them, or half if that is less,
	// are kept for files and for connections to others; each port serves half of the rest at most. Zero means the
	// process's limit of open files.
	Descriptors int
	// Rate is how many requests a second one client may make: operations of its streams,
	// names of its acquires, calls. A client is whose certificate was verified, and
	// otherwise who comes from one address. Zero means that there is no limit, because no
	// number fits: what one machine may ask that serves many users is what another must
	// not, and every bound of memory holds without it. It keeps the time of this member's
	// processors fair among its clients; see `holdfast bench` for what there is.
	Rate int
	// Burst is how many requests a client may make at once, where there is a Rate. Zero
	// means those of a second.
	Burst int
	// Watchers is how many feeds of events are served at once, other members' apart. Zero
	// means 1,000.
	Watchers int
	// Header is how long a client may take to send a request's header. Zero means 10 s.
	Header time.Duration
	// Body is how long a client may take to send a request, header and body, and how
	// long it may keep a part of an answer waiting. Zero means 30 s.
	Body time.Duration
	// Idle is how long a connection may do nothing. Zero means 2 min.
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
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Certificates == nil && c.TLS != nil {
		var err error
		if c.Certificates, err = certificate.Fixed(c.TLS); err != nil {
			return fmt.Errorf("server: TLS: %w", err)
		}
	}
	return c.Limits.resolve()
}

// alone is the view of a member without others.
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
		{"Requests", &l.Requests, 100_000, 1 << 30},
		{"Names", &l.Names, 1000, 1 << 20},
		{"Connections", &l.Connections, 20_000, 1 << 30},
		{"Descriptors", &l.Descriptors, descriptors.Limit(), 1 << 30},
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
