package unordered

import (
	"context"
	"fmt"
	"time"
)

// look is a state of the present run, with the actions not tried from there.
type look struct {
	world *world
	left  []action
	by    action // the action that has led here
}

// Explore visits every state that can be reached, until none is left, a promise is broken, ctx is done or a limit is
// reached.
func Explore(ctx context.Context, c Config, l Limits) (Report, error) {
	if err := c.Check(); err != nil {
		return Report{}, err
	}
	e, err := newEngine(c)
	if err != nil {
		return Report{}, fmt.Errorf("unordered: %w", err)
	}
	s := &search{engine: e, limits: l, known: map[digest]struct{}{}, began: time.Now()}
	s.report.Config = c
	w, err := s.engine.beginning()
	if err != nil {
		return Report{}, fmt.Errorf("unordered: %w", err)
	}
	s.visit(w, action{})
	if err = s.run(ctx); err == nil && s.report.Found != nil {
		err = s.shorten(ctx, w)
	}
	s.report.Elapsed = time.Since(s.began)
	if err != nil {
		return s.report, fmt.Errorf("unordered: %w", err)
	}
	return s.report, nil
}

// search is one exploration, depth first. It keeps the states of the present run, and only the names of all others.
type search struct {
	engine *engine
	limits Limits
	known  map[digest]struct{}
	path   []look
	report Report
	began  time.Time
}

// progressEvery is the number of transitions between two calls of Progress and checks of ctx.
const progressEvery = 10_000

func (s *search) run(ctx context.Context) error {
	for len(s.path) > 0 && s.report.Found == nil {
		at := &s.path[len(s.path)-1]
		if len(at.left) == 0 {
			s.path = s.path[:len(s.path)-1]
			continue
		}
		if s.report.Transitions%progressEvery == 0 {
			if ctx.Err() != nil {
				s.report.Stopped = ctx.Err().Error()
				return nil
			}
			s.progress()
		}
		if s.limits.States > 0 && s.report.States >= s.limits.States {
			s.report.Stopped = fmt.Sprintf("%d states", s.report.States)
			return nil
		}
		a := at.left[0]
		at.left = at.left[1:]
		after, err := s.engine.follow(at.world, a)
		if err != nil {
			return err
		}
		s.report.Transitions++
		s.visit(after, a)
	}
	return nil
}

func (s *search) progress() {
	if s.limits.Progress != nil {
		report := s.report
		report.Elapsed = time.Since(s.began)
		s.limits.Progress(report)
	}
}

// visit continues from a new state, or ends if the step to it shows a violation.
func (s *search) visit(w *world, by action) {
	if found := s.engine.found; found != nil {
		s.report.Found = found
		for i := 1; i < len(s.path); i++ {
			found.Path = append(found.Path, s.engine.describe(s.path[i-1].world, s.path[i].by))
		}
		if len(s.path) > 0 {
			found.Path = append(found.Path, s.engine.describe(s.path[len(s.path)-1].world, by))
		}
		return
	}
	name := w.name()
	if _, known := s.known[name]; known {
		return
	}
	s.known[name] = struct{}{}
	s.report.States++
	s.report.Depth = max(s.report.Depth, len(s.path))
	s.path = append(s.path, look{w, s.engine.actions(w), by})
}
