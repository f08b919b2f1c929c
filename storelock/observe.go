package storelock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
)

// All observers of a name in one Locker or Operator share a reader, which looks at the name's row when the store reports
// a change, and every lookPause; at most once in leastPause. It passes each look to each of its observers, which makes states of what differs.

var _ holdfast.Observer = (*Locker)(nil)

// Observe observes a name of the default space: see [holdfast.Observer], and [Locker.Space] for other spaces. A store has
// no log of changes. The row of the name is read when the store reports a change, at most every 10 ms, and every 250 ms
// without one. What happens between two looks merges. State.Missed is set if more than one end, one grant and one value
// have merged, and if something differs after a failure of the store, which does not end the loop.
//
// Some changes leave no trace. With [CAS] a value that was set just before the end of its lock does not. Nor does a
// request that waited between two looks, or behind another request of its own process. A process with [HoldOn] is shown
// as one holder for as long as it keeps a lock for its own users, with the first token of that time. An observer that
// has not seen the row free before takes each holder for one with HoldOn if its own Locker has it, and for one without
// it otherwise.
//
// The Client is the process. Member, Owner and Reason are not in a store. With [CAS] a process that waits marks the row
// for all, so there is one Waiter without a Client. With claims the oldest claim counts as a hold when it has stood for
// the wait.
//
// All observers of a name share the reads of one Locker. A new one costs a read of its own, so its first state is not
// older than the call. The error is an ErrUnavailable if the store will never answer, as after its Close.
func (l *Locker) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return l.node.Observe(ctx, name)
}

// observes returns how names of a space are observed. The operators are there when the Locker is.
func (l *Locker) observes(space string) host.Observes {
	return func(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
		return l.operators[space].observe(ctx, space, name)
	}
}

// Observe observes a name, as [Locker.Observe] does. State.Space is the Operator's group. Before any process has locked
// anything, each look is for the settings, and the name is free.
func (o *Operator) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return o.observe(ctx, o.group, name)
}

func (o *Operator) observe(ctx context.Context, space, name string) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		fail := func(err error) {
			yield(holdfast.State{}, &holdfast.Error{Op: "observe", Space: space, Name: name, Err: err})
		}
		if err := holdfast.CheckName(name); err != nil {
			fail(err)
			return
		}
		w := o.observers.join(o, name)
		defer w.leave()
		for {
			state, err := w.next(ctx)
			switch {
			case err != nil && ctx.Err() != nil:
				yield(holdfast.State{}, ctx.Err())
				return
			case err != nil:
				fail(err)
				return
			}
			state.Space, state.Name = space, name
			if !yield(state, nil) {
				return
			}
		}
	}
}

// observers is the readers of one Operator. The zero value has none.
type observers struct {
	mu      sync.Mutex
	readers map[string]*reader // by name
}

// leastPause is the shortest time from one look at a row to the next one, however often the row changes.
const leastPause = 10 * time.Millisecond

// reader reads the row of a name for as long as it has observers.
type reader struct {
	operator *Operator
	name     string
	stop     context.CancelFunc
	over     chan struct{}         // closed at its end
	watchers map[*watcher]struct{} // guarded by the mutex of observers
	notices

	settings *Settings // nil: no process has locked anything
	watching bool      // the store reports changes
	last     *claim.Sight
}

// join adds an observer of a name.
func (all *observers) join(o *Operator, name string) *watcher {
	all.mu.Lock()
	defer all.mu.Unlock()
	r := all.readers[name]
	if r == nil {
		ctx, stop := context.WithCancel(context.Background())
		r = &reader{
			operator: o, name: name, settings: o.settings, stop: stop, over: make(chan struct{}),
			watchers: map[*watcher]struct{}{}, notices: newNotices(),
		}
		if all.readers == nil {
			all.readers = map[string]*reader{}
		}
		all.readers[name] = r
		go r.run(ctx) // its first look is that of w
	} else {
		r.notice()
	}
	w := &watcher{reader: r, ready: newNotices()}
	r.watchers[w] = struct{}{}
	return w
}

// leave ends an observer. The reader ends with the last one.
func (w *watcher) leave() {
	r := w.reader
	all := &r.operator.observers
	all.mu.Lock()
	delete(r.watchers, w)
	last := len(r.watchers) == 0
	if last {
		all.drop(r)
	}
	all.mu.Unlock()
	if last {
		r.stop()
		<-r.over
	}
}

// drop makes the next observer of a name start another reader. It is called with the mutex held.
func (all *observers) drop(r *reader) {
	if all.readers[r.name] == r {
		delete(all.readers, r.name)
	}
}

// joined returns the present observers.
func (r *reader) joined() (watchers []*watcher) {
	all := &r.operator.observers
	all.mu.Lock()
	defer all.mu.Unlock()
	//tidy:unordered each has its own states
	for w := range r.watchers {
		watchers = append(watchers, w)
	}
	return watchers
}

// run looks at the row until ctx ends, or the store refuses for good. An observer gets the looks that begin after it has
// joined, so that its first state is not older than that.
func (r *reader) run(ctx context.Context) {
	defer close(r.over)
	failures, gap := backoff.Backoff{Least: lookPause / 8, Most: 8 * lookPause}, false
	for {
		watchers := r.joined()
		before := r.last
		now, err := r.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, storage.ErrInvalid):
			r.fail(fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err))
			return
		case err != nil:
			gap = true
			if backoff.Sleep(ctx, failures.Next()) != nil {
				return
			}
			continue
		}
		missed := before != nil && r.settings != nil && r.settings.Missed(before, now)
		for _, w := range watchers {
			w.see(now, gap, missed)
		}
		r.last, gap = now, false
		failures.Reset()
		pause := lookPause
		if now.Due > 0 {
			pause = min(pause, now.Due)
		}
		if r.await(ctx, pause) != nil || backoff.Sleep(ctx, now.At+leastPause-r.operator.clock.Now()) != nil {
			return
		}
	}
}

// fail ends all observers with an error.
func (r *reader) fail(err error) {
	all := &r.operator.observers
	all.mu.Lock()
	all.drop(r)
	all.mu.Unlock()
	for _, w := range r.joined() {
		w.fail(err)
	}
}

// look reads the row, and before the first time has the store report its changes.
func (r *reader) look(ctx context.Context) (now *claim.Sight, err error) {
	o := r.operator
	if r.settings == nil {
		if r.settings, err = agreed(ctx, o.store, o.group); r.settings == nil {
			return &claim.Sight{At: o.clock.Now()}, err
		}
	}
	look := claim.Look{Micros: time.Now().UnixMicro(), Begun: o.clock.Now(), Ended: o.endings(ctx)}
	if r.settings.StoreClock {
		if look.Micros, err = o.store.Clock(ctx); err != nil {
			return nil, fmt.Errorf("read the store's clock: %w", err)
		}
	}
	s := r.settings.Selection(r.name, look.Micros)
	if !r.watching && o.store.Features().Watch {
		if err := o.store.Watch(ctx, s.Key, r.notice); err != nil {
			return nil, fmt.Errorf("watch the row of %q: %w", r.name, err)
		}
		r.watching = true
	}
	if look.Entries, err = o.store.Slice(ctx, s); err != nil {
		return nil, fmt.Errorf("read the row of %q: %w", r.name, err)
	}
	look.Done = o.clock.Now()
	return r.settings.See(&look, r.last)
}

// mostUnread is the maximum number of states that wait for a slow observer. A further one replaces them all.
const mostUnread = 64

// watcher is one observer.
type watcher struct {
	reader *reader
	ready  notices // there is something to read

	mu     sync.Mutex
	seen   *claim.Sight // nil before the first look
	last   holdfast.State
	missed bool // since the last state
	unread []holdfast.State
	err    error
}

// see makes states of a look. The end of a holder comes before the next holder, even if the look shows only that one.
func (w *watcher) see(now *claim.Sight, gap, missed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state, before := stateOf(now), w.seen
	w.seen = now
	if before == nil {
		w.put(state)
		return
	}
	w.missed = w.missed || missed
	if before.Held && now.Held && before.Token != now.Token {
		w.put(holdfast.State{Waiters: w.last.Waiters})
	}
	if slices.Equal(state.Holders, w.last.Holders) && slices.Equal(state.Waiters, w.last.Waiters) {
		return
	}
	state.Missed = w.missed || gap
	w.missed = false
	w.put(state)
}

// put adds a state to those that are unread. It is called with the mutex held.
func (w *watcher) put(state holdfast.State) {
	w.last = state
	if len(w.unread) == mostUnread {
		w.unread, state.Missed = nil, true
	}
	w.unread = append(w.unread, state)
	w.ready.notice()
}

func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	w.ready.notice()
}

// next waits for the next state.
func (w *watcher) next(ctx context.Context) (holdfast.State, error) {
	for {
		if err := ctx.Err(); err != nil {
			return holdfast.State{}, err
		}
		w.mu.Lock()
		unread, err := w.unread, w.err
		if len(unread) > 0 {
			w.unread = unread[1:]
		}
		w.mu.Unlock()
		switch {
		case len(unread) > 0:
			return unread[0], nil
		case err != nil:
			return holdfast.State{}, err
		}
		select {
		case <-w.ready.c:
		case <-ctx.Done():
		}
	}
}

// stateOf returns what a look shows as a State.
func stateOf(s *claim.Sight) (state holdfast.State) {
	if s.Held {
		state.Holders = []holdfast.Holder{{Client: s.RID, Value: s.Value, Token: s.Token, Mode: holdfast.ModeExclusive, Since: s.Since}}
	}
	for _, w := range s.Waiters {
		state.Waiters = append(state.Waiters, holdfast.Waiter{Client: w.RID, Mode: holdfast.ModeExclusive, Since: w.Since})
	}
	return state
}

// notices counts any number of notices as one.
type notices struct{ c chan struct{} }

func newNotices() notices { return notices{make(chan struct{}, 1)} }

func (n notices) notice() {
	select {
	case n.c <- struct{}{}:
	default:
	}
}

// await waits for a notice, or until the pause is over. The error is that of ctx.
func (n notices) await(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-n.c:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
