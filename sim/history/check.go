package history

import (
	"cmp"
	"fmt"
	"io"

	"github.com/anishathalye/porcupine"
)

// Result is the result of a check.
type Result uint8

// The results.
const (
	Linearizable Result = iota
	Unknown             // not decided within the bound
	Violated
)

var resultNames = [...]string{"linearizable", "unknown", "violated"}

// String returns the result as a word.
func (r Result) String() string { return resultNames[r] }

// DefaultSteps is the default maximum number of model steps in a check. A log without a violation takes about as many
// as it has operations, times the number of concurrent ones.
const DefaultSteps = 200_000

// Check looks for an order in which the model accepts the whole log, in at most steps steps of the model; 0 means
// [DefaultSteps].
func (l *Log) Check(m Model, steps int) Result {
	if l.Len() == 0 {
		return Linearizable
	}
	search := search{model: m, left: cmp.Or(steps, DefaultSteps)}
	found := porcupine.CheckOperations(search.porcupine(), l.operations())
	return search.result(found)
}

// Blame names the promise that a violated log has broken: P1 if even a lock without tokens could not have done it,
// regardless of refusals; P2 if the tokens are wrong; P4 if a user was refused a name that no user held. If the steps
// do not suffice to decide, it is P1.
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

// WriteHTML writes a page that shows the log: the holders over time, and the longest order found. It returns the result
// of the check.
func (l *Log) WriteHTML(out io.Writer, m Model, steps int) (Result, error) {
	search := search{model: m, left: cmp.Or(steps, DefaultSteps)}
	model := search.porcupine()
	found, information := porcupine.CheckOperationsVerbose(model, l.operations(), 0)
	result := search.result(found == porcupine.Ok)
	search.left = cmp.Or(steps, DefaultSteps) // the search is repeated along the found order
	if err := porcupine.Visualize(model, information, out); err != nil {
		return result, fmt.Errorf("draw the history of %q: %w", l.Name, err)
	}
	return result, nil
}

// search bounds the steps of a model.
type search struct {
	model Model
	left  int
}

// result is the result of a check that has or has not found an order. At the bound every step is refused, so that the
// search ends without one.
func (s *search) result(found bool) Result {
	switch {
	case found:
		return Linearizable
	case s.left <= 0:
		return Unknown
	}
	return Violated
}

// porcupine is the model in the form of package porcupine.
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

// operations are the log's operations, each with the interval in which it must have happened.
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

// overlaps reports whether another acquisition may have held the lock unheard during a: it was in progress itself, or
// has stayed open.
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

// until is a stamp in the log; an event that never comes is placed just after its end, so that a picture of it ends,
// too.
func (l *Log) until(s stamp) int64 { return int64(min(s, l.clock+2)) }
