package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Observer sees all decisions of a member's machines, and produces its metrics and, with an events.Source, the events
// for watchers. It is made before the driver, whose Config.Observe is its Observe; New takes it over.
type Observer struct {
	registry *prometheus.Registry
	spaces   []observed // by port, from port 1 on

	operations      *prometheus.CounterVec
	messages        *prometheus.CounterVec
	refusals        *prometheus.CounterVec
	frames          *prometheus.CounterVec
	recoveries      *prometheus.CounterVec
	recovery        *prometheus.HistogramVec
	open            *prometheus.GaugeVec   // connections, by port
	dropped         *prometheus.CounterVec // messages for other members that were never sent
	denied          *prometheus.CounterVec // calls that the policy does not allow, by verb
	unauthenticated *prometheus.CounterVec // callers whose credentials are not valid, by kind
	unsaved         prometheus.Counter     // failed writes of the stable cell
	heard           heard

	source *events.Source
	stirs  chan struct{} // holds one when the state of a space may have changed
}

// observed has the metrics of one space, looked up once.
type observed struct {
	name string
	wait prometheus.Observer
	hold prometheus.Observer
	lost map[holdfast.Loss]prometheus.Counter
}

// NewObserver returns an Observer of the spaces with these names, the first of
// which is at port 1 of the stack.
func NewObserver(spaces []string) *Observer {
	o := &Observer{
		registry: prometheus.NewRegistry(), source: events.NewSource(spaces), stirs: make(chan struct{}, 1),
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help}, labels)
		o.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdfast_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0001, 4, 12),
		}, []string{"space"})
		o.registry.MustRegister(v)
		return v
	}
	o.operations = counter("operations_total", "Operations by result: ok, or the code of the problem.", "space", "op", "result")
	o.messages = counter("messages_total", "Messages between members, and to and from the store.", "space", "type", "direction")
	o.refusals = counter("refused_total", "Refused input by reason: a problem code, the limit that was reached, or what was wrong with the bytes.", "why")
	o.frames = counter("frames_total", "Frames of client streams.", "direction")
	o.recoveries = counter("recoveries_total", "Recoveries of the space, counted by its authority.", "space")
	o.recovery = histogram("recovery_seconds", "Time for which the space could not grant during a recovery.")
	o.dropped = counter("dropped_total", "Messages to other members that were dropped before they were sent; the member sends unanswered requests again.", "why")
	o.unsaved = counter("unsaved_total", "Failed writes of the member's stable cell; until one succeeds, the member makes no promise that must survive a restart.").WithLabelValues()
	o.denied = counter("denied_total", "Calls and requests for locks that the policy does not allow.", "verb")
	for _, verb := range access.Verbs() {
		o.denied.WithLabelValues(verb.String())
	}
	o.unauthenticated = counter("auth_failures_total", "Callers whose certificate, token or JWT is not valid, by what is wrong.", "kind")
	o.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "holdfast_connections", Help: "Open connections."}, []string{"port"})
	o.registry.MustRegister(o.open)
	o.heard = heard{counters: map[heardKey]prometheus.Counter{}}
	wait := histogram("wait_seconds", "Wait of granted requests.")
	hold := histogram("hold_seconds", "Time for which grants were held.")
	lost := counter("lost_total", "Grants that ended without a release, by reason.", "space", "why")
	for _, name := range spaces {
		space := observed{name, wait.WithLabelValues(name), hold.WithLabelValues(name), map[holdfast.Loss]prometheus.Counter{}}
		for _, why := range allLosses() {
			space.lost[why] = lost.WithLabelValues(name, string(why))
		}
		o.spaces = append(o.spaces, space)
		o.recoveries.WithLabelValues(name)
		o.recovery.WithLabelValues(name)
		for _, op := range []string{"acquire", "release"} {
			o.operations.WithLabelValues(name, op, resultOK)
		}
	}
	for _, why := range slices.Concat(limits(), []string{
		api.CodeBadRequest, api.CodeName, api.CodeTooLarge, api.CodeDenied, api.CodeUnknownPath, malformed,
	}) {
		o.refusals.WithLabelValues(why)
	}
	for _, direction := range []string{received, sent} {
		o.frames.WithLabelValues(direction)
	}
	return o
}

// The directions of messages and frames.
const (
	received = "received"
	sent     = "sent"
)

const resultOK = "ok"

// unreadEvents is the name of the limit of events.ErrSlow.
const unreadEvents = "unread_events"

// malformed counts bytes that are no valid request.
const malformed = "malformed"

func allLosses() []holdfast.Loss {
	return []holdfast.Loss{
		holdfast.SessionExpired, holdfast.HoldLimit, holdfast.AuthorityChanged,
		holdfast.Duplicate, holdfast.Broken, holdfast.MemberLost, holdfast.SpaceClosed, holdfast.EndedByAnother,
	}
}

// Observe is for run.Config.Observe: it sees the effects of one step, keeps none of
// them, and neither blocks nor calls back.
func (o *Observer) Observe(now protocol.Time, effects *protocol.Effects) {
	o.source.Observe(effects)
	for i := range effects.Replies {
		if reply := &effects.Replies[i]; reply.Decision.Kind != 0 && reply.Port != protocol.Below && int(reply.Port) <= len(o.spaces) {
			o.spaces[reply.Port-1].decided(now, &reply.Decision)
		}
	}
	for _, envelope := range effects.Sends {
		o.messages.WithLabelValues(o.spaceAt(envelope.Port), typeName(envelope.Message), sent).Inc()
	}
	for _, note := range effects.Notes {
		if _, failed := note.(membership.Unsaved); failed {
			o.unsaved.Inc()
		}
	}
	if len(effects.Raises)+len(effects.Notes) > 0 {
		select {
		case o.stirs <- struct{}{}:
		default: // the state will be checked anyway
		}
	}
}

func (o *Observer) spaceAt(port protocol.Port) string {
	if port == protocol.Below || int(port) > len(o.spaces) {
		return ""
	}
	return o.spaces[port-1].name
}

// typeName returns the name of a message's type without its package; for one that carries another, that one's.
func typeName(message any) string {
	if bringing, is := message.(interface{ Kind() string }); is {
		return bringing.Kind()
	}
	name := fmt.Sprintf("%T", message)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// Source returns the source of events, which sends them to other members.
func (o *Observer) Source() *events.Source { return o.source }

// decided counts one decision.
func (s *observed) decided(now protocol.Time, d *lock.Decision) {
	switch d.Kind {
	case lock.Granted:
		if d.Since != 0 { // otherwise it answers a request for a new hold limit
			s.wait.Observe(d.Waited.Seconds())
		}
	case lock.Released, lock.Lost:
		if d.Token != 0 && 0 < d.Since && d.Since <= now {
			s.hold.Observe((now - d.Since).Seconds())
		}
	}
	if d.Kind == lock.Lost || d.Kind == lock.Revoked {
		if lost := s.lost[d.Loss]; lost != nil {
			lost.Inc()
		}
	}
}

// operation counts one operation of a client by its outcome. Space is "" for an operation without a space.
func (o *Observer) operation(space, op string, err error) {
	result := resultOK
	if err != nil {
		result = api.Code(err)
	}
	o.operations.WithLabelValues(space, op, result).Inc()
	if result == api.CodeLimit {
		o.refused(limitOf(err))
	}
}

// limitOf returns the name of err's limit, or limit if this member does not know it: another member may have sent
// anything.
func limitOf(err error) string {
	var limit *holdfast.LimitError
	if errors.As(err, &limit) && slices.Contains(limits(), limit.Limit) {
		return limit.Limit
	}
	return api.CodeLimit
}

// limits returns the names of the limits at which a client is refused.
func limits() []string {
	return []string{
		"sessions", "locks_per_session", "waiters_per_name", "names", valueBytes, "requests", "watchers",
		overloaded, "operators", "snapshots", "connections", perAddress, "files", "operations_per_frame", edge.UnreadAnswers, unreadEvents, rateLimit,
		session.QuotaSessions, session.QuotaLocks, session.QuotaWaiters, quotaWatchers, quotaRequests,
	}
}

// refused counts input that was refused before it became a request. Why is one of a small fixed set of words.
func (o *Observer) refused(why string) { o.refusals.WithLabelValues(why).Inc() }

// frame counts one frame of a client's stream, received or sent.
func (o *Observer) frame(direction string) { o.frames.WithLabelValues(direction).Inc() }

// state collects the metrics that are computed at each scrape.
type state struct {
	service *service

	locks, waiters, reign, ready, needs, view, members, expected, sessions, quotas, watchers, requests, sync, lag, overloaded, unwritten *prometheus.Desc
}

// register adds the service's own metrics to the observer's.
func (s *service) register() error {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("holdfast_"+name, help, labels, nil)
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "holdfast_build_info", Help: "1, with the version as a label."}, []string{"version"})
	build.WithLabelValues(s.identity().Version).Set(1)
	for _, collector := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		&state{
			service:    s,
			locks:      desc("locks", "Names that are held or waited for in the whole cluster; every member reports the same number.", "space"),
			waiters:    desc("waiters", "Waiting requests in the whole cluster; every member reports the same number.", "space"),
			reign:      desc("reign", "Reign of the current authority.", "space"),
			ready:      desc("space_ready", "1 if the space can grant, 0 if not.", "space"),
			view:       desc("view", "Number of the newest view."),
			needs:      desc("space_needs", "1 for each member that the space needs in order to grant: the failure of any such member stops it.", "space", "member"),
			members:    desc("members", "Members in the newest view."),
			expected:   desc("members_expected", "Voters, in the view or missing."),
			sessions:   desc("sessions", "Sessions of this member."),
			quotas:     desc("quota_used_ratio", "The largest part of its quota that any caller uses, from 0 to 1.", "quota"),
			watchers:   desc("watchers", "Event streams that this member serves."),
			requests:   desc("requests", "Requests that the member remembers by id; a request for several names counts once for each."),
			lag:        desc("lag_seconds", "Time that incoming messages wait before the member handles them."),
			overloaded: desc("overloaded", "1 while this member refuses new sessions and requests because it cannot keep up."),
			sync:       desc("disk_sync_seconds", "Time to sync a small write to the disk of the data folder, measured at the start."),
			unwritten: desc("state_unwritten_seconds", "Time for which the member's state could not be written; 0 if a write succeeded within the last lease. "+
				"Above 0, the member coordinates no others and has no vote."),
		},
	} {
		if err := s.observer.registry.Register(collector); err != nil {
			return fmt.Errorf("server: Observer serves another server already: %w", err)
		}
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *state) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.locks, c.waiters, c.reign, c.ready, c.needs, c.view, c.members, c.expected, c.sessions, c.quotas, c.watchers, c.requests, c.sync, c.lag, c.overloaded, c.unwritten} {
		out <- desc
	}
}

// Collect implements prometheus.Collector. It leaves out figures that are no longer available.
func (c *state) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	late, over := c.service.lag()
	gauge(c.lag, late.Seconds())
	gauge(c.overloaded, map[bool]float64{true: 1}[over])
	status, sessions, err := c.service.statusQuietly()
	if err != nil {
		return
	}
	gauge(c.view, float64(status.View.Number))
	gauge(c.members, float64(len(status.View.Members)))
	gauge(c.expected, float64(status.Expected))
	gauge(c.sessions, float64(sessions))
	if used, err := query[*session.Used](c.service, protocol.Below, &session.Usage{Most: 1}); err == nil {
		for i, quota := range []string{"sessions", "locks", "waiters"} {
			gauge(c.quotas, used.Shares[i].Part, quota)
		}
	}
	gauge(c.watchers, float64(c.service.observer.source.Watchers()+c.service.hub.Observers()))
	gauge(c.requests, float64(c.service.requests.remembered()))
	if status.Disk != nil {
		gauge(c.sync, status.Disk.Sync.AsDuration().Seconds())
	}
	unwritten := 0.0
	if status.Unwritten != nil {
		unwritten = max(0, c.service.driver.Wall(c.service.now()).Sub(status.Unwritten.Since.AsTime()).Seconds())
	}
	gauge(c.unwritten, unwritten)
	for _, space := range status.Spaces {
		gauge(c.locks, float64(space.Locks), space.Name)
		gauge(c.waiters, float64(space.Waiters), space.Name)
		gauge(c.reign, float64(space.Reign), space.Name)
		ready := 0.0
		if space.State == protocol.Ready.String() {
			ready = 1
		}
		gauge(c.ready, ready, space.Name)
		for _, member := range space.Indispensable {
			gauge(c.needs, 1, space.Name, member)
		}
	}
}
