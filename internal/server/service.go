package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/server/observe"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// service implements the single calls, for gRPC and HTTP: its exported methods are the calls of the schema. Each checks
// its request, counts its outcome, and returns an error that [api.ToStatus] and [api.NewProblem] can convert.
type service struct {
	schema.UnsafeLocksServer
	schema.UnsafeAdminServer

	leaving, draining func(context.Context) error // nil if this member is embedded in a program
	driver            *run.Driver
	me                protocol.ID
	identity          func() Identity
	view              func() protocol.View
	who               func(context.Context) (*membership.Self, error) // nil if only the view is known
	forcer            Forcer                                          // nil if no view can be forced
	warnings          func() []string                                 // nil for none
	lag               func() (time.Duration, bool)
	admin             *admin.Service
	seen              atomic.Pointer[protocol.Condition] // of the default space, at the last check; nil before
	moved             func(*edge.Roster)                 // notifies the streams; nil if there are none
	observer          *Observer
	gatherer          *events.Gatherer // events of other members
	hub               *observe.Hub     // names that are observed
	feeds             feedPace
	limits            Limits
	doors             *doors
	clients           *clients
	heavy             *heavy
	watchers          tally
	guard             *guard.Guard
	rights            map[string]*right // by the full name of the call
	strangers         strangers
	policies          func() map[protocol.ID]string
	explains          *rate.Limiter // of denials
	logger            *slog.Logger

	spaces  []Space
	durable []string // those of them that write each decision to disks
	byName  map[string]*Space
	byPort  map[protocol.Port]*Space

	requests  *requests
	losses    *losses
	forwarder *forwarder
	snapshots atomic.Int64                            // number being sent
	cuts      [session.CutByEnrolment + 1]atomic.Bool // logged causes of a cut ttl

	// life ends when the server is shut down: waiting calls are cancelled then.
	life context.Context
	stop context.CancelFunc
	// background counts requests that run without their own connection.
	background sync.WaitGroup
}

// acquireInput is a decoded AcquireRequest. Times and durations are on the driver's clock; Arrived is when the request
// reached this member, and promises count from then.
type acquireInput struct {
	Space string
	Names []string
	holdfast.Attributes
	Wait    time.Duration // 0: do not wait
	TTL     time.Duration // 0: the default, or unchanged with a Session
	Session string        // id.secret; "" opens one
	Require holdfast.Class
	Request string // idempotency id; "" for none
	Client  string // the client's description, for people
	Caller  caller
	Arrived protocol.Time

	message *schema.AcquireRequest
}

// newService returns the service of a resolved Config.
func newService(c Config) (*service, error) {
	me := protocol.ID(c.Identity().Member.GetId())
	gatherer, err := events.NewGatherer(events.Config{Source: c.Observer.source, Self: me, Peers: c.Others, Logger: c.Logger})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	admins, err := newAdmin(c)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s := &service{
		driver: c.Driver, me: me, identity: c.Identity, view: c.View, who: c.Who, forcer: c.Forcer, warnings: c.Warnings, admin: admins, leaving: c.Leave, draining: c.Drain,
		observer: c.Observer, gatherer: gatherer, feeds: newFeedPace(), limits: c.Limits, doors: newDoors(c.Limits, c.Logger),
		clients: newClients(c.Limits, c.Guard.Policy), heavy: newHeavy(), logger: c.Logger,
		spaces: slices.Clone(c.Spaces), byName: map[string]*Space{}, byPort: map[protocol.Port]*Space{},
		requests: newRequests(c.Limits.Requests, c.Limits.Remember),
		losses:   newLosses(), watchers: tally{limit: quotaWatchers, key: "watchers", what: "feeds of events"},
	}
	if s.rights, err = rightsOf(); err != nil {
		return nil, err
	}
	s.policies = c.Policies
	s.guard, s.explains = c.Guard, rate.NewLimiter(explained, explained)
	s.forwarder = newForwarder(c, s)
	if s.lag = c.Lag; s.lag == nil {
		s.lag = c.Driver.Lag
	}
	s.hub = s.newHub()
	life, end := context.WithCancelCause(context.Background())
	s.life, s.stop = life, func() { end(errClosing) }
	protocols := member.Protocols()
	for i := range s.spaces {
		space := &s.spaces[i]
		if d := protocol.Named(protocols, space.Protocol); d != nil {
			space.described = *d
		}
		if space.described.Lasting {
			s.durable = append(s.durable, space.Name)
		}
		space.edge = edge.Space{Name: space.Name, Port: space.Port, Class: space.Class, Grace: space.HasGrace}
		s.byName[space.Name], s.byPort[space.Port] = space, space
	}
	return s, nil
}

// close cancels waiting calls, gives back grants that no client has heard of, and forgets all requests.
func (s *service) close() {
	s.stop()
	s.admin.Close()
	s.hub.Close()
	s.gatherer.Close()
	s.background.Wait()
	for _, q := range s.requests.close() {
		s.giveBack(q)
	}
}

// now returns the time on the driver's clock.
func (s *service) now() protocol.Time { return s.driver.Now() }

// space returns the lockspace of that name; "" is the default one. The error is an
// ErrSpace.
func (s *service) space(name string) (*Space, error) {
	if name == "" {
		name = holdfast.DefaultSpace
	}
	if space := s.byName[name]; space != nil {
		return space, nil
	}
	return nil, api.Fail(api.CodeUnknownSpace, fmt.Sprintf("unknown space %.80q: this member serves %s", name, s.spaceNames()))
}

func (s *service) spaceNames() string {
	text := ""
	for i, space := range s.spaces {
		if i > 0 {
			text += ", "
		}
		text += space.Name
	}
	return text
}

// spaceName returns the name of the space at a port, or "".
func (s *service) spaceName(port protocol.Port) string {
	if space := s.byPort[port]; space != nil {
		return space.Name
	}
	return ""
}

// edge returns the shared configuration of all streams' edges.
func (s *service) edge() edge.Config {
	return edge.Config{
		Space: func(name string) (*edge.Space, error) {
			space, err := s.space(name)
			if err != nil {
				return nil, err
			}
			return &space.edge, nil
		},
		SpaceAt: func(port protocol.Port) *edge.Space {
			if space := s.byPort[port]; space != nil {
				return &space.edge
			}
			return nil
		},
		CheckName: s.checkName, CheckValue: s.checkValue,
		Identity: func() (member, cluster string) {
			identity := s.identity()
			return identity.Member.GetName(), identity.Cluster
		},
		Explain: func(err error) error {
			view := s.view()
			return s.driver.Explain(err, view.Name)
		},
		Durable: s.durable,
		Events:  outboxEvents, Bytes: outboxBytes, All: &edge.Together{Most: unsentBytes, Share: unsentShare},
	}
}

// checkName returns what is wrong with the name of a requested lock here.
func (s *service) checkName(name string) error {
	return cmp.Or(holdfast.CheckName(name), s.checkKnown(name))
}

// checkValue returns what is wrong with the length of a grant's value here.
func (s *service) checkValue(value string) error {
	if len(value) > s.limits.ValueBytes {
		return &holdfast.LimitError{Limit: valueBytes, Value: int64(s.limits.ValueBytes)}
	}
	return nil
}

// valueBytes is the name of the limit of a grant's value.
const valueBytes = "value_bytes"

// checkKnown returns what is wrong with the name of a lock that may exist already.
func (s *service) checkKnown(name string) error {
	if err := lock.CheckKnown(name); err != nil {
		return err
	}
	if len(name) > s.limits.NameBytes {
		return fmt.Errorf("%w: it has %d bytes; name_bytes allows %d", holdfast.ErrName, len(name), s.limits.NameBytes)
	}
	return nil
}

// whyCut returns why a client gets less than the requested ttl; "" if it does not.
func (s *service) whyCut(cut session.Cut, wanted, given time.Duration) string {
	s.noteCut(cut, wanted, given)
	return edge.WhyCut(cut)
}

// noteCut logs the first cut of each kind.
func (s *service) noteCut(cut session.Cut, wanted, given time.Duration) {
	if cut != session.Uncut && s.cuts[cut].CompareAndSwap(false, true) {
		s.logger.Warn("the ttl of a session is shortened; this is logged once", "wanted", wanted, "given", given, "because", edge.WhyCut(cut))
	}
}

// errClosing is the answer during shutdown.
var errClosing = fmt.Errorf("%w: the server is shutting down", holdfast.ErrUnavailable)

// asking returns a question that lasts until the server is shut down: it outlives its request, because an answer that
// arrives too late may have opened a session or released a lock.
func (s *service) asking(port protocol.Port, fact any) *run.Question {
	return &run.Question{Port: port, Fact: fact, Within: s.life}
}

// query asks the machine at port one question and returns its answer. It outlives its request, too.
func query[T any](s *service, port protocol.Port, fact any) (T, error) {
	reply, err := s.driver.Do(s.life, port, fact)
	if err != nil {
		var none T
		return none, errClosing
	}
	return run.AnswerTo[T](fact, reply)
}

// failed wraps an error of an operation for the caller; nil stays nil.
func failed(op, space, name string, err error) error {
	if err == nil {
		return nil
	}
	return &holdfast.Error{Op: op, Space: space, Name: name, Err: err}
}
