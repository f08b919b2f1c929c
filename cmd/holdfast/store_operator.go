package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
	"github.com/holdfast-locks/holdfast/storelock"
)

// operator answers commands about locks: the Admin of a member, or a storeOperator.
type operator interface {
	List(ctx context.Context, space, prefix, after string, limit int) (*schema.LockPage, error)
	Show(ctx context.Context, space, lock string) (*schema.Lock, error)
	Break(ctx context.Context, space, lock string, token holdfast.Token, reason, by string) (*schema.Broken, error)
}

var (
	_ operator = (*client.Admin)(nil)
	_ operator = (*storeOperator)(nil)
)

// askOperator asks the member in c's flags, or the store if they name one, a question about locks, within --timeout.
func askOperator[T any](ctx context.Context, p *program, c *cli.Command, question func(context.Context, operator) (T, error)) (answer T, err error) {
	err = p.withOperator(ctx, c, func(ctx context.Context, o operator) error {
		return within(ctx, c, func(ctx context.Context) (err error) {
			answer, err = question(ctx, o)
			return err
		})
	})
	return answer, err
}

// withOperator passes the operator in c's flags to a function.
func (p *program) withOperator(ctx context.Context, c *cli.Command, do func(context.Context, operator) error) error {
	order, err := p.storeOrder(c)
	switch {
	case err != nil:
		return err
	case order == nil:
		return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error { return do(ctx, reads(c, admin)) })
	}
	if c.Bool("stale") {
		return usageError(calledAs(c), "--stale is for a member; every answer of a store is current: leave it out")
	}
	limit, err := timeoutOf(c)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, calledAs(c), order.url, limit)
	if err != nil {
		return err
	}
	o := &storeOperator{c: c, order: order, store: store}
	err = o.explained(ctx, do(ctx, o))
	if closing := store.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("%s: close store %s: %w", calledAs(c), open.Redacted(order.url), closing))
	}
	return err
}

// storeOperator is the operator of the locks in a store. Its answers have what the rows show: the process that holds a
// lock, as holder, client and session.
type storeOperator struct {
	c     *cli.Command
	order *storeOrder
	store storage.Store
}

// explained gives an error of the store its exit code, and leaves others as they are.
func (o *storeOperator) explained(ctx context.Context, err error) error {
	if !errors.Is(err, storage.ErrRefused) && !errors.Is(err, storage.ErrUnknown) && !errors.Is(err, storage.ErrInvalid) {
		return err
	}
	return unanswered(ctx, o.c, open.Redacted(o.order.url), err)
}

func (o *storeOperator) of(ctx context.Context, space string) (*storelock.Operator, error) {
	operator, err := storelock.Operate(ctx, o.store, storelock.GroupOf(space, o.order.claims.Group))
	return operator, o.late(err)
}

// late returns the error of a store that has not answered within --timeout, and other errors as they are.
func (o *storeOperator) late(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	limit := o.c.Duration("timeout")
	return &holdfast.Error{Op: calledAs(o.c), Err: fmt.Errorf("%w: no answer from store %s within %v", holdfast.ErrUnavailable, open.Redacted(o.order.url), limit)}
}

// List returns all locks that are held, in one page.
func (o *storeOperator) List(ctx context.Context, space, prefix, _ string, _ int) (*schema.LockPage, error) {
	locks, err := o.of(ctx, space)
	if err != nil {
		return nil, err
	}
	all, err := locks.Locks(ctx, prefix)
	if err != nil {
		return nil, o.late(err)
	}
	page := &schema.LockPage{}
	for i := range all {
		page.Locks = append(page.Locks, lockOf(space, &all[i]))
	}
	return page, nil
}

// Show returns one lock.
func (o *storeOperator) Show(ctx context.Context, space, lock string) (*schema.Lock, error) {
	locks, err := o.of(ctx, space)
	if err != nil {
		return nil, err
	}
	shown, err := locks.Show(ctx, lock)
	if err != nil {
		return nil, o.late(err)
	}
	return lockOf(space, &shown), nil
}

// Break has the holder of a lock give it up, and waits until it has, within ctx.
func (o *storeOperator) Break(ctx context.Context, space, lock string, token holdfast.Token, _, _ string) (*schema.Broken, error) {
	locks, err := o.of(ctx, space)
	if err != nil {
		return nil, err
	}
	broken, err := locks.Break(ctx, lock, token)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w: %s was asked to give it up and has not yet; it does so at its next renewal, and at the latest %v after it has ended; ask again with a longer --timeout",
			holdfast.ErrUnavailable, visible(broken.RID), short(broken.Lease))
		return nil, &holdfast.Error{Op: calledAs(o.c), Space: space, Name: lock, Err: err}
	case err != nil && !errors.Is(err, holdfast.ErrNotHeld):
		return nil, err
	case err != nil:
		return nil, &holdfast.Error{Op: calledAs(o.c), Space: space, Name: lock, Err: err}
	}
	return &schema.Broken{Broken: []*schema.Grant{grantOf(&broken)}}, nil
}

// lockOf returns a lock as the API shows it.
func lockOf(space string, shown *storelock.Shown) *schema.Lock {
	lock := &schema.Lock{Space: space, Name: shown.Name, Mode: schema.Mode(holdfast.ModeExclusive)}
	if shown.RID == "" {
		return lock
	}
	lock.Token, lock.Holders = uint64(shown.Token), []*schema.Grant{grantOf(shown)}
	for i, w := range shown.Waiters {
		wait := &schema.Wait{Session: w.RID, Client: w.RID, Mode: lock.Mode, Position: int32(i)}
		if w.RID == "" {
			wait.Client = "not counted; may have gone"
		} else {
			wait.Since = timestamppb.New(w.Since)
		}
		lock.Waiters = append(lock.Waiters, wait)
	}
	return lock
}

func grantOf(shown *storelock.Shown) *schema.Grant {
	grant := &schema.Grant{
		Session: shown.RID, Client: shown.RID, Mode: schema.Mode(holdfast.ModeExclusive), Token: uint64(shown.Token),
		Value: shown.Value, Revision: shown.Revision,
	}
	if !shown.Since.IsZero() {
		grant.Since = timestamppb.New(shown.Since)
	}
	if !shown.Until.IsZero() {
		grant.Until = timestamppb.New(shown.Until)
	}
	return grant
}

// usesStore reports whether the flags of c name a store, and no member instead.
func (p *program) usesStore(c *cli.Command) bool {
	return c.String("store") != "" && (p.typed("store") || c.String("server") == "")
}

// storeless lists why a command asks members alone, for users of a store.
var storeless = map[string]string{
	"release": "the session of a lock in a store begins with \"store.\"",
	"value":   "the session of a lock in a store begins with \"store.\"",
	"renew":   "the session of a lock in a store begins with \"store.\"",
	"top":     "`holdfast locks --watch` follows the locks of a store",
	"suspend": "a store has nothing to suspend: to keep its locks from others, take them with `holdfast acquire`",
	"resume":  "a store has nothing to resume: `holdfast locks` lists its locks",
	"status":  "`holdfast store show` shows how a store's locks are kept, and `holdfast locks` lists them",
}

// anyStoreFlag is the flag of a command for which the store does not matter, or that rejects it.
func anyStoreFlag() cli.Flag {
	store := textFlag("store", "a store")
	store.Hidden = true
	return store
}

// refuseStores has the commands that only members can answer reject a store, instead of asking the default member.
func (p *program) refuseStores(command *cli.Command) {
	has := func(flag string) bool {
		return slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flag) })
	}
	if has("server") && !has("store") {
		command.Flags = append(command.Flags, anyStoreFlag())
		before := command.Before
		command.Before = func(ctx context.Context, c *cli.Command) (context.Context, error) {
			if p.usesStore(c) {
				return ctx, p.storeless(c)
			}
			if before != nil {
				return before(ctx, c)
			}
			return ctx, nil
		}
	}
	for _, below := range command.Commands {
		p.refuseStores(below)
	}
}

// storeless returns the error of a command that has nothing to ask a store.
func (p *program) storeless(c *cli.Command) error {
	given := "--store is given"
	if !p.typed("store") {
		given = storeVariable + " is set"
	}
	more := ""
	if hint := storeless[c.Name]; hint != "" {
		more = "; " + hint
	}
	return usageError(calledAs(c), "%s, and this command asks a member, which a store does not have: give --server ADDRESS instead%s", given, more)
}
