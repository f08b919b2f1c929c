package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Source answers questions about a cluster. A client.Admin is one.
type Source interface {
	Status(ctx context.Context) (*schema.Status, error)
	List(ctx context.Context, space, prefix, after string, limit int) (*schema.LockPage, error)
	Show(ctx context.Context, space, name string) (*schema.Lock, error)
	Watch(ctx context.Context, space, prefix string, begun ...func()) iter.Seq2[*schema.WatchEvent, error]
}

// Bounds of a refresh.
const (
	nameBound  = 1000             // names of all spaces together
	busyBound  = 10               // names that are busy and not among those, each with a request of its own
	eventBound = 20_000           // events between two refreshes, before the feeds rest
	restFor    = 5 * time.Minute  // how long; a member goes on with a feed for a minute after its watcher has left
	rateBound  = 10_000           // names with a rate
	feedBound  = 8                // spaces whose events are followed
	rateMemory = 10 * time.Second // rates are averages over about this time
)

// lockKey identifies a lock.
type lockKey struct{ space, name string }

// question is what a refresh asks.
type question struct {
	space  string  // only of this space; "" all
	prefix string  // names that begin with it
	lock   lockKey // one lock in full instead of the names
}

// sample is the answer of a refresh.
type sample struct {
	question question
	took     time.Duration
	status   *schema.Status // nil if the member has not answered even that
	locks    []*schema.Lock
	cut      []string // the spaces of which there are more names
	detail   *schema.Lock
	rates    rates
	err      error
}

// rates are grants per second.
type rates struct {
	known  bool
	at     time.Time // when they were read, if the feeds rest since then
	names  map[lockKey]float64
	spaces map[string]float64
}

// collector asks for samples. Its methods are safe for concurrent use; collect runs once at a time.
type collector struct {
	source  Source
	timeout time.Duration // of one request
	follow  bool          // count events
	ctx     context.Context
	cancel  context.CancelFunc
	feeds   sync.WaitGroup

	mu      sync.Mutex
	open    map[string]context.CancelFunc // feeds, by space
	counts  map[lockKey]int               // grants since the last refresh
	events  int                           // all events since then
	since   time.Time                     // since when it has counted
	half    time.Time                     // when the events reached half of their bound; counts are of the other half
	full    time.Time                     // when the events reached their bound
	resting time.Time                     // no feed before then
	frozen  time.Time                     // when the feeds began to rest; zero while they are followed
	rates   map[lockKey]float64
}

func newCollector(ctx context.Context, config Config) *collector {
	c := &collector{
		source: config.Source, timeout: config.Timeout, follow: config.Rates,
		open: map[string]context.CancelFunc{}, counts: map[lockKey]int{}, rates: map[lockKey]float64{},
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// close ends requests and feeds.
func (c *collector) close() {
	c.cancel()
	c.feeds.Wait()
}

// collect asks one request after the other.
func (c *collector) collect(q question) sample {
	began := time.Now()
	s := sample{question: q}
	s.err = c.ask(&s)
	s.took = time.Since(began)
	if s.status != nil {
		s.rates = c.count(s.status)
	}
	return s
}

func (c *collector) ask(s *sample) (err error) {
	s.status, err = limited(c, c.source.Status)
	switch {
	case err != nil:
		return err
	case s.question.lock != lockKey{}:
		lock := s.question.lock
		s.detail, err = limited(c, func(ctx context.Context) (*schema.Lock, error) { return c.source.Show(ctx, lock.space, lock.name) })
		return unlessRefused(err)
	}
	if err := c.listAll(s); err != nil {
		return err
	}
	return c.showBusy(s)
}

// listAll adds the names of all spaces, as far as the bound allows.
func (c *collector) listAll(s *sample) error {
	for _, space := range s.status.Spaces {
		if s.question.space != "" && s.question.space != space.Name || space.Locks == 0 && space.Waiters == 0 {
			continue
		}
		if err := c.list(s, space.Name); err != nil {
			return fmt.Errorf("names of space %s: %w", space.Name, err)
		}
	}
	return nil
}

// list adds the names of a space, as far as the bound allows.
func (c *collector) list(s *sample, space string) error {
	left := nameBound - len(s.locks)
	if left == 0 {
		s.cut = append(s.cut, space)
		return nil
	}
	page, err := limited(c, func(ctx context.Context) (*schema.LockPage, error) {
		return c.source.List(ctx, space, s.question.prefix, "", left)
	})
	if err != nil {
		return unlessRefused(err)
	}
	s.locks = append(s.locks, page.Locks...)
	if page.Next != "" {
		s.cut = append(s.cut, space)
	}
	return nil
}

// showBusy adds the names with the most grants among those that the lists have left out.
func (c *collector) showBusy(s *sample) error {
	if len(s.cut) == 0 {
		return nil
	}
	listed := map[lockKey]bool{}
	for _, lock := range s.locks {
		listed[lockKey{lock.Space, lock.Name}] = true
	}
	c.mu.Lock()
	rates := maps.Clone(c.rates)
	c.mu.Unlock()
	maps.DeleteFunc(rates, func(lock lockKey, _ float64) bool {
		return listed[lock] || !slices.Contains(s.cut, lock.space) || !strings.HasPrefix(lock.name, s.question.prefix)
	})
	busy := slices.SortedFunc(maps.Keys(rates), func(a, b lockKey) int {
		return cmp.Or(cmp.Compare(rates[b], rates[a]), cmp.Compare(a.name, b.name))
	})
	for _, lock := range busy[:min(len(busy), busyBound)] {
		shown, err := limited(c, func(ctx context.Context) (*schema.Lock, error) { return c.source.Show(ctx, lock.space, lock.name) })
		switch {
		case err != nil && unlessRefused(err) != nil:
			return fmt.Errorf("lock %q in space %s: %w", lock.name, lock.space, err)
		case err == nil:
			s.locks = append(s.locks, shown)
		}
	}
	return nil
}

// unlessRefused drops the error of a member that has answered: the state of the space says why it grants nothing.
func unlessRefused(err error) error {
	var network interface{ Answered() bool }
	if errors.As(err, &network) && !network.Answered() || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// limited asks one request.
func limited[A any](c *collector, ask func(context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	return ask(ctx)
}

// count returns the rates until now, and opens and closes feeds.
func (c *collector) count(status *schema.Status) rates {
	if !c.follow {
		return rates{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case len(c.open) == 0:
	case c.full.IsZero():
		c.average(max(now.Sub(c.since), time.Millisecond))
		c.frozen = time.Time{}
	default:
		c.replace(max(c.full.Sub(c.half), time.Millisecond))
		c.frozen, c.resting = c.full, now.Add(restFor)
		for space, stop := range c.open {
			stop()
			delete(c.open, space)
		}
	}
	if !now.Before(c.resting) {
		c.openFeeds(status)
	}
	clear(c.counts)
	c.events, c.since, c.full = 0, now, time.Time{}
	found := rates{known: true, at: c.frozen, names: maps.Clone(c.rates), spaces: map[string]float64{}}
	for lock, rate := range c.rates {
		found.spaces[lock.space] += rate
	}
	return found
}

// average adds a window to the moving averages.
func (c *collector) average(window time.Duration) {
	keep := math.Exp(-float64(window) / float64(rateMemory))
	for lock, rate := range c.rates {
		if rate *= keep; rate < 0.01 && c.counts[lock] == 0 {
			delete(c.rates, lock)
		} else {
			c.rates[lock] = rate
		}
	}
	for lock, count := range c.counts {
		if _, known := c.rates[lock]; known || len(c.rates) < rateBound {
			c.rates[lock] += float64(count) / window.Seconds() * (1 - keep)
		}
	}
}

// replace takes the rates from the window of the second half of the events.
func (c *collector) replace(window time.Duration) {
	clear(c.rates)
	for lock, count := range c.counts {
		c.rates[lock] = float64(count) / window.Seconds()
	}
}

// openFeeds follows the events of the spaces that have no feed.
func (c *collector) openFeeds(status *schema.Status) {
	for _, space := range slices.SortedFunc(slices.Values(status.Spaces), byUse) {
		if c.open[space.Name] != nil || len(c.open) == feedBound || c.ctx.Err() != nil {
			continue
		}
		ctx, cancel := context.WithCancel(c.ctx)
		c.open[space.Name] = cancel
		c.feeds.Go(func() { c.read(ctx, space.Name) })
	}
}

// byUse orders the busiest spaces first.
func byUse(a, b *schema.Space) int {
	return cmp.Or(cmp.Compare(b.Locks+b.Waiters, a.Locks+a.Waiters), cmp.Compare(a.Name, b.Name))
}

// read counts the grants of a space until the feed ends. The next refresh opens another: a feed that has failed is the
// failure of a member that the refresh meets too.
func (c *collector) read(ctx context.Context, space string) {
	for event, err := range c.source.Watch(ctx, space, "") {
		if err != nil {
			break
		}
		c.mu.Lock()
		c.events++
		if lock := (lockKey{event.Space, event.Name}); event.Event == eventGranted && (len(c.counts) < rateBound || c.counts[lock] > 0) {
			c.counts[lock]++
		}
		if c.events == eventBound/2 {
			clear(c.counts)
			c.half = time.Now()
		}
		full := c.events >= eventBound
		if full && c.full.IsZero() {
			c.full = time.Now()
		}
		c.mu.Unlock()
		if full {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil && c.events < eventBound {
		delete(c.open, space)
	}
}

// eventGranted is the kind of the event of a grant.
const eventGranted = "granted"
