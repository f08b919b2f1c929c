package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/protocol"
)

// shown is what a caller may learn.
type shown struct{ rights *access.Rights }

func (s *service) shownTo(v caller) shown { return shown{s.guard.Policy().Rights(v.subject)} }

// all reports whether the caller may read everything.
func (s shown) all() bool { return s.rights.Everything(access.Read) }

// callers reports whether the caller may learn of other callers: it may list their sessions.
func (s shown) callers() bool { return s.rights.Everything(access.Operate) }

// name reports whether the caller may learn who holds a name.
func (s shown) name(space, name string) bool { return s.rights.May(access.Read, space, name) }

// space reports whether the caller may learn of a space: it may do something with a name there.
func (s shown) space(space string) bool {
	return slices.ContainsFunc(access.Verbs(), func(verb access.Verb) bool { return s.rights.SomeIn(verb, space) })
}

// conceal takes from a refusal who holds the name, and why, unless the caller may read the name.
func (s *service) conceal(v caller, space, name string, err error) error {
	if !errors.Is(err, holdfast.ErrHeld) || s.shownTo(v).name(space, name) {
		return err
	}
	return holdfast.ErrHeld
}

// status takes the spaces from a status that the caller may not learn of.
func (s shown) status(status *schema.Status) {
	if s.all() {
		return
	}
	status.Spaces = slices.DeleteFunc(status.Spaces, func(space *schema.Space) bool { return !s.space(space.GetName()) })
	for _, space := range status.Spaces {
		if !s.rights.Whole(access.Read, space.GetName()) && space.GetSuspension() != nil {
			space.Suspension = &schema.Grant{Since: space.Suspension.Since}
			space.Why = ""
		}
	}
}

// batch returns the events of a batch that the caller may learn of; nil if there are none. Events of the view have no
// space, and those of a space have no name.
func (s shown) batch(batch *events.Batch) *events.Batch {
	if s.all() {
		return batch
	}
	var items []*events.Item
	for _, item := range batch.Items {
		switch space, name := item.GetSpace(), item.GetName(); {
		case space == "", name == "" && s.space(space), name != "" && s.name(space, name):
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil
	}
	return &events.Batch{Items: items}
}

// shownFeed shows a watcher the events that it may learn of. The policy may change meanwhile.
type shownFeed struct {
	feed
	service *service
	caller  caller
}

func (f shownFeed) send(ctx context.Context, turn *feedTurn, happened []*events.Batch) error {
	shown := f.service.shownTo(f.caller)
	if !shown.all() {
		var some []*events.Batch
		for _, batch := range happened {
			if one := shown.batch(batch); one != nil {
				some = append(some, one)
			}
		}
		happened = some
	}
	if len(happened) == 0 {
		return nil
	}
	return f.feed.send(ctx, turn, happened)
}

// metricsOf serves the metrics without the series of spaces that the caller may not learn of.
func (h *web) metricsOf(shown shown) http.Handler {
	if shown.all() {
		return h.metrics
	}
	from := h.service.observer.registry
	return promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		for _, family := range families {
			family.Metric = slices.DeleteFunc(family.Metric, func(m *dto.Metric) bool {
				return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
					return l.GetName() == "space" && l.GetValue() != "" && !shown.space(l.GetValue())
				})
			})
		}
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return len(f.GetMetric()) == 0 }), err
	}), promhttp.HandlerOpts{})
}

// strangers limits the log to one line a second for each address whose credentials were not valid.
type strangers struct {
	mu     sync.Mutex
	latest map[string]protocol.Time
}

// mostStrangers bounds the addresses that are remembered.
const mostStrangers = 10_000

// news reports whether a failure of an address may be logged at now.
func (s *strangers) news(address string, now protocol.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.latest[address]
	if known && now-last < time.Second {
		return false
	}
	if s.latest == nil || !known && len(s.latest) >= mostStrangers {
		s.latest = map[string]protocol.Time{}
	}
	s.latest[address] = now
	return true
}
