package lockertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast"
)

func observeChecks() []check {
	all := []check{
		{name: "observe_current_state", run: (*stage).observeCurrent},
		{name: "observe_grants_values_and_releases", run: (*stage).observeChanges},
		{name: "observe_waiters", need: needFIFO, run: (*stage).observeWaiters},
		{name: "observe_shared_and_slots", need: needs(needShared, needSlots), run: (*stage).observeSeveral},
		{name: "observe_reentry", need: needReentry, run: (*stage).observeReentry},
		{name: "observe_each_holder", run: (*stage).observeEach},
		{name: "observe_broken_locks", need: needBreak, run: (*stage).observeBroken},
		{name: "observe_hold_limits", need: needHold, run: (*stage).observeHoldLimit},
		{name: "observe_slowly", run: (*stage).observeSlowly},
		{name: "observe_ends", run: (*stage).observeEnds},
		{name: "observe_bad_names", run: (*stage).observeBadNames},
		{name: "observe_closed", run: (*stage).observeClosed},
		{name: "observe_spaces", need: needSpaces, run: (*stage).observeSpaces},
		{name: "observe_elsewhere", need: needElsewhere, run: (*stage).observeElsewhere},
		{name: "observe_wanted", need: needFIFO, run: (*stage).observeWanted},
	}
	for i := range all {
		all[i].run = withoutGap(all[i].run)
		if need := all[i].need; need != nil {
			all[i].need = needs(needObserve, need)
		} else {
			all[i].need = needObserve
		}
	}
	return all
}

func needObserve(c Caps) string { return when(c.NoObserve, "names cannot be observed") }

// observeCurrent checks that an observation begins with the present state, of a free name and of a held one.
func (s *stage) observeCurrent() {
	one, two := s.locker(), s.locker()
	free := s.observe(two, s.name("free"))
	defer free.end()
	if first := free.judge.last; len(first.Holders) != 0 || len(first.Waiters) != 0 {
		s.Errorf("a free name is observed as %q", describe(first))
	}
	lock := s.lock(one, s.name(), holdfast.Value("first"), holdfast.Reason("to be seen"))
	s.setValue(lock, "second")
	for _, locks := range []holdfast.Locker{one, two} {
		held := s.observe(locks, s.name())
		first := held.judge.last
		leader, is := first.Leader()
		if !is || len(first.Holders) != 1 || leader.Token != lock.Token() || leader.Value != "second" || leader.Reason != "to be seen" && !s.caps.ObserveMerges ||
			leader.Mode != holdfast.ModeExclusive || leader.Client+leader.Member == "" || leader.Since.IsZero() {
			s.Errorf("a name that is held under token %v is observed as %q", lock.Token(), describe(first))
		}
		held.end()
	}
	s.unlock(lock)
}

// observeChanges checks that each grant, each value and each release is observed once, and in order.
func (s *stage) observeChanges() {
	sessions := s.lockers(2)
	for _, by := range sessions {
		name := s.name(by == sessions[0])
		o := s.observe(by, name)
		o.until("as free", isFree)
		want := []string{""}
		for round := range 4 {
			lock := s.lock(sessions[round/2], name, holdfast.Value("0"))
			want = append(want, heldAs(lock.Token(), "0"))
			for n := range 3 {
				value := strconv.Itoa(n + 1)
				s.setValue(lock, value)
				want = append(want, heldAs(lock.Token(), value))
			}
			s.unlock(lock)
			want = append(want, "")
		}
		last := s.lock(sessions[0], name, holdfast.Value("last"))
		want = append(want, heldAs(last.Token(), "last"))
		got := []string{""}
		for state := o.judge.last; holdersOf(state) != want[len(want)-1]; {
			if state = o.next(); holdersOf(state) != got[len(got)-1] {
				got = append(got, holdersOf(state))
			}
		}
		if o.merges() && !isPart(got, want) || !o.merges() && !slices.Equal(got, want) {
			s.Errorf("%q is observed as %q, want %q", name, got, want)
		}
		s.unlock(last)
		o.until("as free", isFree)
		o.end()
	}
}

func isFree(s holdfast.State) bool { return len(s.Holders) == 0 && len(s.Waiters) == 0 }

// observeWaiters checks that the queue is observed as it grows and shrinks, by grants and by those that give up.
func (s *stage) observeWaiters() {
	one, two := s.locker(), s.locker()
	o := s.observe(two, s.name())
	defer o.end()
	waits := func(holder holdfast.Token, reasons ...string) {
		s.Helper()
		o.until(fmt.Sprintf("under token %v with the waiters %q", holder, reasons), func(state holdfast.State) bool {
			return len(state.Holders) == 1 && state.Holders[0].Token == holder && slices.Equal(reasonsOf(state), reasons)
		})
	}
	held := s.lock(one, s.name())
	waits(held.Token())
	first := s.queue(one, s.name(), holdfast.Reason("first"))
	waits(held.Token(), "first")
	ctx, giveUp := context.WithCancel(s.ctx)
	defer giveUp()
	second := s.queueWith(ctx, two, s.name(), holdfast.Reason("second"))
	waits(held.Token(), "first", "second")
	third := s.queue(two, s.name(), holdfast.Reason("third"))
	waits(held.Token(), "first", "second", "third")
	giveUp()
	s.gaveUp(second, context.Canceled)
	waits(held.Token(), "first", "third")
	s.unlock(held)
	next := s.granted(first)
	waits(next.Token(), "third")
	s.unlock(next)
	next = s.granted(third)
	waits(next.Token())
	s.unlock(next)
	o.until("as free", isFree)
}

// observeSeveral checks that each of several holders is observed from its grant to its end.
func (s *stage) observeSeveral() {
	sessions := s.lockers(3)
	for _, wanted := range s.wanted() {
		if wanted.mode == holdfast.ModeExclusive || !wanted.fits(wanted) {
			continue
		}
		name := s.name(wanted.name)
		o := s.observe(sessions[0], name)
		var locks []*holdfast.Lock
		seen := func() {
			s.Helper()
			var want []string
			for _, lock := range locks {
				want = append(want, fmt.Sprint(lock.Token(), lock.Mode(), lock.Units()))
			}
			slices.Sort(want)
			o.until(fmt.Sprintf("as held by %q", want), func(state holdfast.State) bool {
				var got []string
				for _, h := range state.Holders {
					got = append(got, fmt.Sprint(h.Token, h.Mode, h.Units))
				}
				slices.Sort(got)
				return slices.Equal(got, want)
			})
		}
		for _, locks2 := range sessions[:2] {
			locks = append(locks, s.lock(locks2, name, wanted.options...))
			seen()
		}
		s.unlock(locks[0])
		locks = locks[1:]
		seen()
		locks = append(locks, s.lock(sessions[2], name, wanted.options...))
		seen()
		for len(locks) > 0 {
			s.unlock(locks[len(locks)-1])
			locks = locks[:len(locks)-1]
			seen()
		}
		o.end()
	}
}

// observeReentry checks that the locks of one owner are one holder until the last of them is released.
func (s *stage) observeReentry() {
	locks, me := s.locker(), holdfast.Owner("me")
	o := s.observe(locks, s.name())
	defer o.end()
	first := s.lock(locks, s.name(), me)
	held := func(value string) func(holdfast.State) bool {
		return func(state holdfast.State) bool {
			return holdersOf(state) == heldAs(first.Token(), value) && (state.Holders[0].Owner == "me" || s.caps.ObserveMerges)
		}
	}
	o.until("as held", held(""))
	second := s.lock(locks, s.name(), me)
	s.unlock(first)
	s.setValue(second, "of the second")
	o.until("as held with a value", held("of the second"))
	s.unlock(second)
	o.until("as free", isFree)
}

// observeEach has a lock change hands many times, and checks that each holder is observed once, in order, with its end
// before the next.
func (s *stage) observeEach() {
	const goroutines = 4
	rounds := max(2, min(20, s.caps.Rounds/10))
	sessions := s.lockers(goroutines)
	o := s.observe(s.locker(), s.name())
	defer o.end()
	var mu sync.Mutex
	var granted []string
	s.each(goroutines, func(i int) error {
		for round := range rounds {
			value := fmt.Sprint(i, "/", round)
			lock, err := sessions[i].Lock(s.ctx, s.name(), holdfast.Value(value))
			if err != nil {
				return err
			}
			mu.Lock()
			granted = append(granted, heldAs(lock.Token(), value))
			mu.Unlock()
			runtime.Gosched() // lets the others ask for it
			if err := lock.Unlock(s.ctx); err != nil {
				return err
			}
		}
		return nil
	})
	last := s.lock(sessions[0], s.name(), holdfast.Value("last"))
	granted = append(granted, heldAs(last.Token(), "last"))
	var seen []string
	o.until("as held last", func(state holdfast.State) bool {
		if now := holdersOf(state); now != "" && (len(seen) == 0 || seen[len(seen)-1] != now) {
			seen = append(seen, now)
		}
		return len(state.Holders) == 1 && state.Holders[0].Token == last.Token()
	})
	if o.merges() && !isPart(seen, granted) || !o.merges() && !slices.Equal(seen, granted) {
		s.Errorf("observed %d holders of %d: %q, want %q", len(seen), len(granted), seen, granted)
	}
	s.unlock(last)
}

// observeBroken checks that a broken lock is observed to end.
func (s *stage) observeBroken() {
	one, two := s.locker(), s.locker()
	o := s.observe(two, s.name())
	defer o.end()
	lock := s.lock(one, s.name())
	o.until("as held", func(state holdfast.State) bool { return holds(state, lock.Token()) })
	s.caps.Break(s.TB, holdfast.DefaultSpace, s.name())
	o.until("as free", isFree)
	s.ended(lock, holdfast.ErrLost)
	next := s.lock(two, s.name())
	o.until("as held again", func(state holdfast.State) bool { return holds(state, next.Token()) })
	s.unlock(next)
}

// observeHoldLimit checks that a lock is observed to end at its hold limit.
func (s *stage) observeHoldLimit() {
	one, two := s.locker(), s.locker()
	o := s.observe(two, s.name())
	defer o.end()
	lock := s.lockSeen(one)
	o.until("as free", func(state holdfast.State) bool { return !holds(state, lock.Token()) && o.judge.top >= lock.Token() })
	next := s.lock(two, s.name())
	o.until("as held again", func(state holdfast.State) bool { return holds(state, next.Token()) })
	s.unlock(next)
}

// observeSlowly has observers that read nothing while a name changes many times. They hold nothing up, and what they
// miss is reported.
func (s *stage) observeSlowly() {
	rounds := max(20, min(3000, s.caps.Rounds*3/2))
	locks := s.locker()
	lock := s.lock(locks, s.name(), holdfast.Value("0"))
	var nexts []func() (holdfast.State, error, bool)
	for range 3 {
		next, stop := iter.Pull2(s.observer(locks).Observe(s.ctx, s.name()))
		defer stop()
		if state, err, _ := next(); err != nil || holdersOf(state) != heldAs(lock.Token(), "0") {
			s.Fatalf("the first state is %q, error %v", describe(state), err)
		}
		nexts = append(nexts, next)
	}
	for n := range rounds {
		s.setValue(lock, strconv.Itoa(n+1))
	}
	for _, next := range nexts {
		for shown := 0; shown < rounds; {
			state, err, _ := next()
			if err != nil || len(state.Holders) != 1 || state.Holders[0].Token != lock.Token() {
				s.Fatalf("value %d is followed by the state %q, error %v", shown, describe(state), err)
			}
			now, err := strconv.Atoi(state.Holders[0].Value)
			switch {
			case err != nil || now < shown || now == shown && !state.Missed:
				s.Fatalf("value %d is followed by value %q", shown, state.Holders[0].Value)
			case now > shown+1 && !state.Missed && !s.caps.ObserveMerges:
				s.Fatalf("value %d is followed by value %d, and nothing says that others were missed", shown, now)
			}
			shown = now
		}
	}
	s.unlock(lock)
}

// observeEnds checks that an observation ends with its loop, and with its context, whose error is then the last value.
func (s *stage) observeEnds() {
	locks := s.locker()
	by, lock := s.observer(locks), s.lock(locks, s.name())
	for range 20 {
		for state, err := range by.Observe(s.ctx, s.name()) {
			if err != nil || !holds(state, lock.Token()) {
				s.Errorf("the state is %q, error %v", describe(state), err)
			}
			break
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	var states, failures int
	for state, err := range by.Observe(ctx, s.name()) {
		switch {
		case err == nil:
			states++
			cancel()
			continue
		case !errors.Is(err, context.Canceled) || describe(state) != "free" || state.Name != "":
			s.Errorf("the last value is %q, error %v; want that of the context", describe(state), err)
		}
		failures++
	}
	if states != 1 || failures != 1 {
		s.Errorf("%d states and %d errors, want one of each", states, failures)
	}
	s.endsAtOnce(ctx, by, s.name(), context.Canceled)
	s.unlock(lock)
}

// endsAtOnce checks that an observation yields an error and nothing else.
func (s *stage) endsAtOnce(ctx context.Context, by holdfast.Observer, name string, target error) {
	s.Helper()
	count := 0
	for state, err := range by.Observe(ctx, name) {
		count++
		if err == nil {
			s.Errorf("%q is observed as %q, want error %v", name, describe(state), target)
			break
		}
		s.want(err, target)
	}
	if count != 1 {
		s.Errorf("the observation of %q yields %d values, want one error", name, count)
	}
}

// observeBadNames checks that a malformed name, and an unknown space, are refused.
func (s *stage) observeBadNames() {
	locks := s.locker()
	for _, name := range []string{"", strings.Repeat("x", holdfast.MaxName+1), "a\nb", "\xff"} {
		s.endsAtOnce(s.ctx, s.observer(locks), name, holdfast.ErrName)
	}
	s.endsAtOnce(s.ctx, s.observer(locks.Space("no-such-space")), s.name(), holdfast.ErrSpace)
}

// observeClosed checks that Close ends the observations of its Locker, and no others.
func (s *stage) observeClosed() {
	one, two := s.locker(), s.locker()
	own, other := s.observe(one, s.name()), s.observe(two, s.name())
	defer other.end()
	view := s.observe(one.Space(""), s.name())
	lock := s.lock(one, s.name())
	held := func(state holdfast.State) bool { return holds(state, lock.Token()) }
	for _, o := range []*observation{own, other, view} {
		o.until("as held", held)
	}
	s.close(one)
	for _, o := range []*observation{own, view} {
		o.wait()
		s.want(o.result(), holdfast.ErrClosed)
	}
	other.until("as free", isFree)
	s.endsAtOnce(s.ctx, s.observer(one), s.name(), holdfast.ErrClosed)
	s.unlock(s.lock(two, s.name()))
}

// observeSpaces checks that the same name in another space is another name.
func (s *stage) observeSpaces() {
	locks := s.locker()
	for _, space := range s.caps.Spaces {
		there := locks.Space(space)
		here, other := s.observe(locks, s.name()), s.observeIn(space, there, s.name())
		far := s.lock(there, s.name(), holdfast.Value("there"))
		other.until("as held", func(state holdfast.State) bool { return holdersOf(state) == heldAs(far.Token(), "there") })
		near := s.lock(locks, s.name(), holdfast.Value("here"))
		here.until("as held", func(state holdfast.State) bool {
			if now := holdersOf(state); now != "" && now != heldAs(near.Token(), "here") {
				s.Errorf("the default space is observed as %q", describe(state))
			}
			return len(state.Holders) > 0
		})
		here.end()
		other.end()
		s.unlock(near, far)
	}
}

// observeElsewhere checks that what happens through one member is observed through another.
func (s *stage) observeElsewhere() {
	here, there := s.locker(), s.opens(s.caps.Elsewhere)
	near, far := s.observe(here, s.name()), s.observe(there, s.name())
	defer near.end()
	defer far.end()
	for round := range 4 {
		lock := s.lock([]holdfast.Locker{here, there}[round%2], s.name(), holdfast.Value(fmt.Sprint("requested in round ", round)))
		s.setValue(lock, fmt.Sprint("set in round ", round))
		s.unlock(lock)
	}
	last := s.lock(there, s.name(), holdfast.Value("last"))
	var seen [2][]string
	for i, o := range []*observation{near, far} {
		o.until("as held last", func(state holdfast.State) bool {
			if n := len(seen[i]); n == 0 || holdersOf(state) != seen[i][n-1] {
				seen[i] = append(seen[i], holdersOf(state))
			}
			return holds(state, last.Token())
		})
	}
	const states = 1 + 4*3 + 1
	if !near.merges() && !far.merges() && (len(seen[0]) != states || !slices.Equal(seen[0], seen[1])) {
		s.Errorf("one member shows %q, another one %q, want %d states", seen[0], seen[1], states)
	}
	s.unlock(last)
}

// observeWanted checks that Lock.Wanted is closed by a request that waits, before or after the call, and by nothing
// else.
func (s *stage) observeWanted() {
	one, two := s.locker(), s.locker()
	var calm []*holdfast.Lock
	var never []<-chan struct{}
	for i := range 8 {
		lock := s.lock(one, s.name("calm", i))
		calm, never = append(calm, lock), append(never, lock.Wanted())
	}
	held := s.lock(one, s.name())
	wanted := held.Wanted()
	s.setValue(held, "not wanted")
	s.settle(one)
	if isDone(wanted) {
		s.Errorf("a lock is wanted, and no request waits")
	}
	w := s.queue(two, s.name())
	s.closed(wanted)
	s.unlock(held)
	for i := range 6 { // the waiter is there first
		next := s.granted(w)
		w = s.queue([]holdfast.Locker{one, two}[i%2], s.name())
		s.closed(next.Wanted())
		s.unlock(next)
	}
	s.unlock(s.granted(w))
	for range 2 {
		if slices.ContainsFunc(never, isDone) {
			s.Errorf("a lock is wanted, and no request has waited")
		}
		for _, lock := range calm {
			if lock.Check() == nil {
				s.unlock(lock)
			}
		}
	}
}

func isDone(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// closed waits until a channel is closed.
func (s *stage) closed(wanted <-chan struct{}) {
	s.Helper()
	select {
	case <-wanted:
	case <-s.ctx.Done():
		s.Fatalf("a request waits, and the lock is not wanted: %v", s.ctx.Err())
	}
}
