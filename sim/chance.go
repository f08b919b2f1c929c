package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Chance. Everything that a run draws is a choice with a name: the actor, the act and the thing chosen ("client1.0
// call#3 hold"). Names are counted within one user, one fault or one direction of one link, so a choice that disappears
// does not rename the others.
//
// In a run that is neither recorded nor played from a script (tape is nil), a choice is a number from the one source;
// its name is a constant that no code reads, and costs nothing. A recorded run draws the same numbers in the same
// order. A run that plays a script draws nothing: a choice that the script omits has its default, which means that
// nothing goes wrong and nothing waits.

// dice is the source of chance. A number drawn from it directly has no name: it is part of another choice.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// odds reports whether an event with the odds of n in 10,000 happens now.
func (d dice) odds(n int) bool { return n > 0 && d.IntN(10_000) < n }

// below draws a duration below limit.
func (d dice) below(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	return time.Duration(d.Int64N(int64(limit)))
}

// between draws a duration of at least a and below b.
func (d dice) between(a, b time.Duration) time.Duration { return a + d.below(b-a) }

// within sets the actor and the act of the choices that follow in this event; acts are counted from 1.
func (w *world) within(who, what string, act int) {
	if w.tape != nil {
		w.tape.enter(scope{who, what, act})
	}
}

// scope returns the latest scope that within set, for later choices of the same act.
func (w *world) scope() scope {
	if w.tape == nil {
		return scope{}
	}
	return w.tape.scope
}

// goOn continues an act that began earlier.
func (w *world) goOn(s scope) {
	if w.tape != nil {
		w.tape.enter(s)
	}
}

// replaying reports whether the run plays a script.
func (w *world) replaying() bool { return w.tape != nil && w.tape.replaying }

// odds chooses whether an event with the odds of n in 10,000 happens. The default is no.
func (w *world) odds(site string, n int) bool {
	return w.whether(site, func() bool { return w.rand.odds(n) })
}

// oneIn chooses whether an event that happens once in n times happens. The default is no.
func (w *world) oneIn(site string, n int) bool {
	return w.whether(site, func() bool { return w.rand.IntN(n) == 0 })
}

// butOneIn chooses whether an event that is omitted once in n times happens. The default is no.
func (w *world) butOneIn(site string, n int) bool {
	return w.whether(site, func() bool { return w.rand.IntN(n) != 0 })
}

// whether chooses the value that drawn draws. The default is no.
func (w *world) whether(site string, drawn func() bool) bool {
	if w.tape == nil {
		return drawn()
	}
	return w.tape.flag(site, drawn)
}

// below chooses a duration below d; by default 0.
func (w *world) below(site string, d time.Duration) time.Duration {
	return w.length(site, 0, func() time.Duration { return w.rand.below(d) })
}

// between chooses a duration of at least a and below b; by default a.
func (w *world) between(site string, a, b time.Duration) time.Duration {
	return w.length(site, a, func() time.Duration { return w.rand.between(a, b) })
}

// length chooses the duration that drawn draws.
func (w *world) length(site string, usual time.Duration, drawn func() time.Duration) time.Duration {
	if w.tape == nil {
		return drawn()
	}
	return w.tape.length(site, usual, drawn)
}

// number chooses a number of at least 0 and below n; by default 0.
func (w *world) number(site string, n int) int {
	if w.tape == nil {
		return w.rand.IntN(n)
	}
	return int(w.tape.number(site, 0, int64(n), func() int64 { return int64(w.rand.IntN(n)) }))
}

// bits chooses 64 bits.
func (w *world) bits(site string, usual uint64) uint64 {
	if w.tape == nil {
		return w.rand.Uint64()
	}
	return w.tape.bits(site, usual, w.rand)
}

// among chooses one of words, which may repeat a word; by default the one at index usual. It returns an index.
func (w *world) among(site string, usual int, options []string) int {
	if w.tape == nil {
		return w.rand.IntN(len(options))
	}
	return w.tape.option(site, usual, len(options), func(i int) string { return options[i] }, func() int { return w.rand.IntN(len(options)) })
}

// call begins the next call of a user. Its time is the user's clock, counted from the beginning of the run: now plus a
// drawn pause or, in a script, the time given there, if there is another call.
func (w *world) call(who string, now time.Duration, pause func() time.Duration) (at time.Duration, call int, comes bool) {
	if w.tape == nil {
		return now + pause(), 0, true
	}
	return w.tape.call(who, now, pause)
}

// choose chooses one of n by their names; by default the first. It returns an index.
func (w *world) choose(site string, n int, name func(int) string) int {
	if w.tape == nil {
		return w.rand.IntN(n)
	}
	return w.tape.option(site, 0, n, name, func() int { return w.rand.IntN(n) })
}

// pick chooses one value of from by their names; by default the first.
func pick[T any](w *world, site string, from []T) T {
	return from[w.choose(site, len(from), func(i int) string { return fmt.Sprint(from[i]) })]
}

// order chooses the order of the named things; by default the given one.
func (w *world) order(site string, names []string, drawn func() []int) []int {
	if w.tape == nil {
		return drawn()
	}
	return w.tape.order(site, names, drawn)
}
