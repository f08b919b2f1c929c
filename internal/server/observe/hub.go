package observe

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

const (
	// Keep is how long a name is observed after its last observer has gone.
	Keep = 30 * time.Second
	// keptAlone is the maximum number of names that are observed without an observer.
	keptAlone = 32
)

// Config configures a Hub. All fields are required, but Logger.
type Config struct {
	// Attend opens a feed of the events about a name, complete from its return on.
	Attend func(ctx context.Context, space, name string) (*events.Feed, error)
	// Look returns the state of a name.
	Look func(ctx context.Context, space, name string) (*schema.Lock, error)
	// Members returns the names of the members in the view.
	Members func() []string
	// Now returns the time on a clock that does not go back.
	Now func() time.Duration
	// Logger is the hub's logger. Nil discards.
	Logger *slog.Logger
}

// Hub observes names for any number of observers. It is safe for concurrent use. Close it.
type Hub struct {
	Config
	life    context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
	process string // states of another life of this member have other ids

	mu    sync.Mutex
	names map[key]*named
	all   int    // observers
	alone int    // names without an observer
	count uint64 // of the states of all names: ids
}

type key struct{ space, name string }

// named is a name that is observed.
type named struct {
	hub       *Hub
	key       key
	ring      *ring
	end       context.CancelFunc
	observers int
	timer     *time.Timer // runs without an observer
}

// NewHub returns a Hub that observes nothing.
func NewHub(c Config) *Hub {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hub{Config: c, process: strconv.FormatUint(rand.Uint64(), 36), names: map[key]*named{}}
	h.life, h.stop = context.WithCancel(context.Background())
	return h
}

// Close ends all observations.
func (h *Hub) Close() {
	h.mu.Lock()
	h.stop()
	//tidy:unordered each is stopped
	for _, n := range h.names {
		if n.timer != nil {
			n.timer.Stop()
		}
	}
	h.mu.Unlock()
	h.work.Wait()
}

// errClosed ends the observers of a hub that is closed.
var errClosed = fmt.Errorf("%w: this member is leaving", holdfast.ErrUnavailable)

// Observer is one observer of a name. One goroutine uses it. Close it.
type Observer struct {
	named  *named
	reader *reader
}

// Observe returns an Observer that begins with the present state or, with the id of a state, with the one that followed
// it. The error is an ErrLimit named watchers if there are most observers already.
func (h *Hub) Observe(space, name, after string, most int) (*Observer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return nil, errClosed
	}
	if h.all >= most {
		return nil, &holdfast.LimitError{Limit: "watchers", Value: int64(most)}
	}
	k := key{space, name}
	n := h.names[k]
	if n == nil {
		n = h.begin(k)
	}
	n.observers++
	h.all++
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
		h.alone--
	}
	return &Observer{n, n.ring.from(after)}, nil
}

// Observers returns the number of observers.
func (h *Hub) Observers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

// begin observes a name. It is called with the mutex held.
func (h *Hub) begin(k key) *named {
	ctx, end := context.WithCancel(h.life)
	n := &named{hub: h, key: k, ring: newRing(), end: end}
	h.names[k] = n
	h.work.Go(func() {
		err := n.run(ctx)
		if h.life.Err() != nil {
			err = errClosed
		}
		n.ring.end(err)
		h.forget(n)
	})
	return n
}

// forget drops a name, so that the next observer begins anew.
func (h *Hub) forget(n *named) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n.end()
	if h.names[n.key] != n {
		return
	}
	delete(h.names, n.key)
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
		h.alone--
	}
}

// Next returns the states since the last call, and waits for one until ctx ends. The first state of an observer without
// an id is the present one. The error is the context's, or an ErrUnavailable if this member cannot tell the state.
func (o *Observer) Next(ctx context.Context) ([]*schema.Observed, error) { return o.reader.read(ctx) }

// Close ends the observer.
func (o *Observer) Close() {
	n := o.named
	h := n.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	n.observers--
	h.all--
	if n.observers > 0 || h.names[n.key] != n {
		return
	}
	if h.alone >= keptAlone {
		delete(h.names, n.key)
		n.end()
		return
	}
	h.alone++
	n.timer = time.AfterFunc(Keep, func() { h.drop(n) })
}

// drop ends the observation of a name that has no observer.
func (h *Hub) drop(n *named) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names[n.key] == n && n.observers == 0 {
		delete(h.names, n.key)
		h.alone--
		n.end()
	}
}

// publish gives states their ids, and passes them to the observers.
func (n *named) publish(states []*schema.Observed) {
	if len(states) == 0 {
		return
	}
	n.hub.mu.Lock()
	for _, state := range states {
		n.hub.count++
		state.Id = n.hub.process + "-" + strconv.FormatUint(n.hub.count, 36)
	}
	n.hub.mu.Unlock()
	n.ring.add(states)
}
