package holdfasttest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// mostUnread is the maximum number of states that an observer has not read. With one more it misses those, and the
// newest one says so.
const mostUnread = 1024

// observer is one observation of a name. The authority's mutex guards it.
type observer struct {
	client *client
	space  string
	name   string
	seen   sight            // the newest
	unread []holdfast.State // the newest last
	wake   chan struct{}    // has room for one signal that there is something to read
}

// sight is a state with the requests of its waiters.
type sight struct {
	holdfast.State
	requests []uint64
}

// Observe yields the current state of a name and each change of it, in order; see [holdfast.Observer]. It misses none,
// unless the caller has left more than 1,024 states unread: then the next one is the newest, and says so. While the
// locks are paused, releases are seen, and nothing is granted.
func (l *Locker) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		a := l.client.authority
		o, err := a.observe(l, name)
		if err != nil {
			yield(holdfast.State{}, err)
			return
		}
		defer a.leave(o)
		for {
			state, some, err := a.read(ctx, o)
			switch {
			case err != nil:
				yield(holdfast.State{}, err)
				return
			case some:
				if !yield(state, nil) {
					return
				}
				continue
			}
			select {
			case <-o.wake:
			case <-ctx.Done():
			}
		}
	}
}

// observe begins an observation.
func (a *authority) observe(l *Locker, name string) (*observer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := holdfast.CheckName(name)
	switch {
	case err != nil:
	case l.client.closed:
		err = holdfast.ErrClosed
	case a.tableOf(l.space) == nil:
		err = holdfast.ErrSpace
	}
	if err != nil {
		return nil, &holdfast.Error{Op: opObserve, Space: l.space, Name: name, Err: err}
	}
	o := &observer{client: l.client, space: l.space, name: name, wake: make(chan struct{}, 1)}
	o.seen = a.see(l.space, name)
	o.add(o.seen.State)
	a.observers = append(a.observers, o)
	return o, nil
}

// opObserve is the name of the call in errors.
const opObserve = "observe"

// leave ends an observation.
func (a *authority) leave(o *observer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.observers = slices.DeleteFunc(a.observers, func(other *observer) bool { return other == o })
}

// read takes the next state that the observer has not read, if there is one. The error is what ends the observation.
func (a *authority) read(ctx context.Context, o *observer) (state holdfast.State, some bool, err error) {
	if err := ctx.Err(); err != nil {
		return state, false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case o.client.closed:
		return state, false, &holdfast.Error{Op: opObserve, Space: o.space, Name: o.name, Err: holdfast.ErrClosed}
	case len(o.unread) == 0:
		return state, false, nil
	}
	state, o.unread = o.unread[0], o.unread[1:]
	return state, true, nil
}

// add puts a state behind those that are unread.
func (o *observer) add(state holdfast.State) {
	if len(o.unread) == mostUnread {
		o.unread, state.Missed = nil, true
	}
	o.unread = append(o.unread, state)
	o.signal()
}

// signal makes the observer read.
func (o *observer) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // it will
	}
}

// look shows the observers what has changed. The caller holds the mutex.
func (a *authority) look() {
	for _, o := range a.observers {
		now := a.see(o.space, o.name)
		for _, state := range a.between(&o.seen, &now) {
			o.add(state)
		}
		o.seen = now
	}
}

// see returns the state of a name. A holder whose hold limit has passed is none, although its table still waits for it.
func (a *authority) see(space, name string) sight {
	s := sight{State: holdfast.State{Space: space, Name: name}}
	shown := a.tableOf(space).Show(name)
	for _, g := range shown.Holders {
		if g.Revoked || g.Until != lock.Never && !a.holds(space, name, &g) {
			continue
		}
		s.Holders = append(s.Holders, holdfast.Holder{
			Client: g.Client, Owner: g.Owner, Reason: g.Reason, Value: g.Value,
			Token: g.Token, Mode: g.Mode, Units: g.Units, Since: a.wall(g.Since),
		})
	}
	slices.SortFunc(s.Holders, byToken)
	for _, w := range shown.Waiters {
		s.Waiters = append(s.Waiters, holdfast.Waiter{
			Client: w.Client, Owner: w.Owner, Reason: w.Reason, Mode: w.Mode, Units: w.Units, Since: a.wall(w.Since),
		})
		s.requests = append(s.requests, w.Request)
	}
	return s
}

func byToken(x, y holdfast.Holder) int { return cmp.Compare(x.Token, y.Token) }

// wall returns the wall time of a time of the tables.
func (a *authority) wall(at lock.Time) time.Time { return a.start.Add(at).Round(0).UTC() }

// holds reports whether a lock of a grant has not ended.
func (a *authority) holds(space, name string, g *lock.Grant) bool {
	return a.findRequest(space, name, g.Token, func(r *request) bool { return r.session.id == g.Session && r.lock.Check() == nil }) != nil
}

// findRequest returns a request that has a lock on a name with a token, and that fits; nil if there is none.
func (a *authority) findRequest(space, name string, token holdfast.Token, fits func(*request) bool) *request {
	//tidy:unordered locks with one token are one grant
	for _, r := range a.requests {
		if r.lock != nil && r.space == space && r.want.Name == name && r.lock.Token() == token && fits(r) {
			return r
		}
	}
	return nil
}

// between returns the states that lead from one to another, in order: the ends of holders, then each grant, which takes
// its request out of the queue, then the rest.
func (a *authority) between(before, after *sight) (steps []holdfast.State) {
	s := sight{State: before.State, requests: before.requests}
	s.Holders = slices.DeleteFunc(slices.Clone(s.Holders), func(h holdfast.Holder) bool { return !has(after, h.Token) })
	if len(s.Holders) < len(before.Holders) {
		steps = append(steps, s.State)
	}
	for _, h := range after.Holders {
		if has(before, h.Token) {
			continue
		}
		s.Holders = append(slices.Clone(s.Holders), h)
		slices.SortFunc(s.Holders, byToken)
		if r := a.findRequest(s.Space, s.Name, h.Token, func(*request) bool { return true }); r != nil {
			if at := slices.Index(s.requests, r.id); at >= 0 {
				s.Waiters, s.requests = slices.Delete(slices.Clone(s.Waiters), at, at+1), slices.Delete(slices.Clone(s.requests), at, at+1)
			}
		}
		steps = append(steps, s.State)
	}
	if !slices.Equal(s.Holders, after.Holders) || !slices.Equal(s.Waiters, after.Waiters) {
		steps = append(steps, after.State)
	}
	return steps
}

// has reports whether a state has a holder with a token.
func has(s *sight, token holdfast.Token) bool {
	return slices.ContainsFunc(s.Holders, func(h holdfast.Holder) bool { return h.Token == token })
}
