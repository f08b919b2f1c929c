package server

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/wire"
)

// Observer sees everything that a member's machines decide, and makes of it the
// metrics and the feeds of events. It is made before the driver, whose
// Config.Observe is its Observe; New takes it over.
type Observer struct {
	registry *prometheus.Registry
	spaces   []observed // by port, from port 1 on

	operations *prometheus.CounterVec
	messages   *prometheus.CounterVec
	refusals   *prometheus.CounterVec
	frames     *prometheus.CounterVec
	recoveries *prometheus.CounterVec
	recovery   *prometheus.HistogramVec

	// waiting are the requests that were queued and are not decided yet, as many as
	// the spaces have waiters. The driver's mutex guards it.
	waiting map[waitKey]struct{}

	feeds  feeds
	stirs  chan struct{} // holds one when a space may be in another state
	viewed atomic.Uint64 // the number of the newest view
}

// observed is what counts for one space; its metrics are looked up once.
type observed struct {
	name string
	wait prometheus.Observer
	hold prometheus.Observer
	lost map[holdfast.Loss]prometheus.Counter
}

// waitKey names a request.
type waitKey struct {
	session lock.SessionID
	request uint64
}

// NewObserver returns an Observer of the spaces with these names, the first of
// which is at port 1 of the stack.
func NewObserver(spaces []string) *Observer {
	o := &Observer{
		registry: prometheus.NewRegistry(), waiting: map[waitKey]struct{}{}, stirs: make(chan struct{}, 1),
		feeds: feeds{byID: map[*feed]struct{}{}},
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
	o.operations = counter("operations_total", "Operations by outcome: ok, or the code of the problem.", "space", "op", "result")
	o.messages = counter("messages_total", "Messages between members, and to the storage.", "space", "type", "direction")
	o.refusals = counter("refused_total", "Input that was refused before it could ask anything.", "why")
	o.frames = counter("frames_total", "Frames of client streams.", "direction")
	o.recoveries = counter("recoveries_total", "Times that the space has begun to recover.", "space")
	o.recovery = histogram("recovery_seconds", "How long the space could not grant while it recovered.")
	wait := histogram("wait_seconds", "How long granted requests had waited.")
	hold := histogram("hold_seconds", "How long grants were held.")
	lost := counter("lost_total", "Grants that ended without a release.", "space", "why")
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
	for _, why := range []string{wire.CodeBadRequest, wire.CodeName, wire.CodeTooLarge, wire.CodeDenied, wire.CodeUnknownPath} {
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

func allLosses() []holdfast.Loss {
	return []holdfast.Loss{
		holdfast.SessionExpired, holdfast.HoldLimit, holdfast.AuthorityChanged,
		holdfast.Duplicate, holdfast.Broken, holdfast.MemberLost,
	}
}

// Observe is for run.Config.Observe: it sees the effects of one step, keeps none of
// them, and neither blocks nor calls back.
func (o *Observer) Observe(now protocol.Time, effects *protocol.Effects) {
	for i := range effects.Replies {
		if reply := &effects.Replies[i]; reply.Decision.Kind != 0 && reply.Port != protocol.Below && int(reply.Port) <= len(o.spaces) {
			o.decided(now, &o.spaces[reply.Port-1], &reply.Decision)
		}
	}
	for _, envelope := range effects.Sends {
		o.messages.WithLabelValues(o.spaceAt(envelope.Port), typeName(envelope.Message), sent).Inc()
	}
	for _, fact := range effects.Raises {
		if view, ok := fact.(*protocol.View); ok && o.viewed.Swap(view.Number) != view.Number {
			o.feeds.publish(wire.Event{Event: eventView, Why: viewText(view)})
		}
	}
	if len(effects.Raises)+len(effects.Notes) > 0 {
		select {
		case o.stirs <- struct{}{}:
		default: // somebody will look anyway
		}
	}
}

func (o *Observer) spaceAt(port protocol.Port) string {
	if port == protocol.Below || int(port) > len(o.spaces) {
		return ""
	}
	return o.spaces[port-1].name
}

// typeName returns the name of a message's type without its package.
func typeName(message any) string {
	name := fmt.Sprintf("%T", message)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// decided counts and tells one decision.
func (o *Observer) decided(now protocol.Time, space *observed, d *lock.Decision) {
	switch d.Kind {
	case lock.Granted:
		if !extends(d) {
			space.wait.Observe(d.Waited.Seconds())
		}
	case lock.Released, lock.Lost:
		if d.Token != 0 && 0 < d.Since && d.Since <= now {
			space.hold.Observe((now - d.Since).Seconds())
		}
	}
	if d.Kind == lock.Lost || d.Kind == lock.Revoked {
		if lost := space.lost[d.Loss]; lost != nil {
			lost.Inc()
		}
	}
	waited := o.account(d)
	if o.feeds.open.Load() > 0 {
		if event, why := eventOf(d, waited); event != "" {
			o.feeds.publish(wire.Event{Event: event, Space: space.name, Name: d.Name, Owner: d.Owner, Token: d.Token, Why: why})
		}
	}
}

// account keeps the requests that wait, and reports whether d is about one of them.
func (o *Observer) account(d *lock.Decision) (waited bool) {
	if d.Kind != lock.Queued && len(o.waiting) == 0 {
		return false
	}
	key := waitKey{d.Session, d.Request}
	_, waited = o.waiting[key]
	if d.Kind == lock.Queued {
		if d.Position >= 0 { // otherwise another member decides, and has not been heard yet
			o.waiting[key] = struct{}{}
		}
	} else {
		delete(o.waiting, key)
	}
	return waited
}

// operation counts one operation of a client by its outcome. Space is "" for what
// is about no space.
func (o *Observer) operation(space, op string, err error) {
	result := resultOK
	if err != nil {
		result = wire.Code(err)
	}
	o.operations.WithLabelValues(space, op, result).Inc()
}

// refused counts input that was refused before it could ask anything. Why is one of
// a small fixed set of words.
func (o *Observer) refused(why string) { o.refusals.WithLabelValues(why).Inc() }

// frame counts one frame of a client's stream, received or sent.
func (o *Observer) frame(direction string) { o.frames.WithLabelValues(direction).Inc() }

// subscribe opens a feed, or returns nil when there are most already.
func (o *Observer) subscribe(space, prefix string, most int) *feed {
	return o.feeds.subscribe(space, prefix, most)
}

// state collects what is asked when somebody looks.
type state struct {
	service *service

	locks, waiters, reign, ready, view, members, sessions *prometheus.Desc
}

// register adds to the observer's metrics what only the service knows.
func (s *service) register() error {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("holdfast_"+name, help, labels, nil)
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "holdfast_build_info", Help: "1, with the version as a label."}, []string{"version"})
	build.WithLabelValues(s.identity().Version).Set(1)
	for _, collector := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		&state{
			service:  s,
			locks:    desc("locks", "Names held or wanted.", "space"),
			waiters:  desc("waiters", "Requests that wait.", "space"),
			reign:    desc("reign", "The present authority's reign.", "space"),
			ready:    desc("space_ready", "Whether the space can grant.", "space"),
			view:     desc("view", "The number of the newest view."),
			members:  desc("members", "How many members the newest view has."),
			sessions: desc("sessions", "How many sessions this member has."),
		},
	} {
		if err := s.observer.registry.Register(collector); err != nil {
			return fmt.Errorf("server: Observer serves another server already: %w", err)
		}
	}
	return nil
}

// Describe is for the registry.
func (c *state) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.locks, c.waiters, c.reign, c.ready, c.view, c.members, c.sessions} {
		out <- desc
	}
}

// Collect is for the registry. What cannot be asked any more is left out.
func (c *state) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	status, err := c.service.statusQuietly()
	if err != nil {
		return
	}
	gauge(c.view, float64(status.View.Number))
	gauge(c.members, float64(len(status.View.Members)))
	gauge(c.sessions, float64(status.sessions))
	for _, space := range status.Spaces {
		gauge(c.locks, float64(space.Locks), space.Name)
		gauge(c.waiters, float64(space.Waiters), space.Name)
		gauge(c.reign, float64(space.Reign), space.Name)
		ready := 0.0
		if space.State == protocol.Ready.String() {
			ready = 1
		}
		gauge(c.ready, ready, space.Name)
	}
}
