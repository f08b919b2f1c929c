package lockertest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// authority is the smallest thing that keeps the promises: one mutex, a list of
// holders and a queue per name. It is the reference that the suite is tried on, and
// with a fault it is a mutant that the suite must catch.
type authority struct {
	fault           string // "" is correct; see mutants_test.go
	spaces          []string
	class           holdfast.Class
	maxWaiters      int
	locksPerSession int
	start           time.Time
	looked          chan struct{}  // closed by end
	behind          sync.WaitGroup // what the fault "goroutine left" has left

	mu       sync.Mutex
	names    map[place]*entry
	lasts    map[place]string // the values that were set last
	count    holdfast.Token
	requests uint64
	watchers []*watcher
}

type place struct{ space, name string }

type entry struct {
	holders, waiters []*want
	count            holdfast.Token
}

// want is one request: it waits, then it holds, or it has an error.
type want struct {
	holdfast.Request
	authority *authority
	session   *session
	place     place
	values    context.Context
	id        uint64
	token     holdfast.Token
	lock      *holdfast.Lock
	err       error
	done      chan struct{} // closed when lock or err is set
	hold      *time.Timer
	amends    atomic.Int64 // how many values were asked for
}

type session struct {
	wants    []*want
	closed   bool
	deadline atomic.Int64
}

func newAuthority(fault string) *authority {
	return &authority{
		fault: fault, spaces: []string{holdfast.DefaultSpace, "second", "third"}, class: holdfast.Fenced,
		maxWaiters: 300, locksPerSession: 100, start: time.Now(), names: map[place]*entry{}, lasts: map[place]string{},
		looked: make(chan struct{}),
	}
}

// end lets what a fault has left behind end, and waits for it.
func (a *authority) end() {
	close(a.looked)
	a.behind.Wait()
}

func (a *authority) fits(e *entry, w *want) bool {
	if a.fault == "no exclusion" {
		return true
	}
	units := w.Units
	for _, h := range e.holders {
		units += h.Units
		if h.Mode != w.Mode || h.Mode == holdfast.ModeExclusive {
			return false
		}
	}
	return w.Mode != holdfast.ModeSlots || units <= w.Capacity
}

// request decides a request or queues it. It reports the number of those before it, or -1.
func (a *authority) request(w *want) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.names[w.place]
	if e == nil {
		e = &entry{}
		a.names[w.place] = e
	}
	a.requests++
	w.id = a.requests
	if err := a.refusal(e, w); err != nil {
		w.decide(err)
		return -1
	}
	w.session.wants = append(w.session.wants, w)
	if same := a.entered(e, w); same != nil {
		a.share(w, same)
		a.grant(e, w, same.token)
		return -1
	}
	if (len(e.waiters) == 0 || a.fault == "overtaking") && a.fits(e, w) {
		a.grant(e, w, 0)
		return -1
	}
	e.waiters = append(e.waiters, w)
	a.changed(w.place)
	return len(e.waiters) - 1
}

// refusal says why the request can neither be granted nor wait.
func (a *authority) refusal(e *entry, w *want) error {
	if w.session.closed && a.fault != "closed is forgotten" {
		return holdfast.ErrClosed
	}
	if same := a.entered(e, w); same != nil {
		if same.Mode != w.Mode || same.Units != w.Units || same.Capacity != w.Capacity {
			if a.fault != "reentry in another mode" {
				return holdfast.ErrConflict
			}
		}
		return nil
	}
	for _, other := range slices.Concat(e.holders, e.waiters) {
		differs := other.Mode == w.Mode && other.Capacity != w.Capacity
		if differs && a.fault != "capacity ignored" {
			return holdfast.ErrConflict
		}
	}
	if limit := a.locksPerSession; len(w.session.wants) >= limit && a.fault != "no limit of locks" {
		return &holdfast.LimitError{Limit: "locks_per_session", Value: int64(limit)}
	}
	free := len(e.waiters) == 0 && a.fits(e, w)
	if !free && w.Try && a.fault != "try waits" {
		return holdfast.ErrHeld
	}
	if limit := a.maxWaiters; !free && len(e.waiters) >= limit {
		if a.fault == "limit without a name" {
			return holdfast.ErrLimit
		}
		return &holdfast.LimitError{Limit: "waiters_per_name", Value: int64(limit)}
	}
	return nil
}

// entered returns the hold of the same owner.
func (a *authority) entered(e *entry, w *want) *want {
	if a.fault == "reentry waits" && len(e.waiters) > 0 {
		return nil
	}
	for _, h := range e.holders {
		mine := h.session == w.session || a.fault == "owners of all sessions are one"
		if w.Owner != "" && h.Owner == w.Owner && mine {
			return h
		}
	}
	return nil
}

func (a *authority) grant(e *entry, w *want, token holdfast.Token) {
	if token == 0 || a.fault == "reentry has a new token" {
		a.count++
		e.count++
		token = a.count
	}
	switch a.fault {
	case "one token for all":
		token = 7
	case "tokens begin anew":
		token = e.count
	}
	w.token = token
	a.begin(w)
	end := holdfast.Forever
	if w.Hold > 0 && a.fault != "hold limit ignored" {
		end = w.Now() + w.Hold
		w.hold = time.AfterFunc(w.Hold, func() { a.finish(w, holdfast.HoldLimit) })
	}
	if a.fault == "hold limit passes on early" && w.Hold > 0 {
		end = holdfast.Forever
		w.hold = time.AfterFunc(w.Hold, func() { a.finish(w, nil) })
	}
	space := w.place.space
	w.lock = holdfast.NewLock(holdfast.Grant{
		Space: space, Name: w.Name, Owner: w.Owner, Shape: holdfast.Shape{Mode: w.Mode, Units: w.Units, Capacity: w.Capacity}, Token: w.token,
	}, w.id, end, w, w.values)
	e.holders = append(e.holders, w)
	w.decide(nil)
	a.changed(w.place)
}

func (w *want) decide(err error) {
	w.err = err
	close(w.done)
}

// promote grants what fits at the head of the queue.
func (a *authority) promote(e *entry, p place) {
	for i := 0; i < len(e.waiters); {
		at := i
		if a.fault == "last come first served" {
			at = len(e.waiters) - 1
		}
		w := e.waiters[at]
		if !a.fits(e, w) {
			if a.fault != "overtaking" {
				return
			}
			i++
			continue
		}
		e.waiters = slices.Delete(e.waiters, at, at+1)
		a.grant(e, w, 0)
		if a.fault == "one wakeup a release" {
			return
		}
	}
	if len(e.holders) == 0 && len(e.waiters) == 0 {
		delete(a.names, p)
	}
}

// drop removes a request from the place where it is, and wakes those that it kept waiting.
func (a *authority) drop(w *want) bool {
	e := a.names[w.place]
	if e == nil {
		return false
	}
	before := len(e.holders) + len(e.waiters)
	waited := slices.Contains(e.waiters, w)
	gone := func(other *want) bool { return other == w }
	e.holders, e.waiters = slices.DeleteFunc(e.holders, gone), slices.DeleteFunc(e.waiters, gone)
	if w.hold != nil {
		w.hold.Stop()
	}
	if a.fault == "one unlock frees all" && w.Owner != "" {
		e.holders = slices.DeleteFunc(e.holders, func(h *want) bool { return h.token == w.token })
	}
	w.session.wants = slices.DeleteFunc(w.session.wants, gone)
	if waited || a.fault != "end comes with the next grant" {
		a.changed(w.place)
	}
	mute := a.fault == "cancel wakes no waiter" && waited || a.fault == "release wakes no waiter" && !waited
	if !mute {
		a.promote(e, w.place)
	}
	a.changed(w.place)
	return len(e.holders)+len(e.waiters) != before
}

// finish ends a grant because of err, or a wait with it.
func (a *authority) finish(w *want, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finishLocked(w, err)
}

func (a *authority) finishLocked(w *want, err error) {
	silent := a.fault == "loss is not reported" && err == holdfast.SessionExpired ||
		a.fault == "hold limit passes on early"
	if w.lock != nil {
		if !silent {
			w.lock.End(err)
		}
	} else if w.err == nil {
		w.decide(err)
	}
	a.drop(w)
}

// cancel ends a wait, or releases what was granted meanwhile.
func (a *authority) cancel(w *want, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.lock == nil {
		if w.err == nil {
			w.decide(err)
		}
		a.drop(w)
		return
	}
	w.err = err
	if a.fault == "grant stranded" {
		return
	}
	w.lock.End(nil)
	a.drop(w)
}
