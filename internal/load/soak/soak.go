package soak

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/internal/load"
)

// Cluster is the cluster under load.
type Cluster interface {
	// Addresses returns those of its members, at least one, in a client's form.
	Addresses() []string
	// TLS returns the TLS configuration of its connections; nil without encryption.
	TLS() *tls.Config
	// Sample returns the state of each server process; none if unknown.
	Sample(ctx context.Context) ([]Process, error)
}

// Process is the state of a process at a moment. An unknown figure is 0.
type Process struct {
	Name string
	load.Usage
	Goroutines int
	Files      int // open descriptors
}

// Config configures a soak.
type Config struct {
	Cluster Cluster
	// Own returns this process's state.
	Own func() Process
	// Duration is how long the full load lasts; Every is the time between two samples, zero means a sixtieth of it, but
	// 100 ms to 1 min.
	Duration, Every time.Duration
	// Space is the lockspace; "" means the default one.
	Space string
	// Seed is the seed of the pauses.
	Seed uint64
	// OnSample receives each sample. It may be nil.
	OnSample func(Sample)
}

// MaxDuration is the longest soak, 30 days.
const MaxDuration = 30 * 24 * time.Hour

func (c *Config) check() error {
	switch {
	case c.Cluster == nil || c.Own == nil:
		return errors.New("soak: fields Cluster and Own: both are needed")
	case c.Duration <= 0 || c.Duration > MaxDuration:
		return fmt.Errorf("soak: field Duration is %v; more than 0 to %v is allowed", c.Duration, MaxDuration)
	case c.Every < 0:
		return fmt.Errorf("soak: field Every is %v; 0 or more is allowed", c.Every)
	}
	if c.Every == 0 {
		c.Every = min(max(c.Duration/60, 100*time.Millisecond), time.Minute)
	}
	if c.Space == "" {
		c.Space = holdfast.DefaultSpace
	}
	if c.OnSample == nil {
		c.OnSample = func(Sample) {}
	}
	return nil
}

// run is one soak.
type run struct {
	Config
	begun   time.Time
	admin   *client.Admin
	clients []*client.Client
	proxies []*proxy
	workers uint64
	work    sync.WaitGroup

	counts     map[Kind]*atomic.Uint64
	violations atomic.Uint64

	mu     sync.Mutex
	errors uint64
	first  error // first of them
}

// Run soaks until the time is over or ctx ends; both give a result. An error says why there is none: the load could not
// start, or did not end cleanly.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return newRun(c).soak(ctx)
}

func newRun(c Config) *run {
	r := &run{Config: c, counts: map[Kind]*atomic.Uint64{}}
	for _, kind := range allKinds() {
		r.counts[kind] = &atomic.Uint64{}
	}
	return r
}

// soak starts the load, samples and ends it.
func (r *run) soak(ctx context.Context) (result *Result, err error) {
	defer func() { err = errors.Join(err, r.close()) }()
	loading, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		r.work.Wait() // before their resources are closed
	}()
	if r.admin, err = client.DialAdmin(strings.Join(r.Cluster.Addresses(), ","), r.options("")...); err != nil {
		return nil, err
	}
	if err := r.begin(loading); err != nil {
		return nil, fmt.Errorf("begin to soak: %w", err)
	}
	result, r.begun = &Result{}, time.Now()
	r.look(loading, result)
	stop()
	r.work.Wait()
	result.Interrupted, result.Took = ctx.Err() != nil, time.Since(r.begun)
	result.Counts = r.counted()
	result.Violations = r.violations.Load()
	result.Errors, result.FirstError = r.failures()
	return result, nil
}

// close ends all sessions. No worker is left.
func (r *run) close() error {
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, c.Close())
	}
	for _, p := range r.proxies {
		errs = append(errs, p.close())
	}
	if r.admin != nil {
		errs = append(errs, r.admin.Close())
	}
	return errors.Join(errs...)
}

// options returns the options of a connection. One through a proxy still requires the certificate of the host behind
// it.
func (r *run) options(behind string) []client.Option {
	options := []client.Option{client.Name("holdfast bench --soak"), client.Space(r.Space)}
	encryption := r.Cluster.TLS()
	if encryption == nil {
		return options
	}
	if host, _, err := net.SplitHostPort(behind); err == nil && encryption.ServerName == "" {
		encryption = encryption.Clone()
		encryption.ServerName = host
	}
	return append(options, client.TLS(encryption))
}

// dialLimit is the time limit for opening a session.
const dialLimit = 10 * time.Second

func dial(ctx context.Context, address string, options []client.Option) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return client.Dial(ctx, address, options...)
}

// dial opens a session through the member with any number, modulo the members.
func (r *run) dial(ctx context.Context, member int, more ...client.Option) (*client.Client, error) {
	addresses := r.Cluster.Addresses()
	return dial(ctx, addresses[member%len(addresses)], append(r.options(""), more...))
}

// openSession opens a session that stays until the end.
func (r *run) openSession(ctx context.Context, member int, more ...client.Option) (*client.Client, error) {
	c, err := r.dial(ctx, member, more...)
	if err == nil {
		r.clients = append(r.clients, c)
	}
	return c, err
}

// each runs that many workers' turns, with pauses between them, until ctx ends.
func (r *run) each(ctx context.Context, kind Kind, workers int, pause time.Duration, turn func(w *worker) error) {
	for number := range workers {
		r.workers++
		w := &worker{number: number, ctx: ctx, random: rand.New(rand.NewPCG(r.Seed, r.workers))}
		r.work.Go(func() {
			for w.pause(pause) {
				switch err := turn(w); {
				case ctx.Err() != nil: // the turn was not complete
				case err != nil:
					r.fail(fmt.Errorf("%s: %w", kind, err))
				default:
					r.counts[kind].Add(1)
				}
			}
		})
	}
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors++; r.first == nil {
		r.first = err
	}
}

func (r *run) failures() (count uint64, first error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors, r.first
}

func (r *run) counted() map[Kind]uint64 {
	counts := map[Kind]uint64{}
	for kind, n := range r.counts {
		counts[kind] = n.Load()
	}
	return counts
}

// worker takes turns.
type worker struct {
	number int // within its kind
	turn   int
	ctx    context.Context
	random *rand.Rand
}

// longest is the maximum of a pause, in means.
const longest = 8

// pause waits for a random time, and reports whether there is another turn.
func (w *worker) pause(mean time.Duration) bool {
	w.turn++
	return w.pass(time.Duration(min(w.random.ExpFloat64(), longest) * float64(mean)))
}

// pass waits, and reports whether the full time has passed.
func (w *worker) pass(d time.Duration) bool {
	return backoff.Sleep(w.ctx, d) == nil && w.ctx.Err() == nil
}
