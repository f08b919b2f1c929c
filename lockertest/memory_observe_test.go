package lockertest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// watcher is one observation. The authority's mutex guards it.
type watcher struct {
	place  place
	last   holdfast.State
	unread []holdfast.State
	wake   chan struct{}
}

// mostUnread is what a watcher may leave unread.
const mostUnread = 512

func (m *memory) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		a := m.authority
		err := holdfast.CheckName(name)
		if err == nil || a.fault == "input unchecked" {
			err = m.check(&holdfast.Request{})
		}
		w := &watcher{place: place{m.space, name}, wake: make(chan struct{}, 1)}
		a.watch(w)
		defer a.unwatch(w)
		for err == nil {
			var state holdfast.State
			var some bool
			if state, some, err = a.read(ctx, m, w); some && !yield(state, nil) {
				return
			}
			if some || err != nil {
				continue
			}
			select {
			case <-w.wake:
			case <-ctx.Done():
			}
		}
		if a.fault != "observation ends without an error" {
			yield(holdfast.State{}, m.fail("observe", name, err))
		}
	}
}

// watch begins an observation with the present state.
func (a *authority) watch(w *watcher) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.last = a.shown(w.place)
	if a.fault != "no current state" {
		w.unread = []holdfast.State{w.last}
	}
	a.watchers = append(a.watchers, w)
}

func (a *authority) unwatch(w *watcher) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers = slices.DeleteFunc(a.watchers, func(other *watcher) bool { return other == w })
}

// read returns what is next: a state, an error, or neither yet.
func (a *authority) read(ctx context.Context, m *memory, w *watcher) (state holdfast.State, some bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return state, false, ctx.Err()
	case m.session.closed && a.fault != "closed is observed on":
		return state, false, holdfast.ErrClosed
	case len(w.unread) == 0:
		return state, false, nil
	}
	state, w.unread = w.unread[0], w.unread[1:]
	return state, true, nil
}

// shown returns the state of a name. The locks of one owner are one holder.
func (a *authority) shown(p place) holdfast.State {
	s := holdfast.State{Space: p.space, Name: p.name}
	e := a.names[p]
	if e == nil {
		return s
	}
	seen := map[holdfast.Token]bool{}
	for _, h := range e.holders {
		if seen[h.token] && a.fault != "each lock is a holder" {
			continue
		}
		seen[h.token] = true
		s.Holders = append(s.Holders, holdfast.Holder{
			Client: "memory", Owner: h.Owner, Reason: h.Reason, Value: h.Value, Token: h.token, Mode: h.Mode, Units: h.Units, Since: time.Unix(int64(h.id), 0),
		})
	}
	slices.SortFunc(s.Holders, func(x, y holdfast.Holder) int { return int(x.Token) - int(y.Token) })
	for _, w := range e.waiters {
		s.Waiters = append(s.Waiters, holdfast.Waiter{Client: "memory", Owner: w.Owner, Reason: w.Reason, Mode: w.Mode, Units: w.Units, Since: time.Unix(int64(w.id), 0)})
	}
	switch a.fault {
	case "units are not observed":
		for i := range s.Holders {
			s.Holders[i].Units = 0
		}
	case "queue is not observed":
		s.Waiters = nil
	case "queue is observed backwards":
		slices.Reverse(s.Waiters)
	case "always wanted":
		s.Waiters = append(s.Waiters, holdfast.Waiter{Client: "none"})
	}
	return s
}

// changed shows the present state of a name to those that observe it.
func (a *authority) changed(p place) {
	if a.fault == "observers see one space" {
		for _, w := range a.watchers {
			if w.place.name == p.name {
				w.place = p
			}
		}
	}
	now := a.shown(p)
	for _, w := range a.watchers {
		if w.place != p || describe(now) == describe(w.last) && a.fault != "states come twice" {
			continue
		}
		w.last, now.Missed = now, a.fault == "always missed"
		if len(w.unread) == mostUnread {
			w.unread, now.Missed = nil, a.fault != "gaps are hidden"
		}
		w.unread = append(w.unread, now)
		w.signal()
	}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it will read anyway
	}
}

// wakeWatchers lets observations look whether their session is closed.
func (a *authority) wakeWatchers() {
	for _, w := range a.watchers {
		w.signal()
	}
}

func (w *want) ObserveLock(ctx context.Context, l *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	m := &memory{authority: w.authority, session: w.session, space: w.place.space}
	return m.Observe(ctx, l.Name())
}
