package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/config"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
	"github.com/holdfast-locks/holdfast/storelock"
)

// The variables of --store and --store-options.
const (
	storeVariable   = "HOLDFAST_STORE"
	optionsVariable = "HOLDFAST_STORE_OPTIONS"
	serverVariable  = "HOLDFAST_SERVER"
)

// lockStoreFlags are the flags for locks in a store.
func lockStoreFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("store", "`URL` of a store that has the locks, instead of a member: postgres://…, redis://…, etcd://…, cassandra://…, or the folder of one: /FOLDER"),
		textFlag("store-options", "`OPTION=VALUE[,…]` of locks in a store: wait, expiry, skew, retries, unit, rid, group, clock, cas, hold_on, cleaner"),
	}
}

// storeOrder is the store for the locks, instead of a member.
type storeOrder struct {
	url     string
	options string // as given
	claims  *storelock.Settings
}

// storeOrder parses --store; nil means a member. A flag overrides the other's variable: the command of a lock inherits
// its parent's variables.
func (p *program) storeOrder(c *cli.Command) (*storeOrder, error) {
	url, typed, server := c.String("store"), p.typed("store"), p.typed("server")
	switch {
	case typed && server:
		return nil, usageError(calledAs(c), "--store and --server exclude each other")
	case url == "" && c.String("store-options") != "" && p.typed("store-options"):
		return nil, usageError(calledAs(c), "--store-options need --store URL")
	case url == "" || server:
		return nil, nil
	case !typed && c.String("server") != "":
		return nil, usageError(calledAs(c), "%s and %s are both set; unset one of them, or give --store or --server", storeVariable, serverVariable)
	case p.typed("ttl"):
		return nil, usageError(calledAs(c), "--ttl is for sessions at a member; with --store use --store-options expiry=D")
	}
	return newStoreOrder(c, url)
}

// newStoreOrder returns the store of a URL with the options in c's flags. The owner of the request names the process in
// its claims.
func newStoreOrder(c *cli.Command, url string) (*storeOrder, error) {
	o := &storeOrder{url: url, options: c.String("store-options")}
	claims, err := config.StoreSettings(url, o.options)
	if err != nil {
		return nil, misconfigured("%s: %w", calledAs(c), err)
	}
	o.claims = claims.(*storelock.Settings)
	if owner := c.String("owner"); o.claims.RID == "" && owner != "" {
		_ = o.claims.List().Set("rid", owner, true) // an owner that is no rid leaves the default
	}
	return o, nil
}

// typed reports whether a flag is on the command line, which the parser does not distinguish from its variable.
func (p *program) typed(flag string) bool {
	args := p.args
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && strings.TrimPrefix(name, "-") == flag
	})
}

// lender grants the locks: a client of a member, or a store's locker.
type lender interface {
	LockAll(ctx context.Context, names []string, o ...holdfast.Option) ([]*holdfast.Lock, error)
	// Shutdown waits until all releases are recorded, and closes.
	Shutdown(ctx context.Context) error
	Close() error
	Session() string
	TTL() time.Duration      // how long locks last without renewal
	Deadline() time.Duration // when they end without renewal
}

// storeLender is a lender of locks in a store.
type storeLender struct {
	holdfast.Locker // of the space
	lookup
	locker   *storelock.Locker
	store    storage.Store
	space    string
	settings storelock.Settings
	clock    clock.Clock
}

// openLender opens the store and its locker, with more options, until ctx ends.
func (o *storeOrder) openLender(ctx context.Context, space string, limit time.Duration, c clock.Clock, more ...storelock.Option) (*storeLender, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	store, err := openStore(ctx, "lock", o.url, limit)
	if err != nil {
		return nil, err
	}
	locker, err := storelock.Open(ctx, store, append(more, storelock.Claims(*o.claims), storelock.Spaces(space))...)
	if err != nil {
		err = errors.Join(o.refused(err, limit), store.Close())
		return nil, err
	}
	return &storeLender{locker.Space(space), &storeOperator{order: o, store: store}, locker, store, space, locker.Settings(), c}, nil
}

// refused gives an error of opening the store its exit code: only a store that does not answer is worth a retry.
func (o *storeOrder) refused(err error, limit time.Duration) error {
	where := open.Redacted(o.url)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, holdfast.ErrUnavailable):
		return &exitError{exitUnavailable, fmt.Errorf("lock: store %s: %w: no answer within %v: %w", where, holdfast.ErrUnavailable, limit, err)}
	}
	return misconfigured("lock: store %s: %w", where, err)
}

// attend makes the files that attending returns, before the guardian is prepared.
func (l *storeLender) attend(ctx context.Context) error {
	if store, is := l.store.(storage.Attender); is {
		return store.Attend(ctx, l.settings.RID)
	}
	return nil
}

// attending returns the files by which a lender's store knows that this process lives. The guardian keeps them, so the
// locks of a killed process stay taken until the guardian has ended the command.
func attending(from lender) []*os.File {
	l, is := from.(*storeLender)
	if !is {
		return nil
	}
	store, is := l.store.(interface{ Attending() []*os.File })
	if !is {
		return nil
	}
	return store.Attending()
}

// Shutdown waits until the store has recorded the releases, and closes it.
func (l *storeLender) Shutdown(ctx context.Context) error {
	if err := l.locker.Settle(ctx); err != nil {
		return err
	}
	return l.Close()
}

// Close releases the locks, and closes the store.
func (l *storeLender) Close() error { return errors.Join(l.locker.Close(), l.store.Close()) }

// Session returns this process's name in its claims.
func (l *storeLender) Session() string { return l.settings.RID }

// TTL returns how long a command may rely on a lock that is not renewed: claims are renewed at a third of their expiry,
// and half of it leaves time for a few tries.
func (l *storeLender) TTL() time.Duration { return l.settings.Expiry / 2 }

// Deadline returns when the command must have ended: one wait before the first claim may expire, when it is given up.
func (l *storeLender) Deadline() time.Duration {
	if left := l.locker.Assured(l.space); left != holdfast.Forever {
		return l.clock.Now() + left - l.settings.Wait
	}
	return holdfast.Forever
}

// deadlineOf returns when a lock ends on the clock of Deadline: at that, or at its hold limit.
func (l *storeLender) deadlineOf(lock *holdfast.Lock) time.Duration {
	end := l.Deadline()
	if until := lock.Until(); !until.IsZero() {
		end = min(end, l.clock.Now()+time.Until(until))
	}
	return end
}

// environment returns the command's variables about the store. A URL with a password is included only if it was in the
// environment before.
func (o *storeOrder) environment(before []string, space string) []string {
	env := slices.DeleteFunc(before, func(variable string) bool {
		return strings.HasPrefix(variable, serverVariable+"=") || strings.HasPrefix(variable, optionsVariable+"=") ||
			strings.HasPrefix(variable, storeVariable+"=") && variable != storeVariable+"="+o.url
	})
	if open.Redacted(o.url) == o.url {
		env = append(env, storeVariable+"="+o.url)
	}
	return append(env, optionsVariable+"="+o.options, "HOLDFAST_SPACE="+cmp.Or(space, holdfast.DefaultSpace))
}
