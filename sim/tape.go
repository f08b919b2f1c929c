package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// scope names an act: the third call of client1.0, or, if who is empty, the second crash. An act that happens once has
// no number.
type scope struct {
	who, what string
	act       int
}

// site names a choice.
type site struct {
	scope
	name string
	nth  int // number among the choices of this name in this act, from 1
}

// tape records the choices of a run, or plays them.
type tape struct {
	replaying bool
	choices   []Choice // in the order of the run or, in a script, of its lines

	scope  scope
	silent bool // playing: the script does not mention this act
	said   map[site]int
	acts   map[scope][]int // playing: the acts of each actor with an "at", in order; scope.act is 0
	begun  map[scope]int   // number of acts that each actor has begun; scope.act is 0
	counts map[site]int    // number of choices of each name; site.nth is 0
	about  map[scope]bool  // playing: the acts that the script mentions
	used   []bool          // playing: by choice
	wrong  []string        // playing: by choice, why its value was not allowed
}

func newTape() *tape {
	return &tape{begun: map[scope]int{}, counts: map[site]int{}}
}

// newReplay returns the tape of a script.
func newReplay(choices []Choice) *tape {
	t := newTape()
	t.replaying, t.choices = true, choices
	t.said, t.about, t.acts = map[site]int{}, map[scope]bool{}, map[scope][]int{}
	t.used, t.wrong = make([]bool, len(choices)), make([]string, len(choices))
	for i := range choices {
		at := choices[i].site
		t.said[at] = i
		t.about[at.scope] = true
		if at.name == due {
			whose := scope{at.who, at.what, 0}
			t.acts[whose] = append(t.acts[whose], at.act)
		}
	}
	//tidy:unordered each list is sorted on its own
	for _, acts := range t.acts {
		slices.Sort(acts)
	}
	return t
}

func (t *tape) enter(s scope) {
	t.scope = s
	t.silent = t.replaying && !t.about[s]
}

// begin counts another act of who, and enters it.
func (t *tape) begin(who, what string) {
	if t == nil {
		return
	}
	of := scope{who, what, 0}
	t.begun[of]++
	t.enter(scope{who, what, t.begun[of]})
}

// current enters the latest act of who.
func (t *tape) current(who, what string) {
	if t != nil {
		t.enter(scope{who, what, t.begun[scope{who, what, 0}]})
	}
}

// call is world.call.
func (t *tape) call(who string, now time.Duration, pause func() time.Duration) (time.Duration, int, bool) {
	if !t.replaying {
		t.begin(who, "call")
		at := now + pause()
		t.keep(site{t.scope, due, 1}, lengthValue(at))
		return at, t.scope.act, true
	}
	whose := scope{who, "call", 0}
	acts := t.acts[whose]
	next, _ := slices.BinarySearch(acts, t.begun[whose]+1)
	if next == len(acts) {
		return 0, 0, false
	}
	act := acts[next]
	t.begun[whose] = act
	at := t.when(scope{who, "call", act})
	return max(at, now), act, true
}

// when returns the time of an act in a script.
func (t *tape) when(s scope) time.Duration {
	i := t.said[site{s, due, 1}]
	t.used[i] = true
	at, is := t.choices[i].Value.Duration()
	if !is || at < 0 || at > longestChoice {
		t.wrong[i] = "a time like 12.5s, of at most 24h, is allowed"
		return 0
	}
	return at
}

// appointment is an act and its time.
type appointment struct {
	scope scope
	when  time.Duration
}

// due lists the acts of a kind in a script.
func (t *tape) due(who, what string) (all []appointment) {
	for _, act := range t.acts[scope{who, what, 0}] {
		s := scope{who, what, act}
		all = append(all, appointment{s, t.when(s)})
	}
	return all
}

// next finds the next choice of that name in this act, and returns its index if the script has it. A choice outside an
// act would be played in another one than it was made in.
func (t *tape) next(name string) (site, int) {
	if t.scope == (scope{}) {
		panic(fmt.Sprintf("sim: the choice %q is of no act: see world.within", name))
	}
	if t.silent {
		return site{}, -1
	}
	at := site{t.scope, name, 0}
	t.counts[at]++
	at.nth = t.counts[at]
	if !t.replaying {
		return at, -1
	}
	i, said := t.said[at]
	if !said {
		return at, -1
	}
	t.used[i] = true
	return at, i
}

// keep records a choice.
func (t *tape) keep(at site, v Value) { t.choices = append(t.choices, Choice{site: at, Value: v}) }

// chosen records a drawn value if it differs from the default, or returns the script's value. A value that is not
// allowed reads as an allowed one.
func chosen[T comparable](t *tape, name string, usual T, drawn func() T, value func(T) Value, read func(Value) (T, string)) T {
	at, i := t.next(name)
	switch {
	case !t.replaying:
		x := drawn()
		if x != usual {
			t.keep(at, value(x))
		}
		return x
	case i < 0:
		return usual
	}
	x, allowed := read(t.choices[i].Value)
	if allowed != "" {
		t.wrong[i] = allowed
		return usual
	}
	return x
}

func (t *tape) flag(name string, drawn func() bool) bool {
	return chosen(t, name, false, drawn, flagValue, func(v Value) (bool, string) {
		if v.sort != flagSort {
			return false, "yes or no is allowed"
		}
		return v.number != 0, ""
	})
}

func (t *tape) length(name string, usual time.Duration, drawn func() time.Duration) time.Duration {
	return chosen(t, name, usual, drawn, lengthValue, func(v Value) (time.Duration, string) {
		d, is := v.Duration()
		if !is || d < -longestChoice || d > longestChoice {
			return 0, "a duration like 20ms, of at most 24h, is allowed"
		}
		return d, ""
	})
}

func (t *tape) number(name string, usual, limit int64, drawn func() int64) int64 {
	return chosen(t, name, usual, drawn, numberValue, func(v Value) (int64, string) {
		if v.sort != numberSort || v.number < 0 || v.number >= limit {
			return 0, "a number from 0 to " + numberValue(limit-1).String() + " is allowed"
		}
		return v.number, ""
	})
}

func (t *tape) bits(name string, usual uint64, from dice) uint64 {
	return chosen(t, name, usual, from.Uint64, bitsValue, func(v Value) (uint64, string) {
		if v.sort != bitsSort {
			return 0, "a number like 0x2a is allowed"
		}
		return uint64(v.number), ""
	})
}

func (t *tape) option(name string, usual, n int, option func(int) string, drawn func() int) int {
	at, i := t.next(name)
	if !t.replaying {
		index := drawn()
		if option(index) != option(usual) {
			t.keep(at, keywordValue(option(index)))
		}
		return index
	}
	if i < 0 {
		return usual
	}
	var all []string
	for index := range n {
		if option(index) == t.choices[i].Value.String() {
			return index
		}
		all = append(all, option(index))
	}
	t.wrong[i] = "one of " + strings.Join(slices.Compact(all), ", ") + " is allowed"
	return usual
}

// order returns the known names in the order of the script, and the others after them.
func (t *tape) order(name string, names []string, drawn func() []int) []int {
	at, i := t.next(name)
	if !t.replaying {
		order := drawn()
		if !slices.IsSorted(order) {
			var said []string
			for _, index := range order {
				said = append(said, names[index])
			}
			t.keep(at, keywordValue(strings.Join(said, ",")))
		}
		return order
	}
	var order []int
	if i >= 0 {
		for said := range strings.SplitSeq(t.choices[i].Value.String(), ",") {
			index := slices.Index(names, said)
			if index < 0 || slices.Contains(order, index) {
				t.wrong[i] = "an order of " + strings.Join(names, ",") + " is allowed"
				continue
			}
			order = append(order, index)
		}
	}
	for index := range names {
		if !slices.Contains(order, index) {
			order = append(order, index)
		}
	}
	return order
}
