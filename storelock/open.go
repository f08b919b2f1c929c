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

// Option changes how locks are taken.
type Option func(*config)

type config struct {
	claim  Settings
	spaces []string
	limits host.Limits
	logger *slog.Logger
	clock  clock.Clock
}

// Claims sets all that the options up to Cleaner set, one by one.
func Claims(o Settings) Option { return func(c *config) { c.claim = o } }

// Wait sets how long a claim is left alone before it is checked, and so how long its write may take,
// less the skew. The same in all processes. The default is 100 ms; a store that is far away needs more.
func Wait(d time.Duration) Option { return func(c *config) { c.claim.Wait = d } }

// Expiry sets how old a claim grows before others pass it over: how long a lock stays taken
// whose process has ended. The same in all processes. The default is 30 s. With CAS it is the lease of what
// this process takes.
func Expiry(d time.Duration) Option { return func(c *config) { c.claim.Expiry = d } }

// Skew sets by how much the clocks of two processes may differ. The same in all processes. The
// default is 5/12 of the wait.
func Skew(d time.Duration) Option { return func(c *config) { c.claim.Skew = d } }

// Retries sets how often a request to the store is tried. The default is 3.
func Retries(n int) Option { return func(c *config) { c.claim.Retries = n } }

// RID names this process in its claims, for people, in at most 96 bytes. What makes it unlike any
// other's, and that of an earlier life, is added. By default it is where the process runs.
func RID(rid string) Option { return func(c *config) { c.claim.RID = rid } }

// Group sets which locks exclude each other: those of one name in one group. By default it is the
// name of the lockspace. It is that of the default space; a space S of Spaces has group/S then.
func Group(group string) Option { return func(c *config) { c.claim.Group = group } }

// CAS takes locks by conditional writes, where the store has them. The same in all processes.
func CAS() Option { return func(c *config) { c.claim.CAS = true } }

// HoldOn keeps what was released for a while after it was taken by a conditional write, for this
// process's own users: none of their locks of the name needs a write then. Others wait that much
// longer; who does not want to wait is refused, up to eight times as long where the name is used all the time.
// It is 1 ms to 1 s, and a tenth of the expiry at most. It goes with CAS, and need not be the same in all processes. The default is 0, which is off.
func HoldOn(d time.Duration) Option { return func(c *config) { c.claim.HoldOn = d } }

// StoreClock dates claims by the store's clock, where it has one, so that those of the processes
// need not agree.
func StoreClock() Option { return func(c *config) { c.claim.StoreClock = true } }

// Cleaner deletes claims that have expired, of rows that are locked again. It is for stores that do not
// forget them by themselves, where processes crash often.
func Cleaner() Option { return func(c *config) { c.claim.Cleaner = true } }

// Spaces adds lockspaces to the default one, for Locker.Space.
func Spaces(names ...string) Option {
	return func(c *config) { c.spaces = append(c.spaces, names...) }
}

// Limits bounds what this process's own users may have. The default is that of node.Limits.
func Limits(l node.Limits) Option { return func(c *config) { c.limits = host.Limits(l) } }

// Logger gets what happens. The default discards.
func Logger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// cells is the space in which transactions claim.
const cells = "storelock.cells"

// Locker takes locks in a store. Its methods may be called from many goroutines.
type Locker struct {
	holdfast.Locker // of the default space
	node            *host.Member
	settings        Settings
	mediator        *mediator
}

// Open makes a Locker over a store, and returns when the settings agree with those of the others
// who use it. The store stays open when the Locker is closed. The error names what is wrong with an option
// or the store; it is an ErrConflict where others have other settings, and the context's, with what
// was waited for, where the store does not answer.
func Open(ctx context.Context, store storage.Store, options ...Option) (*Locker, error) {
	if store == nil {
		return nil, fmt.Errorf("storelock: the store is nil; give one, as storage/open makes it of a URL")
	}
	var c config
	for _, option := range options {
		option(&c)
	}
	n, err := host.Start(ctx, host.Config{
		Name: "storelock", Spaces: c.spacesOver(store), Limits: c.limits, Logger: c.logger, Clock: c.clock,
	})
	if err != nil {
		return nil, fmt.Errorf("open locks in %s: %w", store.Features().Name, err)
	}
	l := &Locker{Locker: n, node: n, settings: *n.Spaces()[0].Resolved().(*Settings), mediator: newMediator()}
	if err := n.WaitReady(ctx); err != nil {
		closed := n.Close()
		if closed != nil {
			err = fmt.Errorf("%w (and closing: %w)", err, closed)
		}
		return nil, fmt.Errorf("open locks in %s: %w", store.Features().Name, err)
	}
	return l, nil
}

// spacesOver are the lockspaces: the default one, those that were asked for, and that of transactions.
func (c *config) spacesOver(store storage.Store) (spaces []host.Space) {
	names := append([]string{holdfast.DefaultSpace}, c.spaces...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		options := c.claim
		if c.claim.Group != "" && name != holdfast.DefaultSpace {
			options.Group = c.claim.Group + "/" + name
		}
		spaces = append(spaces, spaceOver(store, name, &options))
	}
	rows := c.claim
	rows.Group = cells
	return append(spaces, spaceOver(store, cells, &rows).Tuned(map[string]string{"cells": "true"}))
}

// Session opens another session: a Locker whose owners are others than this one's, and whose Close
// releases what is held through it alone. The Locker's Close closes it too.
func (l *Locker) Session(ctx context.Context) (holdfast.Locker, error) { return l.node.Session(ctx) }

// Settings returns what locks are taken with: the defaults in the place of what was not given, the name
// of this process, and the group of the default space.
func (l *Locker) Settings() Settings { return l.settings }

// timestamp returns a token as the time that it was made of, in microseconds.
func (l *Locker) timestamp(token holdfast.Token) int64 {
	settings := l.Settings()
	return settings.Timestamp(token)
}

// Class is how safe the locks are: what holdfast.Require is compared with.
func (l *Locker) Class() holdfast.Class { return l.node.Spaces()[0].Class() }

// Assured returns for how long from now all that is held in a space is safe, unless it is renewed by then, which
// happens by itself: until the first of the claims may expire. It is holdfast.Forever where nothing
// is held.
func (l *Locker) Assured(space string) time.Duration { return l.node.Assured(space) }

// Settle takes no more locks, and waits until the store has taken all that was released; Close comes after
// it. The error is the context's, with the space: what has not been taken is free when
// its claims expire.
func (l *Locker) Settle(ctx context.Context) error { return l.node.SettleClaims(ctx) }

// Close ends the Locker: what waits ends with ErrClosed, and what is held is released. It returns when the
// store has taken that, or has failed to within 5 s: then the locks are free when their claims expire.
func (l *Locker) Close() error { return l.node.Close() }
