package shrink

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/sim"
)

// Config describes how to shrink.
type Config struct {
	// Protocol is the protocol of the script. Required.
	Protocol sim.Protocol
	// Runs is the maximum number of runs. Zero means [DefaultRuns].
	Runs int
	// Jobs is how many of them run at a time, which only affects the duration. Zero means one.
	Jobs int
	// Accept, if not nil, decides whether to accept a script that fails in the same way. Meanwhile no run is in
	// progress, so that it may play the script under other conditions. Nil accepts every one.
	Accept func(*sim.Script) bool
	// Progress, if not nil, is called after each reduction.
	Progress func(Size)
}

// DefaultRuns is enough for most runs of a minute.
const DefaultRuns = 4000

// Size is the size of a script.
type Size struct {
	Runs    int           // spent so far
	Choices int           // that differ from their defaults
	Steps   int           // of the machines, until it fails
	Until   time.Duration // the time of the failure
}

// String describes the size for people.
func (s Size) String() string {
	return fmt.Sprintf("%d choices, %d steps, failing after %v", s.Choices, s.Steps, s.Until.Round(time.Millisecond))
}

// Shrunk is a script after shrinking.
type Shrunk struct {
	Script   *sim.Script
	Played   sim.Played
	From, To Size
	// Done reports that nothing smaller was found, rather than that the budget was used up.
	Done bool
}

// Seed records a failing seed, and shrinks it. It returns an error if the seed does not fail, or if its recording does
// not repeat the failure.
func Seed(run sim.Config, seed uint64, c Config) (*Shrunk, error) {
	script, result, err := sim.Record(run, seed, nil)
	if err != nil {
		return nil, err
	}
	if result.Outcome == sim.OK {
		return nil, fmt.Errorf("shrink: seed %d does not fail", seed)
	}
	c.Protocol = run.Protocol
	return Script(script, c)
}

// Script shrinks a script that fails.
func Script(script *sim.Script, c Config) (*Shrunk, error) {
	if c.Runs < 0 || c.Jobs < 0 {
		return nil, fmt.Errorf("shrink: Runs %d, Jobs %d: neither may be negative", c.Runs, c.Jobs)
	}
	c.Runs = cmp.Or(c.Runs, DefaultRuns)
	played, err := sim.Play(script, sim.Stage{Protocol: c.Protocol})
	if err != nil {
		return nil, err
	}
	if played.Outcome == sim.OK {
		return nil, fmt.Errorf("shrink: the script does not fail")
	}
	s := &search{config: c, runs: 1}
	s.played = played
	if !s.accepts(script, &played) {
		return nil, fmt.Errorf("shrink: what the script says in vain cannot be left out, or the script is not accepted")
	}
	s.adopt(script, &played)
	from := s.size()
	done := s.all()
	last, err := sim.Play(s.script, sim.Stage{Protocol: c.Protocol})
	if err != nil {
		return nil, err
	}
	return &Shrunk{Script: s.script, Played: last, From: from, To: s.size(), Done: done}, nil
}

// search is the state of shrinking a script.
type search struct {
	config Config
	runs   int
	script *sim.Script // the smallest that fails in the same way
	played sim.Played
}

func (s *search) size() Size {
	return Size{Runs: s.runs, Choices: len(s.script.Choices), Steps: s.played.Steps, Until: s.played.Violation.At}
}

// adopt takes a failing script, without its void choices.
func (s *search) adopt(script *sim.Script, played *sim.Played) {
	s.script, s.played = script.Clone(), *played
	s.script.Choices = played.Used
	if s.config.Progress != nil {
		s.config.Progress(s.size())
	}
}

// spent reports whether the budget is used up.
func (s *search) spent() bool { return s.runs >= s.config.Runs }

// width is the number of candidates tried together. It is not the number of jobs: the result must not depend on that.
const width = 4

// candidate makes a script that may be smaller; nil if it would be the same. A script of a stuck run may have a million
// choices, so candidates are made when they are tried.
type candidate func() *sim.Script

// ready returns candidates for finished scripts.
func ready(scripts ...*sim.Script) (all []candidate) {
	for _, script := range scripts {
		all = append(all, func() *sim.Script { return script })
	}
	return all
}

// first tries candidates, and takes the first that fails in the same way. It returns its index, or -1.
func (s *search) first(candidates []candidate) int {
	for next := 0; next < len(candidates) && !s.spent(); {
		var some []*sim.Script
		var index []int
		for ; next < len(candidates) && len(some) < width; next++ {
			if script := candidates[next](); script != nil {
				some, index = append(some, script), append(index, next)
			}
		}
		played := s.play(some)
		s.runs += len(some)
		for i := range some {
			if s.same(&played[i]) && s.accepts(some[i], &played[i]) {
				s.adopt(some[i], &played[i])
				return index[i]
			}
		}
	}
	return -1
}

// accepts reports whether a script that fails in the same way can be taken without its void choices: a choice with a
// wrong value may have had a partial effect.
func (s *search) accepts(script *sim.Script, played *sim.Played) bool {
	plain := script.Clone()
	plain.Choices = played.Used
	if len(played.Wrong) > 0 {
		again := s.play([]*sim.Script{plain})
		s.runs++
		if !s.same(&again[0]) {
			return false
		}
		*played = again[0]
	}
	return s.config.Accept == nil || s.config.Accept(plain)
}

// play plays scripts, some at a time. A script that cannot be played counts as not failed.
func (s *search) play(scripts []*sim.Script) []sim.Played {
	played := make([]sim.Played, len(scripts))
	var jobs sync.WaitGroup
	turns := make(chan struct{}, max(1, s.config.Jobs))
	for i, script := range scripts {
		turns <- struct{}{}
		jobs.Go(func() {
			defer func() { <-turns }()
			var err error
			if played[i], err = sim.Play(script, sim.Stage{Protocol: s.config.Protocol, Until: s.until()}); err != nil {
				played[i] = sim.Played{}
			}
		})
	}
	jobs.Wait()
	return played
}

// until is the time by which a candidate must have broken its promise. A run that gets stuck shows this only at its
// end.
func (s *search) until() time.Duration {
	if s.played.Outcome == sim.Stuck {
		return 0
	}
	at := s.played.Violation.At
	return at + at/4 + time.Second
}

// same reports whether a run fails in the same way as the first.
func (s *search) same(p *sim.Played) bool {
	if p.Outcome != s.played.Outcome || p.Outcome == sim.OK {
		return false
	}
	if p.Outcome == sim.Crashed {
		return prefix(p.Violation.Detail) == prefix(s.played.Violation.Detail)
	}
	return p.Violation.Promise == s.played.Violation.Promise
}

// prefix is a violation's detail up to the first number.
func prefix(detail string) string {
	if i := strings.IndexAny(detail, "0123456789\n"); i >= 0 {
		return detail[:i]
	}
	return detail
}
