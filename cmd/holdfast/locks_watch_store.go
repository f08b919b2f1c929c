package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// scanPause is the pause between two scans of a store.
const scanPause = time.Second

// watchStore prints the present state of a store, and then what each scan has found changed, until it is interrupted. A
// store has no feed: what begins and ends between two scans is not seen.
func (p *program) watchStore(ctx context.Context, c *cli.Command) error {
	return p.withOperator(ctx, c, func(ctx context.Context, o operator) error {
		w := p.newWatcher(c)
		var before map[string]*schema.Lock
		for {
			now := map[string]*schema.Lock{}
			err := listFrom(ctx, c, o, func(page []*schema.Lock) error {
				for _, lock := range page {
					now[lock.Name] = lock
				}
				return nil
			})
			if err == nil {
				if err = w.scanned(before, now); err != nil {
					return err
				}
				before = now
				pause(ctx, scanPause)
			} else if store, is := o.(*storeOperator); is {
				err = w.resumes(ctx, store.explained(ctx, err))
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
		}
	})
}

// scanned prints what a scan has found: the whole state the first time and after an interruption, and then changes.
func (w *watcher) scanned(before, now map[string]*schema.Lock) error {
	interrupted := !w.lost.IsZero()
	if err := w.resumed(); err != nil {
		return err
	}
	w.out.now = time.Now()
	if before == nil || interrupted {
		var page []*schema.Lock
		for _, name := range slices.Sorted(maps.Keys(now)) {
			page = append(page, now[name])
		}
		if err := w.present(page); err != nil {
			return err
		}
		return w.show()
	}
	for _, c := range changes(before, now, w.out.now) {
		if err := w.print(c.event, w.out.now, c.since); err != nil {
			return err
		}
	}
	return w.show()
}

// change is an event that two scans show, and since when lasted what it ends.
type change struct {
	event *schema.WatchEvent
	since *timestamppb.Timestamp
}

// changes returns what has changed between two scans, in the order of the names: first the end of a hold, however it has
// ended, then a grant or another value, then waits.
func changes(before, now map[string]*schema.Lock, at time.Time) (all []change) {
	stamp := timestamppb.New(at)
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(now))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, is := before[name], now[name]
		old, held := holderOf(was), holderOf(is)
		goes := old != nil && !sameGrant(old, held)
		if goes {
			all = append(all, change{holdEvent("released", was, old, stamp), old.Since})
		}
		switch {
		case held == nil:
		case old == nil || goes:
			all = append(all, change{valueEvent("granted", is, held, stamp), waitOf(was, held.Session).GetSince()})
		case old.Value != held.Value || old.Revision != held.Revision:
			all = append(all, change{valueEvent("value", is, held, stamp), nil})
		}
		all = append(all, waitChanges(was, is, held, stamp)...)
	}
	return all
}

// waitChanges returns the requests that have begun to wait between two scans, and those that have given up.
func waitChanges(was, is *schema.Lock, held *schema.Grant, at *timestamppb.Timestamp) (all []change) {
	event := func(kind string, lock *schema.Lock, wait *schema.Wait) {
		e := waitingEvent(lock, wait)
		e.Event, e.Time = kind, at
		if kind != "waiting" {
			e.Why = ""
		}
		all = append(all, change{e, wait.Since})
	}
	for _, wait := range was.GetWaiters() {
		granted := held != nil && held.Session == wait.Session
		if wait.Session != "" && !granted && waitOf(is, wait.Session) == nil {
			event("cancelled", was, wait)
		}
	}
	for _, wait := range is.GetWaiters() {
		if waitOf(was, wait.Session) == nil {
			event("waiting", is, wait)
		}
	}
	return all
}

// holderOf returns the holder of a lock in a store; nil if there is none.
func holderOf(lock *schema.Lock) *schema.Grant {
	if lock == nil || len(lock.Holders) == 0 {
		return nil
	}
	return lock.Holders[0]
}

// waitOf returns the wait of a process for a lock; nil if there is none.
func waitOf(lock *schema.Lock, session string) *schema.Wait {
	for _, wait := range lock.GetWaiters() {
		if wait.Session == session {
			return wait
		}
	}
	return nil
}

// sameGrant reports whether two scans show one hold. A claim that is renewed has a higher token, and an expiry; the
// token of a cell stays.
func sameGrant(old, held *schema.Grant) bool {
	return held != nil && old.Session == held.Session && (old.Token == held.Token || held.Until != nil)
}

// valueEvent returns an event about a hold that has its value.
func valueEvent(kind string, lock *schema.Lock, g *schema.Grant, at *timestamppb.Timestamp) *schema.WatchEvent {
	e := holdEvent(kind, lock, g, at)
	e.Value, e.Revision = g.Value, g.Revision
	return e
}

// holdEvent returns an event about a hold.
func holdEvent(kind string, lock *schema.Lock, g *schema.Grant, at *timestamppb.Timestamp) *schema.WatchEvent {
	return &schema.WatchEvent{
		Event: kind, Time: at, Space: lock.Space, Name: lock.Name, Owner: g.Owner, Token: g.Token, Member: g.Member, Session: g.Session,
		Client: g.Client, Reason: g.Reason, Holder: cmp.Or(g.Owner, g.Client),
	}
}
