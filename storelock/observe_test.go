package storelock_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/folder"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storelock"
)

// silent is a store that reports no changes.
type silent struct{ storage.Store }

func (s silent) Features() storage.Features {
	f := s.Store.Features()
	f.Watch = false
	return f
}

// gated is a store whose reads wait, once it is shut, until the test lets them, each one.
type gated struct {
	storage.Store
	shut  atomic.Bool
	turns chan struct{}
}

func (g *gated) Slice(ctx context.Context, s *storage.Slice) ([]storage.Entry, error) {
	if g.shut.Load() {
		select {
		case g.turns <- struct{}{}:
		case <-ctx.Done():
			return nil, errors.Join(storage.ErrRefused, ctx.Err())
		}
	}
	return g.Store.Slice(ctx, s)
}

// observeGated observes a name by an operator whose reads wait for the test. It reads while it waits for a state.
func observeGated(t *testing.T, store storage.Store, name string) *observation {
	t.Helper()
	gate := &gated{Store: store, turns: make(chan struct{})}
	operator := operate(t, gate)
	gate.shut.Store(true)
	o := observe(t, operator, name)
	o.turns = gate.turns
	return o
}

// eachStore runs a test by claims and by conditional writes, over a store that reports changes and one that does not.
func eachStore(t *testing.T, test func(t *testing.T, store storage.Store, o []storelock.Option)) {
	t.Parallel()
	for name, o := range map[string][]storelock.Option{"claims": quick(), "cas": quick(storelock.CAS())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, memory.New(memory.Config{}), slices.Clip(o))
		})
		t.Run(name+" silent", func(t *testing.T) {
			t.Parallel()
			test(t, silent{memory.New(memory.Config{})}, slices.Clip(o))
		})
	}
}

// told is a value of an observer's loop.
type told struct {
	state holdfast.State
	err   error
}

// observation is an observer on its own goroutine.
type observation struct {
	*testing.T
	name  string
	tells chan told
	turns chan struct{} // of a gated store: it may be read while the test waits for a state
	stop  context.CancelFunc
	last  holdfast.State
	top   holdfast.Token
}

// observe begins to observe a name.
func observe(t *testing.T, by holdfast.Observer, name string) *observation {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	o := &observation{T: t, name: name, tells: make(chan told), stop: stop}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(o.tells)
		for state, err := range by.Observe(ctx, name) {
			select {
			case o.tells <- told{state, err}:
			case <-t.Context().Done():
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return o
}

// next waits for the next state, and compares it with the one before.
func (o *observation) next() holdfast.State {
	o.Helper()
	for {
		select {
		case <-o.turns:
			continue
		case next, more := <-o.tells:
			if !more || next.err != nil {
				o.Fatalf("the observation of %q ends with %v, %t", o.name, next.err, more)
			}
			o.judge(&next.state)
			return next.state
		}
	}
}

func (o *observation) judge(now *holdfast.State) {
	o.Helper()
	before := o.last
	o.last = *now
	holder, held := now.Leader()
	former, was := before.Leader()
	switch {
	case now.Name != o.name || now.Space == "" || len(now.Holders) > 1:
		o.Errorf("a state of %q is %+v", o.name, now)
	case held && was && former.Token != holder.Token:
		o.Errorf("token %d follows token %d without an end", holder.Token, former.Token)
	case held && !was && holder.Token <= o.top:
		o.Errorf("token %d comes after token %d", holder.Token, o.top)
	case slices.Equal(now.Holders, before.Holders) && slices.Equal(now.Waiters, before.Waiters) && o.top != 0:
		o.Errorf("a state comes twice: %+v", now)
	}
	if held {
		o.top = max(o.top, holder.Token)
		if holder.Mode != holdfast.ModeExclusive || holder.Client == "" || holder.Since.IsZero() {
			o.Errorf("the holder is %+v", holder)
		}
	}
}

// until waits for a state, and reports whether one was missed on the way.
func (o *observation) until(fits func(holdfast.State) bool) (missed bool) {
	o.Helper()
	for {
		state := o.next()
		missed = missed || state.Missed
		if fits(state) {
			return missed
		}
	}
}

func isFree(s holdfast.State) bool { return len(s.Holders) == 0 && len(s.Waiters) == 0 }

func isHeld(lock *holdfast.Lock, value string) func(holdfast.State) bool {
	return func(s holdfast.State) bool {
		holder, held := s.Leader()
		return held && holder.Token == lock.Token() && holder.Value == value
	}
}

func locked(t *testing.T, locks holdfast.Locker, name string, o ...holdfast.Option) *holdfast.Lock {
	t.Helper()
	lock, err := locks.Lock(t.Context(), name, o...)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func unlocked(t *testing.T, locks ...*holdfast.Lock) {
	t.Helper()
	for _, lock := range locks {
		if err := lock.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func valued(t *testing.T, lock *holdfast.Lock, value string) {
	t.Helper()
	if err := lock.SetValue(t.Context(), value); err != nil {
		t.Fatal(err)
	}
}

// TestObserve: each step that is waited for is seen, once, with the grant's own token, and nothing was missed; from the
// process that locks, from another one, and by an operator.
func TestObserve(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		before := observe(t, operate(t, store), "job") // no process has locked anything
		if first := before.next(); !isFree(first) || first.Missed {
			t.Errorf("in a new store: %+v", first)
		}
		locks, other := opened(t, store, append(o, storelock.RID("holder"))...), opened(t, store, o...)
		all := []*observation{observe(t, locks, "job"), observe(t, other.Space("").(holdfast.Observer), "job"), observe(t, operate(t, store), "job")}
		for _, one := range all {
			if first := one.next(); !isFree(first) || first.Missed {
				t.Errorf("a free name: %+v", first)
			}
		}
		all = append(all, before)
		see := func(fits func(holdfast.State) bool) {
			t.Helper()
			for _, one := range all {
				if one.until(fits) {
					t.Errorf("states were missed before %+v", one.last)
				}
			}
		}
		for range 2 {
			lock := locked(t, locks, "job", holdfast.Value("one"))
			see(isHeld(lock, "one"))
			late := observe(t, other, "job")
			if first := late.next(); !isHeld(lock, "one")(first) || first.Missed || !strings.HasPrefix(first.Holders[0].Client, "holder") {
				t.Errorf("a held name: %+v", first)
			}
			late.stop()
			unlocked(t, lock)
			see(isFree)
		}
		lock := locked(t, locks, "job")
		see(isHeld(lock, ""))
		for _, value := range []string{"two", "three"} {
			valued(t, lock, value)
			see(isHeld(lock, value))
		}
		unlocked(t, lock)
		see(isFree)
	})
}

// TestObserveMerges: what happens between two looks merges. One end and one grant were not missed, two were; and so were
// values, if there may have been more than one.
func TestObserveMerges(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		locks := opened(t, store, o...)
		first := locked(t, locks, "job")
		one := observeGated(t, store, "job")
		if state := one.next(); !isHeld(first, "")(state) {
			t.Fatalf("it is %+v", state)
		}
		change := func(steps string) *holdfast.Lock {
			last := first
			for _, step := range steps {
				switch step {
				case 'u':
					unlocked(t, last)
				case 'l':
					last = locked(t, locks, "job")
				case 'v':
					valued(t, last, fmt.Sprint(time.Now().UnixNano()))
				}
			}
			return last
		}
		valued(t, first, "one")
		one.until(isHeld(first, "one"))
		for _, tt := range []struct {
			steps  string
			missed bool
		}{
			{"ul", false},
			{"ulul", true},
			{"ul", false},
			{"ululul", true},
			{"v", true}, // values of all locks of a session are numbered together
			{"v", false},
			{"vv", true},
			{"v", false},
			{"ul", false},
			{"ulv", true},
		} {
			before := one.last.Holders[0]
			first = change(tt.steps)
			ended, missed := false, false
			for state := (holdfast.State{}); ; ended = ended || len(state.Holders) == 0 {
				state = one.next()
				missed = missed || state.Missed
				if holder, held := state.Leader(); held && holder.Token == first.Token() && holder != before {
					break
				}
			}
			if ended != strings.Contains(tt.steps, "u") || missed != tt.missed {
				t.Errorf("%s: the end was seen: %t; missed: %t", tt.steps, ended, missed)
			}
		}
		// The name is free twice, and the grant in between is missed: the next state says so.
		unlocked(t, first)
		one.until(isFree)
		first = change("lul")
		if !one.until(isHeld(first, "")) {
			t.Error("a grant between two looks was not missed")
		}
	})
}

// failing is a store that refuses reads while it fails.
type failing struct {
	storage.Store
	fails   atomic.Bool
	refused chan struct{} // has room for one
}

func (f *failing) Slice(ctx context.Context, s *storage.Slice) ([]storage.Entry, error) {
	if !f.fails.Load() {
		return f.Store.Slice(ctx, s)
	}
	select {
	case f.refused <- struct{}{}:
	default:
	}
	return nil, storage.ErrRefused
}

// outage does something while reads are refused: one before it, and another one after it.
func (f *failing) outage(during func()) {
	f.fails.Store(true)
	<-f.refused
	during()
	select {
	case <-f.refused:
	default:
	}
	<-f.refused
	f.fails.Store(false)
}

// TestObserveFailingStore: a failure of the store does not end the loop. What differs after it comes with Missed.
func TestObserveFailingStore(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		locks := opened(t, store, o...)
		lock := locked(t, locks, "job")
		flaw := &failing{Store: store, refused: make(chan struct{}, 1)}
		one := observe(t, operate(t, flaw), "job")
		one.until(isHeld(lock, ""))
		flaw.outage(func() {
			unlocked(t, lock)
			lock = locked(t, locks, "job")
		})
		if !one.until(isHeld(lock, "")) {
			t.Error("what happened during the failure was not missed")
		}
		flaw.outage(func() {})
		unlocked(t, lock)
		one.until(isFree)
	})
}

// TestObserveTheDead: the holder of a process that is dead is none when its claim has expired; its renewals are no
// states.
func TestObserveTheDead(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) {
		dying, o := &mortal{Store: store}, append(o, storelock.Expiry(time.Second))
		locks, next := opened(t, dying, o...), opened(t, store, o...)
		all := []*observation{observe(t, next, "job"), observe(t, operate(t, silent{store}), "job")}
		lock := locked(t, locks, "job")
		for _, one := range all {
			one.until(isHeld(lock, ""))
		}
		dying.dead.Store(true)
		t.Cleanup(func() { dying.dead.Store(false) }) // its Close need not wait
		for _, one := range all {
			if state := one.next(); !isFree(state) || state.Missed {
				t.Errorf("after the holder: %+v", state)
			}
		}
		if dying.refused.Load() == 0 {
			t.Error("the holder has not tried to renew its lock")
		}
		again := locked(t, next, "job")
		for _, one := range all {
			one.until(isHeld(again, ""))
		}
	})
}

// ending is a store that learns that processes have ended.
type ending struct {
	storage.Store
	ended atomic.Value // of string
}

func (e *ending) Features() storage.Features {
	f := e.Store.Features()
	f.Ends = true
	return f
}

func (e *ending) Attend(context.Context, string) error { return nil }

func (e *ending) Await(_ context.Context, rid string, _ func()) (bool, error) {
	return rid == e.ended.Load(), nil
}

// TestObserveTheEnded: the holder of a process that has ended is none at once.
func TestObserveTheEnded(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		locks := opened(t, store, o...)
		lock := locked(t, locks, "job")
		knows := &ending{Store: store}
		one := observe(t, operate(t, knows), "job")
		one.until(isHeld(lock, ""))
		settings := locks.Settings()
		knows.ended.Store(settings.RID)
		if state := one.next(); !isFree(state) || state.Missed {
			t.Errorf("after the holder: %+v", state)
		}
	})
}

// TestObserveBreak: a broken lock has no holder, before its holder has released it.
func TestObserveBreak(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		locks := opened(t, store, append(o, storelock.Expiry(time.Hour))...) // no renewal comes
		lock := locked(t, locks, "job")
		operator := operate(t, store)
		one := observe(t, operator, "job")
		one.until(isHeld(lock, ""))
		ctx, cancel := context.WithCancel(t.Context())
		broken := make(chan error, 1)
		go func() {
			_, err := operator.Break(ctx, "job", lock.Token())
			broken <- err
		}()
		if state := one.next(); !isFree(state) || state.Missed {
			t.Errorf("after the break: %+v", state)
		}
		cancel()
		if err := <-broken; !errors.Is(err, context.Canceled) || lock.Check() != nil {
			t.Errorf("the break: %v; the holder: %v", err, lock.Check())
		}
	})
}

// TestObserveOrder: while processes take turns, tokens are seen in their order, each from a grant to its end; and no lock
// that was not granted is seen.
func TestObserveOrder(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		const processes, rounds = 3, 5
		watcher := opened(t, store, o...)
		one := observe(t, watcher, "job")
		one.next()
		var all sync.WaitGroup
		var mu sync.Mutex
		granted := map[holdfast.Token]bool{}
		for range processes {
			locks := opened(t, store, o...)
			all.Go(func() {
				for range rounds {
					lock, err := locks.Lock(t.Context(), "job")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					granted[lock.Token()] = true
					mu.Unlock()
					if err := lock.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var last sync.WaitGroup
		last.Go(func() {
			all.Wait()
			lock, err := watcher.Lock(t.Context(), "job", holdfast.Value("last"))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			granted[lock.Token()] = true
			mu.Unlock()
		})
		var seen []holdfast.Token
		one.until(func(s holdfast.State) bool {
			holder, held := s.Leader()
			if held {
				seen = append(seen, holder.Token)
			}
			return holder.Value == "last"
		})
		last.Wait()
		for _, token := range seen {
			if settings := watcher.Settings(); settings.CAS && !granted[token] {
				t.Errorf("token %d was seen and not granted; seen are %v", token, seen)
			}
		}
	})
}

// TestObserveKept: a process that holds on shows the first token of what it keeps, and its successor a higher one.
func TestObserveKept(t *testing.T) {
	t.Parallel()
	store := newStore()
	keeper := opened(t, store, quick(storelock.CAS(), storelock.HoldOn(50*time.Millisecond))...)
	other := opened(t, store, quick(storelock.CAS())...)
	// Each observer sees the free row first, so it knows whether the next token is one of a block.
	unlocked(t, locked(t, other, "job"))
	all := []*observation{observe(t, keeper, "job"), observe(t, other, "job")}
	see := func(fits func(holdfast.State) bool) {
		t.Helper()
		for _, one := range all {
			one.until(fits)
		}
	}
	see(isFree)
	for range 3 {
		for _, locks := range []holdfast.Locker{keeper, other} {
			lock := locked(t, locks, "job")
			see(isHeld(lock, ""))
			unlocked(t, lock)
			see(isFree)
		}
	}
}

// TestObserveShared: all observers of a name in one process share each read of the row.
func TestObserveShared(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		const observers = 20
		gate := &gated{Store: store, turns: make(chan struct{})}
		locks := opened(t, store, o...)
		first := locked(t, locks, "job")
		operator := operate(t, gate)
		var all []*observation
		for range observers {
			all = append(all, observe(t, operator, "job"))
		}
		for _, one := range all {
			one.until(isHeld(first, ""))
		}
		gate.shut.Store(true)
		<-gate.turns // it is the one that was under way, or the first that waits
		<-gate.turns // and this one begins after it
		unlocked(t, first)
		<-gate.turns
		for _, one := range all { // no other read is allowed
			one.until(isFree)
		}
		for _, one := range all[1:] {
			one.stop()
		}
		lock := locked(t, locks, "job")
		all[0].turns = gate.turns
		all[0].until(isHeld(lock, ""))
	})
}

// TestObserveSlowly: a caller that does not read is not waited for, and the next state that it reads says so.
func TestObserveSlowly(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, store *memory.Store, o []storelock.Option) {
		gate := &gated{Store: store, turns: make(chan struct{})}
		locks := opened(t, store, append(o, storelock.Expiry(time.Minute))...)
		lock := locked(t, locks, "job")
		operator := operate(t, gate)
		next, stop := iter.Pull2(operator.Observe(t.Context(), "job"))
		defer stop()
		if state, err, _ := next(); err != nil || !isHeld(lock, "")(state) {
			t.Fatalf("the first state is %+v, %v", state, err)
		}
		const values = 100
		gate.shut.Store(true)
		for n := range values {
			valued(t, lock, fmt.Sprint(n))
			<-gate.turns // the reader has passed on the look before
		}
		gate.shut.Store(false)
		last, missed := -1, false
		for last < values-1 {
			state, err, _ := next()
			if err != nil || len(state.Holders) != 1 {
				t.Fatalf("the state is %+v, %v", state, err)
			}
			now, err := strconv.Atoi(state.Holders[0].Value)
			if err != nil || now <= last || now > last+1 && !state.Missed {
				t.Errorf("value %d is followed by %+v", last, state)
			}
			last, missed = now, missed || state.Missed
		}
		if !missed {
			t.Error("an observer that has not read has missed nothing")
		}
	})
}

// ends returns the error that ends an observation, which comes after so many states.
func ends(t *testing.T, states int, by holdfast.Observer, ctx context.Context, name string) (err error) {
	t.Helper()
	count := 0
	for state, failure := range by.Observe(ctx, name) {
		if failure == nil {
			count++
			continue
		}
		if err != nil || state.Name != "" || state.Space != "" {
			t.Errorf("a second error, or a state with it: %+v, %v after %v", state, failure, err)
		}
		err = failure
	}
	if count != states {
		t.Errorf("%d states come before %v, want %d", count, err, states)
	}
	return err
}

// endWith closes a Locker, with which its own observer and others end.
func endWith(t *testing.T, locks *storelock.Locker, others ...holdfast.Observer) {
	t.Helper()
	all := append(others, locks)
	closed, first := make(chan error, len(all)), make(chan struct{}, len(all))
	for _, by := range all {
		go func() {
			for _, err := range by.Observe(t.Context(), "job") {
				if err != nil {
					closed <- err
					return
				}
				first <- struct{}{}
			}
		}()
	}
	for range all {
		<-first
	}
	if err := locks.Close(); err != nil {
		t.Fatal(err)
	}
	for range all {
		if err := <-closed; !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestObserveEnds: each end has its error, which is the last value.
func TestObserveEnds(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		locks := opened(t, store, o...)
		session, err := locks.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range locks.Observe(ctx, "job") {
			break
		}
		for _, err := range locks.Observe(ctx, "job") {
			if cancel(); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		operator := operate(t, store)
		if err := ends(t, 0, operator, ctx, "job"); !errors.Is(err, context.Canceled) {
			t.Errorf("under a context that has ended: %v", err)
		}
		for _, by := range []holdfast.Observer{locks, operator, session.(holdfast.Observer)} {
			if err := ends(t, 0, by, t.Context(), "a\nb"); !errors.Is(err, holdfast.ErrName) {
				t.Errorf("an invalid name: %v", err)
			}
		}
		if err := ends(t, 0, locks.Space("none").(holdfast.Observer), t.Context(), "job"); !errors.Is(err, holdfast.ErrSpace) {
			t.Errorf("an unknown space: %v", err)
		}
		there := locks.Space("billing").(holdfast.Observer)
		for state, err := range there.Observe(t.Context(), "job") {
			if err != nil || state.Space != "billing" || state.Name != "job" {
				t.Errorf("in another space: %+v, %v", state, err)
			}
			break
		}
		endWith(t, locks, there, session.(holdfast.Observer))
		if err := ends(t, 0, locks, t.Context(), "job"); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("at a Locker that is closed: %v", err)
		}
		one := observe(t, operator, "job")
		one.next()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if last := <-one.tells; !errors.Is(last.err, holdfast.ErrUnavailable) {
			t.Errorf("over a store that is closed: %+v", last)
		}
		if err := ends(t, 0, operator, t.Context(), "job"); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("over a store that was closed: %v", err)
		}
	})
}

// TestWanted: a lock is wanted when another process waits for its name, and not before.
func TestWanted(t *testing.T) {
	eachStore(t, func(t *testing.T, store storage.Store, o []storelock.Option) {
		locks, other := opened(t, store, o...), opened(t, store, o...)
		lock, calm := locked(t, locks, "job"), locked(t, locks, "calm")
		one := observe(t, locks, "job")
		one.next()
		wanted, never := lock.Wanted(), calm.Wanted()
		select {
		case <-wanted:
			t.Error("a lock is wanted that is waited for by no process")
		default:
		}
		var next sync.WaitGroup
		next.Go(func() {
			if lock, err := other.Lock(t.Context(), "job"); err != nil || lock.Unlock(t.Context()) != nil {
				t.Errorf("the process that waits: %v", err)
			}
		})
		<-wanted
		one.until(func(s holdfast.State) bool { return len(s.Holders) == 1 && len(s.Waiters) == 1 })
		unlocked(t, lock, calm)
		next.Wait()
		select {
		case <-never:
			t.Error("a lock was wanted that no process has waited for")
		default:
		}
	})
}

// TestObserveFolder: processes that share a folder see each other's locks, and the end of one at once.
func TestObserveFolder(t *testing.T) {
	t.Parallel()
	url := "folder://" + t.TempDir() + "/locks?sync=false"
	handle := func() storage.Store {
		store, err := folder.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		return store
	}
	store := handle()
	locks, other := opened(t, store, quick()...), opened(t, handle(), quick()...)
	all := []*observation{observe(t, other, "job"), observe(t, operate(t, handle()), "job")}
	for _, value := range []string{"one", "two"} {
		lock := locked(t, locks, "job", holdfast.Value(value))
		for _, one := range all {
			if one.until(isHeld(lock, value)) {
				t.Errorf("states were missed before %+v", one.last)
			}
		}
		unlocked(t, lock)
		for _, one := range all {
			if one.until(isFree) {
				t.Errorf("states were missed before %+v", one.last)
			}
		}
	}
}
