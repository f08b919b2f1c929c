package explore

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Limits bound the cost of an exploration.
type Limits struct {
	// Jobs is the number of goroutines that step machines. Zero means 1.
	Jobs int
	// Memory is the maximum memory use, in bytes. Zero means no limit. At the limit the exploration stops, and the
	// report says so.
	Memory int64
	// States is the maximum number of visited states. Zero means four billion.
	States int
	// Progress, if not nil, is called from time to time with the state of the search.
	Progress func(Report)
}

// Report is the result of an exploration.
type Report struct {
	Config      Config
	States      int
	Transitions int
	Depth       int    // of the state farthest from the beginning
	Frontier    int    // states that were not visited
	Stopped     string // why it ended early; otherwise ""
	Found       *Found // nil if no promise is broken
	Elapsed     time.Duration
}

// Found is a counter-example.
type Found struct {
	Violation
	Path   []uint16 // of actions, from the beginning; no shorter one breaks a promise
	Healed int      // number of steps without faults that follow, for P4
}

// Complete reports whether every reachable state was visited, and none breaks a promise.
func (r *Report) Complete() bool { return r.Stopped == "" && r.Found == nil && r.Frontier == 0 }

// Odds bounds the probability that two states shared a digest, so that one was missed.
func (r *Report) Odds() float64 {
	n := float64(r.States)
	return n * n / math.Exp2(129)
}

// frontier is a state whose successors are unknown.
type frontier struct {
	number uint32
	world  *world
}

// successor is the result of an action.
type successor struct {
	via     uint16
	heals   bool // it is on the way without faults
	passed  bool // everything was answered on the way
	settled bool
	name    digest
	world   *world // nil if the state is already known
	broken  *Violation
}

// searcher is one exploration, breadth first.
type searcher struct {
	config  Config
	limits  Limits
	known   store
	report  Report
	level   []frontier
	coming  []frontier
	engines []*engine
	began   time.Time
	before  time.Duration // spent in the explorations that this one resumes
}

// Explore visits every state that can be reached within the budgets, until none is left, a promise is broken, ctx is
// done or a limit is reached. The report does not depend on Jobs.
func Explore(ctx context.Context, c Config, l Limits) (Report, error) {
	x, err := Begin(c, l)
	if err != nil {
		return Report{}, err
	}
	return x.Run(ctx)
}

func newSearcher(c Config, l Limits) (*searcher, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if l.Jobs < 0 || l.Memory < 0 || l.States < 0 {
		return nil, fmt.Errorf("explore: Jobs %d, Memory %d, States %d: none may be negative", l.Jobs, l.Memory, l.States)
	}
	s := &searcher{config: c, limits: l, known: newStore(), report: Report{Config: c}, began: time.Now()}
	for range max(1, l.Jobs) {
		e, err := newEngine(&s.config)
		if err != nil {
			return nil, err
		}
		s.engines = append(s.engines, e)
	}
	return s, nil
}

// batch is the number of states visited between two checks of the limits.
const batch = 512

// run continues until the level is empty.
func (s *searcher) run(ctx context.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(200))
	for len(s.level)+len(s.coming) > 0 && s.report.Stopped == "" && s.report.Found == nil {
		if s.config.Depth > 0 && s.report.Depth >= s.config.Depth {
			s.report.Stopped = fmt.Sprintf("depth %d", s.config.Depth)
			break
		}
		if err := s.goDeeper(ctx); err != nil {
			return err
		}
	}
	s.report.Frontier = len(s.level) + len(s.coming)
	if s.report.Found == nil {
		s.report.Found = s.known.unsettled(s.report.Stopped == "")
	}
	s.report.Elapsed = s.before + time.Since(s.began)
	return nil
}

// goDeeper visits all states of the level, or stops within it. If it had stopped at the end of one, the level is empty.
func (s *searcher) goDeeper(ctx context.Context) error {
	for len(s.level) > 0 {
		part := s.level[:min(batch, len(s.level))]
		results, err := s.expand(part)
		if err != nil {
			return err
		}
		for i := range part {
			s.merge(part[i].number, results[i])
			part[i].world = nil
			if s.report.Found != nil {
				return nil
			}
		}
		s.level = s.level[len(part):]
		if s.report.Stopped = s.stops(ctx); s.report.Stopped != "" {
			return nil
		}
	}
	s.level, s.coming = s.coming, nil
	if len(s.level) > 0 {
		s.report.Depth++
	}
	return nil
}

// stops returns why the exploration ends here, or "".
func (s *searcher) stops(ctx context.Context) string {
	s.report.Frontier = len(s.level) + len(s.coming)
	if s.limits.Progress != nil {
		s.report.Elapsed = s.before + time.Since(s.began)
		s.limits.Progress(s.report)
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if s.limits.Memory > 0 {
		metrics.Read(live)
	}
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case s.limits.Memory > 0 && live[0].Value.Uint64() > uint64(s.limits.Memory):
		return fmt.Sprintf("memory %d MiB", s.limits.Memory>>20)
	case s.limits.States > 0 && s.report.States >= s.limits.States, s.report.States >= math.MaxUint32-batch*256:
		return fmt.Sprintf("states %d", s.report.States)
	}
	return ""
}

// expand finds the successors of states, with all engines.
func (s *searcher) expand(part []frontier) ([][]successor, error) {
	results := make([][]successor, len(part))
	errs := make([]error, len(s.engines))
	var jobs sync.WaitGroup
	for j, e := range s.engines {
		jobs.Go(func() {
			for i := j; i < len(part) && errs[j] == nil; i += len(s.engines) {
				results[i], errs[j] = s.successors(e, part[i].world)
			}
		})
	}
	jobs.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// successors finds the successors of one state. Meanwhile the known states are only read.
func (s *searcher) successors(e *engine, w *world) ([]successor, error) {
	n := e.upcoming(w)
	all := e.actions(w, n, nil)
	healing := n.healing(all)
	found := make([]successor, 0, len(all))
	for i, a := range all {
		to := successor{via: uint16(i), heals: i == healing}
		next, settled, err := e.proceed(w, n, a)
		if err != nil {
			return nil, err
		}
		to.passed = settled
		if to.broken = e.broken; to.broken == nil {
			if to.name, err = e.digest(next); err != nil {
				return nil, err
			}
			if _, known := s.known.number[to.name]; !known {
				to.world, to.settled = next, next.settled()
			}
		}
		found = append(found, to)
	}
	return found, nil
}

// merge adds the successors of a state, in order.
func (s *searcher) merge(from uint32, found []successor) {
	for _, to := range found {
		s.report.Transitions++
		if to.broken != nil {
			s.report.Found = &Found{Violation: *to.broken, Path: append(s.known.path(from), to.via)}
			return
		}
		number, known := s.known.number[to.name]
		if !known {
			number = s.known.add(to.name, from, to.via, to.settled)
			s.report.States++
			s.coming = append(s.coming, frontier{number, to.world})
		}
		if to.heals {
			s.known.heals[from] = number
			s.known.settled[from] = s.known.settled[from] || to.passed
		}
	}
}

// root finds the initial states: one, or one more for every member whose clock may be fast.
func (s *searcher) root() error {
	e := s.engines[0]
	for place := -1; place < s.config.Members; place++ {
		if place >= 0 && !s.config.Fast {
			break
		}
		w, err := e.beginning(place)
		if err != nil {
			return err
		}
		name, err := e.digest(w)
		if err != nil {
			return err
		}
		number := s.known.add(name, none, uint16(place+1), w.settled())
		s.report.States++
		s.level = append(s.level, frontier{number, w})
	}
	return nil
}

// Speed is the number of states found per second.
func (r *Report) Speed() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.States) / r.Elapsed.Seconds()
}
