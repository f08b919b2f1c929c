package storelock

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/node"
	"github.com/holdfast-locks/holdfast/storage"
)

// Option configures a Locker.
type Option func(*config)

type config struct {
	claim Settings
	whole bool // all of claim was given: no default depends on the store
	// outlived reports that users outside of this process rely on its locks.
	outlived bool
	spaces   []string
	limits   host.Limits
	logger   *slog.Logger
	clock    clock.Clock
}

// Claims sets all the settings that the options up to Cleaner set one by one.
func Claims(o Settings) Option { return func(c *config) { c.claim, c.whole = o, true } }

// Wait sets how long a process waits before it checks its claim. The write of a claim may take that time less the skew.
// It must be the same in all processes. The default is 100 ms; a distant store needs more.
func Wait(d time.Duration) Option { return func(c *config) { c.claim.Wait = d } }

// Expiry sets the age at which other processes ignore a claim: how long a lock stays taken after its process has ended.
// It must be the same in all processes. The default is 30 s. With CAS it is the lease of this process's locks.
func Expiry(d time.Duration) Option { return func(c *config) { c.claim.Expiry = d } }

// Skew sets the maximum difference between the clocks of two processes. It must be the same in all processes. The
// default is 5/12 of the wait.
func Skew(d time.Duration) Option { return func(c *config) { c.claim.Skew = d } }

// Retries sets the maximum number of attempts of a request to the store. The default is 3.
func Retries(n int) Option { return func(c *config) { c.claim.Retries = n } }

// RID names this process in its claims, for people, in at most 96 bytes. The Locker appends a part that makes it
// unique, also across restarts of the process. The default says where the process runs.
func RID(rid string) Option { return func(c *config) { c.claim.RID = rid } }

// Group sets the group of the locks: locks with the same name in the same group exclude each other. The default is the
// name of the lockspace. A group that is set applies to the default space; a space S of Spaces then has group/S.
func Group(group string) Option { return func(c *config) { c.claim.Group = group } }

// CAS takes locks by conditional writes, if the store supports them. It must be the same in all processes. In a folder
// it is the default, unless StoreClock or Cleaner is given; Claims with CAS false takes locks there by claims.
func CAS() Option { return func(c *config) { c.claim.CAS = true } }

// HoldOn keeps a released lock for some time, counted from its conditional write, for this process's own users: their
// next locks of the name need no write. Other processes wait that much longer, and their requests that do not wait are
// refused, for up to eight times as long if the name is in constant use. It is 1 ms to 1 s, and at most a tenth of the
// expiry. It requires CAS, and need not be the same in all processes. The default is 0, which is off.
func HoldOn(d time.Duration) Option { return func(c *config) { c.claim.HoldOn = d } }

// StoreClock dates claims by the store's clock, if it has one, so that the processes' clocks need not agree.
func StoreClock() Option { return func(c *config) { c.claim.StoreClock = true } }

// Cleaner deletes expired claims from rows that are locked again. It is for stores without expiry of their own, if
// processes crash often.
func Cleaner() Option { return func(c *config) { c.claim.Cleaner = true } }

// Spaces adds lockspaces to the default one, for Locker.Space.
func Spaces(names ...string) Option {
	return func(c *config) { c.spaces = append(c.spaces, names...) }
}

// Outlived declares that users outside of this process rely on its locks, as those of a keeper or a proxy do. A store
// that learns the end of a process from the kernel, as a folder, then ends the process's locks by their lease, and not
// at once. The default is that all users end with the process.
func Outlived() Option { return func(c *config) { c.outlived = true } }

// Limits limits the state of this process's own users. The default is that of node.Limits.
func Limits(l node.Limits) Option { return func(c *config) { c.limits = host.Limits(l) } }

// Logger sets the locker's logger. The default discards.
func Logger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// cells is the space of transactions' claims.
const cells = "storelock.cells"

// Locker takes locks in a store. Its methods are safe for concurrent use.
type Locker struct {
	holdfast.Locker // of the default space
	node            *host.Member
	settings        Settings
	mediator        *mediator
	operators       map[string]*Operator // by space, for its observers
}

// Open returns a Locker over a store once its settings agree with those of all other users of the store. The store
// stays open when the Locker is closed. The error names the invalid option or the store's failure. It is an ErrConflict
// if other users have different settings. If the store does not answer, it is the context's, with what Open waited for.
func Open(ctx context.Context, store storage.Store, options ...Option) (*Locker, error) {
	if store == nil {
		return nil, fmt.Errorf("storelock: the store is nil; give one, as storage/open makes it of a URL")
	}
	var c config
	for _, option := range options {
		option(&c)
	}
	if !c.whole && !c.claim.StoreClock && !c.claim.Cleaner {
		c.claim.CAS = c.claim.CAS || store.Features().PrefersSwap
	}
	l := &Locker{mediator: newMediator(), operators: map[string]*Operator{}}
	spaces := c.spacesOver(store)
	for i := range spaces {
		if s := &spaces[i]; s.Name != cells {
			s.Observes = l.observes(s.Name)
		}
	}
	n, err := host.Start(ctx, host.Config{Name: "storelock", Spaces: spaces, Limits: c.limits, Logger: c.logger, Clock: c.clock})
	if err != nil {
		return nil, fmt.Errorf("open locks in %s: %w", store.Features().Name, err)
	}
	l.Locker, l.node, l.settings = n, n, *n.Spaces()[0].Resolved().(*Settings)
	if c.clock == nil {
		c.clock = clock.Real()
	}
	for _, s := range n.Spaces() {
		settings := s.Resolved().(*Settings)
		l.operators[s.Name] = &Operator{store: store, group: settings.Group, settings: settings, clock: c.clock}
	}
	if err := n.WaitReady(ctx); err != nil {
		closed := n.Close()
		if closed != nil {
			err = fmt.Errorf("%w (and closing: %w)", err, closed)
		}
		return nil, fmt.Errorf("open locks in %s: %w", store.Features().Name, err)
	}
	return l, nil
}

// spacesOver returns the lockspaces: the default one, those of option Spaces, and that of transactions.
func (c *config) spacesOver(store storage.Store) (spaces []host.Space) {
	names := append([]string{holdfast.DefaultSpace}, c.spaces...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		options := c.claim
		if c.claim.Group != "" {
			options.Group = GroupOf(name, c.claim.Group)
		}
		spaces = append(spaces, spaceOver(store, name, &options))
	}
	rows := c.claim
	rows.Group = cells
	spaces = append(spaces, spaceOver(store, cells, &rows).Tuned(map[string]string{"cells": "true"}))
	for i := range spaces {
		spaces[i].Attends = !c.outlived
	}
	return spaces
}

// Session opens another session: a Locker with separate owners, whose Close releases only the locks held through it.
// The Locker's Close closes it too.
func (l *Locker) Session(ctx context.Context) (holdfast.Locker, error) { return l.node.Session(ctx) }

// Settings returns the settings in use: with the defaults filled in, the name of this process, and the group of the
// default space.
func (l *Locker) Settings() Settings { return l.settings }

// timestamp returns the time from which a token was made, in microseconds.
func (l *Locker) timestamp(token holdfast.Token) int64 {
	settings := l.Settings()
	return settings.Timestamp(token)
}

// Class returns the safety class of the locks, which holdfast.Require compares.
func (l *Locker) Class() holdfast.Class { return l.node.Spaces()[0].Class() }

// Assured returns for how long from now all locks in a space are safe even without another renewal: until the first of
// the claims may expire. Renewal is automatic. It is holdfast.Forever if nothing is held.
func (l *Locker) Assured(space string) time.Duration { return l.node.Assured(space) }

// Settle stops taking locks, and waits until the store has accepted all releases; call Close after it. The error is the
// context's, with the space: unreleased locks are free when their claims expire.
func (l *Locker) Settle(ctx context.Context) error { return l.node.SettleClaims(ctx) }

// Close ends the Locker: waits end with ErrClosed, and locks are released. It returns when the store has accepted the
// releases, or after 5 s: then the remaining locks are free when their claims expire.
func (l *Locker) Close() error { return l.node.Close() }
