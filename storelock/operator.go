package storelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
)

// Shown is a lock as its row in the store shows it.
type Shown struct {
	Name string
	claim.State
}

// Operator reads and breaks the locks of a store, and takes none: it is what commands such as holdfast locks use. Its
// methods are safe for concurrent use.
type Operator struct {
	store     storage.Store
	group     string
	settings  *Settings // nil: no process has locked anything
	clock     clock.Clock
	observers observers
}

// Operate returns an Operator for the locks of a group: the name of a lockspace, unless the processes set option Group.
// How the locks are written is read from the settings that stand next to them.
func Operate(ctx context.Context, store storage.Store, group string) (*Operator, error) {
	settings, err := agreed(ctx, store, group)
	if err != nil {
		return nil, err
	}
	return &Operator{store: store, group: group, settings: settings, clock: clock.Real()}, nil
}

// agreed returns the settings that stand next to the locks, for a group; nil if no process has locked anything.
func agreed(ctx context.Context, store storage.Store, group string) (settings *Settings, err error) {
	written, err := StoredSettings(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, w := range written {
		if !w.Accepted {
			continue
		}
		if settings, err = claim.ParseSettings(w.Settings); err != nil {
			return nil, err
		}
		settings.Group = group
	}
	return settings, nil
}

// Locks returns the locks whose names begin with prefix and that are held or wanted, in the order of their names. It
// reads all rows of the store. The error is an ErrUnsupported if the store cannot do that.
func (o *Operator) Locks(ctx context.Context, prefix string) (all []Shown, err error) {
	if o.settings == nil {
		return nil, nil
	}
	scanner, can := o.store.(storage.Scanner)
	if !can {
		return nil, fmt.Errorf("%w: store %s cannot list its rows", holdfast.ErrUnsupported, o.store.Features().Name)
	}
	micros := time.Now().UnixMicro()
	rows, ended := &storage.Scan{Prefix: claim.Row(o.settings.Group, prefix), Serial: o.settings.CAS}, o.endings(ctx)
	err = scanner.Scan(ctx, rows, func(key string, entries []storage.Entry) error {
		name, is := o.settings.NameOf(key)
		if !is {
			return nil
		}
		state, err := o.inspect(entries, micros, ended)
		if err == nil && state.RID != "" {
			all = append(all, Shown{name, state})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the locks: %w", err)
	}
	slices.SortFunc(all, func(a, b Shown) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Show returns one lock. It is free if its RID is empty, as when its holder has ended and the store knows that.
func (o *Operator) Show(ctx context.Context, name string) (Shown, error) {
	if o.settings == nil {
		return Shown{Name: name}, nil
	}
	micros := time.Now().UnixMicro()
	_, entries, err := o.read(ctx, name)
	if err != nil {
		return Shown{Name: name}, err
	}
	state, err := o.inspect(entries, micros, o.endings(ctx))
	return Shown{name, state}, err
}

// endings returns a function that reports whether a process has ended, if the store knows such ends. It asks the store
// once about each process.
func (o *Operator) endings(ctx context.Context) func(rid string) (bool, error) {
	attender, can := o.store.(storage.Attender)
	if !can || !o.store.Features().Ends {
		return func(string) (bool, error) { return false, nil }
	}
	known := map[string]bool{}
	return func(rid string) (bool, error) {
		if ended, is := known[rid]; is {
			return ended, nil
		}
		asking, stop := context.WithCancel(ctx)
		defer stop()
		ended, err := attender.Await(asking, rid, func() {})
		if err != nil {
			return false, fmt.Errorf("ask whether process %q has ended: %w", rid, err)
		}
		known[rid] = ended
		return ended, nil
	}
}

// inspect returns the state of a lock from the entries of its row. What an ended process has left there holds nothing:
// the next process takes the lock at once.
func (o *Operator) inspect(entries []storage.Entry, micros int64, hasEnded func(rid string) (bool, error)) (claim.State, error) {
	for {
		state := o.settings.Inspect(entries, micros)
		if state.RID == "" {
			return state, nil
		}
		ended, err := hasEnded(state.RID)
		switch {
		case err != nil || !ended:
			return state, err
		case o.settings.CAS:
			return claim.State{}, nil
		}
		entries = claim.Without(entries, state.RID)
	}
}

// read returns the state of a lock, and its row's entries.
func (o *Operator) read(ctx context.Context, name string) (claim.State, []storage.Entry, error) {
	micros := time.Now().UnixMicro()
	entries, err := o.store.Slice(ctx, o.settings.Selection(name, micros))
	if err != nil {
		return claim.State{}, nil, fmt.Errorf("read the row of %q: %w", name, err)
	}
	return o.settings.Inspect(entries, micros), entries, nil
}

// Break takes a lock away from its holder, and returns the holder as it was. The row asks the holder to give it up; the
// holder sees that at its next renewal, within a third of the expiry, and releases when its user has stopped. Break
// returns when it has released, or has let its claim expire. A token other than 0 breaks only that grant. The error is an
// ErrNotHeld if the lock is not held, or not under the token; if ctx ends first, it is the context's, and the request
// stands.
func (o *Operator) Break(ctx context.Context, name string, token holdfast.Token) (Shown, error) {
	if o.settings == nil {
		return Shown{Name: name}, fmt.Errorf("%w: no process has locked anything in this store", holdfast.ErrNotHeld)
	}
	first, entries, err := o.read(ctx, name)
	switch {
	case err != nil:
		return Shown{Name: name}, err
	case first.RID == "":
		return Shown{Name: name}, holdfast.ErrNotHeld
	case token != 0 && token != first.Token:
		return Shown{Name: name}, fmt.Errorf("%w under token %v: the holder has token %v", holdfast.ErrNotHeld, token, first.Token)
	}
	w := &wearing{operator: o, name: name, first: first, notices: newNotices()}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.store.Features().Watch {
		key := o.settings.Selection(name, 0).Key
		if err := o.store.Watch(watching, key, w.notice); err != nil {
			return Shown{Name: name}, fmt.Errorf("watch the row of %q: %w", name, err)
		}
	}
	for {
		gone, err := w.look(ctx, entries)
		if gone || err != nil {
			return Shown{name, first}, err
		}
		if entries, err = w.next(ctx); err != nil {
			return Shown{name, first}, err
		}
	}
}

// lookPause is how often a row is read again that is waited for, or observed: the store may not report changes, or miss one.
const lookPause = 250 * time.Millisecond

// wearing is the wait for the end of a broken hold.
type wearing struct {
	operator *Operator
	name     string
	first    claim.State
	notices

	cell  string        // with CAS, its contents when they last changed
	since time.Duration // since when they are as they are
}

// next reads the row when it has changed, or after a while.
func (w *wearing) next(ctx context.Context) ([]storage.Entry, error) {
	if err := w.await(ctx, lookPause); err != nil {
		return nil, err
	}
	_, entries, err := w.operator.read(ctx, w.name)
	return entries, err
}

// look asks the holder to give the lock up, unless the row does already, and reports whether its hold is over.
func (w *wearing) look(ctx context.Context, entries []storage.Entry) (over bool, err error) {
	o := w.operator
	now := o.settings.Inspect(entries, time.Now().UnixMicro())
	if now.RID != w.first.RID || now.Token < w.first.Token {
		return true, nil
	}
	if !o.settings.CAS {
		if now.Breaking {
			return false, nil // it expires by the wall clock, or is deleted
		}
		return false, o.store.Mutate(ctx, o.settings.BreakingClaim(claim.Row(o.settings.Group, w.name), &now))
	}
	cell := claim.CellOf(entries)
	if now.Token != w.first.Token {
		return true, nil // the next grant of the same process
	}
	if !claim.SameHold(cell, w.cell) {
		w.cell, w.since = cell, o.clock.Now()
	}
	key := claim.Row(o.settings.Group, w.name)
	switch {
	case o.clock.Now()-w.since > now.Over():
		swapped, err := o.store.Swap(ctx, claim.Freeing(key, cell))
		return swapped.Done, err
	case now.Breaking:
		return false, nil
	}
	// If it has changed meanwhile, the next look sees that.
	_, err = o.store.Swap(ctx, claim.Breaking(key, cell))
	return false, err
}

// Release releases a lock that a process held under a token, once that process has ended: a guardian calls it for the
// process that it has guarded. Nothing happens if the process does not hold the lock.
func (o *Operator) Release(ctx context.Context, name, rid string) error {
	if o.settings == nil {
		return nil
	}
	key := claim.Row(o.settings.Group, name)
	for {
		if !o.settings.CAS {
			entries, err := o.store.Slice(ctx, &storage.Slice{Key: key})
			if mutate := o.settings.FreeingClaims(key, entries, rid); err == nil && mutate != nil {
				err = o.store.Mutate(ctx, mutate)
			}
			return released(name, err)
		}
		state, entries, err := o.read(ctx, name)
		if err != nil || state.RID != rid {
			return released(name, err)
		}
		swapped, err := o.store.Swap(ctx, claim.Freeing(key, claim.CellOf(entries)))
		// A process that waits may have recorded that meanwhile. After an unknown outcome the cell shows it.
		if swapped.Done || err != nil && !errors.Is(err, storage.ErrUnknown) || ctx.Err() != nil {
			return released(name, cmp.Or(err, ctx.Err()))
		}
	}
}

func released(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("release %q: %w", name, err)
}

// GroupOf returns the group of a lockspace's locks: its name, or what option Group makes of it.
func GroupOf(space, group string) string {
	switch {
	case group == "":
		return space
	case space == holdfast.DefaultSpace:
		return group
	}
	return strings.Join([]string{group, space}, "/")
}
