package unordered

import (
	"context"
	"slices"
)

// mostShortened is the maximum number of states visited in search of a shorter run.
const mostShortened = 1_000_000

// reached is how a state was first reached: the previous state and the action.
type reached struct {
	from int
	by   action
}

// shorten looks for the shortest run that breaks a promise, breadth first. The depth-first search finds some run,
// mostly a long one, which is kept at the limit, or when ctx is done.
func (s *search) shorten(ctx context.Context, beginning *world) error {
	kept := s.report.Found
	known := map[digest]struct{}{beginning.name(): {}}
	all := []reached{{from: -1}}
	newest := map[int]*world{0: beginning}
	for first := 0; first < len(all); {
		last := len(all)
		next := map[int]*world{}
		for at := first; at < last; at++ {
			if at%progressEvery == 0 && ctx.Err() != nil {
				s.report.Found = kept
				return nil
			}
			for _, a := range s.engine.actions(newest[at]) {
				s.engine.found = nil
				w, err := s.engine.follow(newest[at], a)
				if err != nil {
					return err
				}
				if s.engine.found != nil {
					return s.retell(beginning, all, reached{at, a})
				}
				name := w.name()
				if _, is := known[name]; is {
					continue
				}
				if len(all) == mostShortened {
					s.report.Found = kept
					return nil
				}
				known[name] = struct{}{}
				next[len(all)] = w
				all = append(all, reached{at, a})
			}
		}
		first, newest = last, next
	}
	s.report.Found = kept
	return nil
}

// retell makes the report of a run that ends with a step.
func (s *search) retell(w *world, all []reached, end reached) error {
	found := s.engine.found
	steps := []action{end.by}
	for at := end.from; at > 0; at = all[at].from {
		steps = append(steps, all[at].by)
	}
	slices.Reverse(steps)
	for _, a := range steps {
		found.Path = append(found.Path, s.engine.describe(w, a))
		var err error
		if w, err = s.engine.follow(w, a); err != nil {
			return err
		}
	}
	s.report.Found = found
	return nil
}
