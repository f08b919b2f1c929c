package lockertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast"
)

// observation observes a name on its own goroutine, which reads each state at once. The check reads them after it, and
// each state is then compared with the one before.
type observation struct {
	stage *stage
	name  string
	stop  context.CancelFunc
	ended chan struct{} // closed when the loop has ended

	mu     sync.Mutex
	unread []holdfast.State
	err    error         // the last value of the loop
	more   chan struct{} // has room for one signal that there is something to read

	judge judge
}

// observer returns a Locker as an Observer.
func (s *stage) observer(locks holdfast.Locker) holdfast.Observer {
	s.Helper()
	o, is := locks.(holdfast.Observer)
	if !is {
		s.Fatalf("a %T is no holdfast.Observer; if it cannot observe, set Caps.NoObserve", locks)
	}
	return o
}

// observe begins to observe a name, and waits for the first state. The caller ends it.
func (s *stage) observe(locks holdfast.Locker, name string) *observation {
	s.Helper()
	return s.observeIn(holdfast.DefaultSpace, locks, name)
}

// observeIn is observe with the Locker of a space.
func (s *stage) observeIn(space string, locks holdfast.Locker, name string) *observation {
	s.Helper()
	by := s.observer(locks)
	ctx, cancel := context.WithCancel(s.ctx)
	o := &observation{
		stage: s, name: name, stop: cancel, ended: make(chan struct{}), more: make(chan struct{}, 1),
		judge: judge{loose: s.caps.LooseTokens, space: space, name: name},
	}
	go func() {
		defer close(o.ended)
		for state, err := range by.Observe(ctx, name) {
			o.put(state, err)
		}
	}()
	o.next()
	return o
}

// put adds a value of the loop to those that are unread.
func (o *observation) put(state holdfast.State, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.err = err
	} else {
		o.unread = append(o.unread, state)
	}
	select {
	case o.more <- struct{}{}:
	default: // there is something to read anyway
	}
}

// take takes a state that is unread, if there is one.
func (o *observation) take() (state holdfast.State, some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.unread) == 0 {
		return state, false
	}
	state, o.unread = o.unread[0], o.unread[1:]
	return state, true
}

// next waits for the next state, and judges it.
func (o *observation) next() holdfast.State {
	s := o.stage
	s.Helper()
	for {
		if state, some := o.take(); some {
			o.judged(state)
			return state
		}
		select {
		case <-o.more:
		case <-o.ended:
			if state, some := o.take(); some {
				o.judged(state)
				return state
			}
			s.Fatalf("the observation of %q has ended after %q: %v", o.name, describe(o.judge.last), o.result())
		case <-s.ctx.Done():
			s.Fatalf("no state of %q follows %q: %v", o.name, describe(o.judge.last), s.ctx.Err())
		}
	}
}

func (o *observation) judged(state holdfast.State) {
	o.stage.Helper()
	if err := o.judge.next(state); err != nil {
		o.stage.Errorf("%v", err)
	}
	o.stage.gap = o.stage.gap || state.Missed
}

// merges reports whether states may be missing in what was observed so far.
func (o *observation) merges() bool { return o.stage.caps.ObserveMerges || o.judge.gaps > 0 }

// gapTrials is the number of trials with a gap after which gaps count as a fault. A machine that is too busy may cause
// one.
const gapTrials = 4

// withoutGap repeats a check in which states were missed, with other names, unless that is usual.
func withoutGap(run func(*stage)) func(*stage) {
	return func(s *stage) {
		for trial := range gapTrials {
			s.gap, s.trial = false, trial
			if run(s); !s.gap || s.caps.ObserveMerges {
				return
			}
		}
		s.Errorf("states of %q were missed, %d times", s.name(), gapTrials)
	}
}

// until waits for a state that fits, which may be the one that was read last.
func (o *observation) until(what string, fits func(holdfast.State) bool) holdfast.State {
	o.stage.Helper()
	for state := o.judge.last; ; state = o.next() {
		if fits(state) {
			return state
		}
		if o.stage.ctx.Err() != nil {
			o.stage.Fatalf("%q is never observed %s, but as %q", o.name, what, describe(state))
		}
	}
}

// result returns the last error.
func (o *observation) result() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// end ends the observation, and checks that the error of its context was the last value.
func (o *observation) end() {
	s := o.stage
	s.Helper()
	o.stop()
	o.wait()
	if err := o.result(); !errors.Is(err, context.Canceled) && s.ctx.Err() == nil {
		s.Errorf("the observation of %q has ended with the error %v, want that of its context", o.name, err)
	}
}

// wait waits until the loop has ended.
func (o *observation) wait() {
	s := o.stage
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.caps.Patience)
	defer cancel()
	select {
	case <-o.ended:
	case <-ctx.Done():
		s.Errorf("the observation of %q does not end", o.name)
	}
}

// judge compares the states of one observation with each other.
type judge struct {
	loose       bool // see Caps.LooseTokens
	space, name string
	gaps        int // states that say that others were missed
	count       int
	last        holdfast.State
	top         holdfast.Token // the highest one so far
}

// next judges the next state.
func (j *judge) next(now holdfast.State) error {
	before := j.last
	j.last, j.count = now, j.count+1
	if err := j.alone(now); err != nil {
		return err
	}
	switch {
	case j.count == 1 && now.Missed:
		return fmt.Errorf("the first state of %q says that others were missed", j.name)
	case now.Missed:
		j.gaps++
	case j.count > 1 && describe(before) == describe(now):
		return fmt.Errorf("the state %q of %q comes twice", describe(now), j.name)
	}
	for _, h := range before.Holders {
		if h.Mode == holdfast.ModeExclusive && len(now.Holders) > 0 && !holds(now, h.Token) && !now.Missed {
			return fmt.Errorf("the end of token %v of %q is not seen before the next holder: %q", h.Token, j.name, describe(now))
		}
	}
	for _, h := range now.Holders {
		if j.count > 1 && holds(before, h.Token) {
			continue
		}
		if h.Token <= j.top && (h.Mode == holdfast.ModeExclusive || !j.loose) {
			return fmt.Errorf("a grant of %q with token %v is seen after one with token %v", j.name, h.Token, j.top)
		}
		defer func() { j.top = max(j.top, h.Token) }()
	}
	return nil
}

// alone judges one state.
func (j *judge) alone(now holdfast.State) error {
	if now.Space != j.space || now.Name != j.name {
		return fmt.Errorf("a state of %q in %q is one of %q in %q", j.name, j.space, now.Name, now.Space)
	}
	if !slices.IsSortedFunc(now.Holders, func(x, y holdfast.Holder) int { return int(x.Token) - int(y.Token) }) {
		return fmt.Errorf("the holders of %q are not in the order of their tokens: %q", j.name, describe(now))
	}
	for i, h := range now.Holders[min(1, len(now.Holders)):] {
		if h.Token == now.Holders[i].Token {
			return fmt.Errorf("%q has one holder twice: %q", j.name, describe(now))
		}
	}
	for _, h := range now.Holders {
		if h.Mode == holdfast.ModeExclusive && len(now.Holders) > 1 || h.Mode != now.Holders[0].Mode {
			return fmt.Errorf("%q has holders that exclude each other: %q", j.name, describe(now))
		}
	}
	return nil
}

// holds reports whether a state has a holder with a token.
func holds(s holdfast.State, token holdfast.Token) bool {
	return slices.ContainsFunc(s.Holders, func(h holdfast.Holder) bool { return h.Token == token })
}

// describe returns a state as text, with all that two states can differ in.
func describe(s holdfast.State) string {
	var b strings.Builder
	for _, h := range s.Holders {
		fmt.Fprintf(&b, "%v %v/%d %.40q by %q %q %q at %q since %d; ", h.Token, h.Mode, h.Units, h.Value, h.Client, h.Owner, h.Reason, h.Member, h.Since.UnixNano())
	}
	for _, w := range s.Waiters {
		fmt.Fprintf(&b, "waits: %v/%d by %q %q %q at %q since %d; ", w.Mode, w.Units, w.Client, w.Owner, w.Reason, w.Member, w.Since.UnixNano())
	}
	if b.Len() == 0 {
		return "free"
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// holdersOf returns the holders of a state as "TOKEN=VALUE", separated by spaces.
func holdersOf(s holdfast.State) string {
	var all []string
	for _, h := range s.Holders {
		all = append(all, heldAs(h.Token, h.Value))
	}
	return strings.Join(all, " ")
}

func heldAs(token holdfast.Token, value string) string { return fmt.Sprintf("%v=%s", token, value) }

// reasonsOf returns the reasons of the waiters of a state.
func reasonsOf(s holdfast.State) (all []string) {
	for _, w := range s.Waiters {
		all = append(all, w.Reason)
	}
	return all
}

// isPart reports whether a sequence is another one without some of its elements.
func isPart(part, whole []string) bool {
	for _, element := range whole {
		if len(part) > 0 && part[0] == element {
			part = part[1:]
		}
	}
	return len(part) == 0
}
