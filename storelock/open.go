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

// Claims sets at once all that the options up to Cleaner set one by one.
func Claims(o Settings) Option { return func(c *config) { c.claim = o } }

// Wait sets how long a process waits before it checks its claim, and so how long the write of a claim may take,
// less the skew. It must be the same in all processes. The default is 100 ms; a store that is far away needs more.
func Wait(d time.Duration) Option { return func(c *config) { c.claim.Wait = d } }

// Expiry sets the age at which others pass a claim over: how long a lock stays taken after its
// process has ended. It must be the same in all processes. The default is 30 s. With CAS it is the lease of what
// this process takes.
func Expiry(d time.Duration) Option { return func(c *config) { c.claim.Expiry = d } }

// Skew sets by how much the clocks of two processes may differ. It must be the same in all processes. The
// default is 5/12 of the wait.
func Skew(d time.Duration) Option { return func(c *config) { c.claim.Skew = d } }

// Retries sets how often a request to the store is tried. The default is 3.
func Retries(n int) Option { return func(c *config) { c.claim.Retries = n } }

// RID names this process in its claims, for people, in at most 96 bytes. A part is added that makes it
// unique, also among the lives of the process. By default it says where the process runs.
func RID(rid string) Option { return func(c *config) { c.claim.RID = rid } }

// Group sets which locks exclude each other: those of one name in one group. The default is the
// name of the lockspace. A group that is set is that of the default space; a space S of Spaces then has group/S.
func Group(group string) Option { return func(c *config) { c.claim.Group = group } }

// CAS takes locks by conditional writes, where the store has them. It must be the same in all processes.
func CAS() Option { return func(c *config) { c.claim.CAS = true } }

// HoldOn keeps a lock after its release for some time, counted from its conditional write, for this
// process's own users: their next locks of the name need no write. Others wait that much
// longer; a request that does not want to wait is refused, up to eight times as long where the name is used all the time.
// It is 1 ms to 1 s, and a tenth of the expiry at most. It goes with CAS, and need not be the same in all processes. The default is 0, which is off.
func HoldOn(d time.Duration) Option { return func(c *config) { c.claim.HoldOn = d } }

// StoreClock dates claims by the store's clock, where it has one, so that the clocks of the processes
// need not agree.
func StoreClock() Option { return func(c *config) { c.claim.StoreClock = true } }

// Cleaner deletes expired claims from rows that are locked again. It is for stores that do not
// forget them by themselves, where processes crash often.
func Cleaner() Option { return func(c *config) { c.claim.Cleaner = true } }

// Spaces adds lockspaces to the default one, for Locker.Space.
func Spaces(names ...string) Option {
	return func(c *config) { c.spaces = append(c.spaces, names...) }
}

// Limits bounds what this process's own users may have. The default is that of node.Limits.
func Limits(l node.Limits) Option { return func(c *config) { c.limits = host.Limits(l) } }

// Logger sets where the locker logs. The default discards.
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

// Open makes a Locker over a store, and returns when its settings agree with those of all others
// that use the store. The store stays open when the Locker is closed. The error names what is wrong with an option
// or the store. It is an ErrConflict where others have other settings; where the store does not answer it is
// the context's, with what Open waited for.
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

// Session opens another session: a Locker with owners of its own, whose Close
// releases what is held through it alone. The Locker's Close closes it too.
func (l *Locker) Session(ctx context.Context) (holdfast.Locker, error) { return l.node.Session(ctx) }

// Settings returns the settings in use: with the defaults filled in, the name
// of this process, and the group of the default space.
func (l *Locker) Settings() Settings { return l.settings }

// timestamp returns a token as the time that it was made of, in microseconds.
func (l *Locker) timestamp(token holdfast.Token) int64 {
	settings := l.Settings()
	return settings.Timestamp(token)
}

// Class is the safety class of the locks, which holdfast.Require is compared with.
func (l *Locker) Class() holdfast.Class { return l.node.Spaces()[0].Class() }

// Assured returns for how long from now all holds in a space are safe even without another renewal, which
// happens by itself: until the first of the claims may expire. It is holdfast.Forever where nothing
// is held.
func (l *Locker) Assured(space string) time.Duration { return l.node.Assured(space) }

// Settle stops taking locks, and waits until the store has taken all releases; call Close after
// it. The error is the context's, with the space: what has not been released is free when
// its claims expire.
func (l *Locker) Settle(ctx context.Context) error { return l.node.SettleClaims(ctx) }

// Close ends the Locker: waits end with ErrClosed, and holds are released. It returns when the
// store has taken the releases, or has failed to within 5 s: then the locks are free when their claims expire.
func (l *Locker) Close() error { return l.node.Close() }
