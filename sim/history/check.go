package history

import (
	"cmp"
	"fmt"
	"io"

	"github.com/anishathalye/porcupine"
)

// Result is what became of a check.
type Result uint8

// The results.
const (
	Linearizable Result = iota
	Unknown             // it was not decided within the bound
	Violated
)

var resultNames = [...]string{"linearizable", "unknown", "violated"}

// String returns the word for it.
func (r Result) String() string { return resultNames[r] }

// DefaultSteps is how many steps of a model a check takes at most. A log without fault
// takes about as many as it has operations, times those that wait at once.
const DefaultSteps = 200_000

// Check looks for an order in which the model takes all that the log has, in at most so
// many steps of the model; 0 means [DefaultSteps].
func (l *Log) Check(m Model, steps int) Result {
	if l.Len() == 0 {
		return Linearizable
	}
	search := search{model: m, left: cmp.Or(steps, DefaultSteps)}
	found := porcupine.CheckOperations(search.porcupine(), l.operations())
	return search.result(found)
}

// Blame names the promise that a violated log has broken: P1 where a lock without tokens
// could not have done it either, regardless of which users were refused; P2 where it is the tokens; P4 where
// a user was refused a name that no user held. Where that is not decided within the steps
// it is P1.
func (l *Log) Blame(m Model, steps int) string {
	rest := *l
	rest.all = nil
	for _, a := range l.all {
		if a.Outcome != Refused {
			rest.all = append(rest.all, a)
		}
	}
	if rest.Check(m, steps) == Linearizable {
		return "P4"
	}
	m.fenced = false
	if rest.Check(m, steps) == Linearizable {
		return "P2"
	}
	return "P1"
}

// WriteHTML writes a page on which the log can be looked at: who held when, and how far an
// order was found. It returns what became of the check.
func (l *Log) WriteHTML(out io.Writer, m Model, steps int) (Result, error) {
	search := search{model: m, left: cmp.Or(steps, DefaultSteps)}
	model := search.porcupine()
	found, information := porcupine.CheckOperationsVerbose(model, l.operations(), 0)
	result := search.result(found == porcupine.Ok)
	search.left = cmp.Or(steps, DefaultSteps) // it is stepped again, along what was found
	if err := porcupine.Visualize(model, information, out); err != nil {
		return result, fmt.Errorf("draw the history of %q: %w", l.Name, err)
	}
	return result, nil
}

// search bounds how far a model is tried.
type search struct {
	model Model
	left  int
}

// result is that of a check which has found an order, or none. When the bound is reached
// every step is refused, so that the search ends without one.
func (s *search) result(found bool) Result {
	switch {
	case found:
		return Linearizable
	case s.left <= 0:
		return Unknown
	}
	return Violated
}

// porcupine is the model as package porcupine steps it.
func (s *search) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return &state{} },
		Step: func(before, input, _ any) (bool, any) {
			if s.left--; s.left <= 0 {
				return false, before
			}
			next, ok := s.model.take(before.(*state), input.(step))
			return ok, next
		},
		Equal:             func(a, b any) bool { return a.(*state).equal(b.(*state)) },
		DescribeOperation: func(input, _ any) string { return input.(step).String() },
		DescribeState:     func(s any) string { return s.(*state).String() },
	}
}

func (do step) String() string {
	if do.ends {
		return fmt.Sprintf("#%d %s ends: %s", do.of.number, do.of.Who, do.of.Why)
	}
	return do.of.String()
}

// operations are those of the log, each in the interval in which it must have happened.
func (l *Log) operations() []porcupine.Operation {
	var all []porcupine.Operation
	lanes := map[string]int{}
	add := func(do step, from, to stamp) {
		lane, known := lanes[do.of.Who]
		if !known {
			lane = len(lanes)
			lanes[do.of.Who] = lane
		}
		all = append(all, porcupine.Operation{ClientId: lane, Input: do, Call: int64(from), Return: l.until(to)})
	}
	for _, a := range l.all {
		switch a.Outcome {
		case Refused:
			if a.Try && !l.overlaps(a, func(*Acquisition) bool { return true }) {
				add(step{of: a}, a.requested, a.granted)
			}
		case Granted:
			kept := a.Owner != "" && l.overlaps(a, func(o *Acquisition) bool { return o.owner == a.owner })
			add(step{of: a, kept: kept}, a.requested, a.granted)
			if a.ended != forever {
				add(step{of: a, ends: true}, a.ended, a.taken)
			}
		}
	}
	return all
}

// overlaps reports whether some other acquisition may have held the lock unheard while a was
// under way: it was under way itself, or has stayed open.
func (l *Log) overlaps(a *Acquisition, some func(*Acquisition) bool) bool {
	for _, o := range l.all {
		until := o.granted
		if o.Outcome == Open {
			until = o.taken
		}
		if o != a && o.requested < a.granted && until > a.requested && some(o) {
			return true
		}
	}
	return false
}

// until is a stamp in the log; what never comes is just after its end, so that a picture of
// it has an end, too.
func (l *Log) until(s stamp) int64 { return int64(min(s, l.clock+2)) }
