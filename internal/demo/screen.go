package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// screen shows the current holders: on a terminal one redrawn line above which the story scrolls, elsewhere a plain
// line a second.
type screen struct {
	out      io.Writer
	terminal bool
	now      func() time.Duration
	began    time.Duration

	mu       sync.Mutex
	drawn    time.Duration
	register clustertest.Event   // of the worker that has it; zero if none
	pool     []clustertest.Event // of the workers that have it
	grants   int
}

func newScreen(out io.Writer, terminal bool, now func() time.Duration) *screen {
	began := now()
	return &screen{out: out, terminal: terminal, now: now, began: began, drawn: began}
}

// intro explains the display.
func (s *screen) intro() {
	fmt.Fprintf(s.out, `Three members give out locks together; one of them coordinates. Six workers,
processes of their own, pass two locks around:
  %-14s  one worker at a time; it writes to a file that refuses an
                  older token than the last one that wrote
  %-14s  %d of %d units each, so two workers at a time
A member that hears nothing from the others for its lease stops, before another
member takes its place. The lease is %v here, so that you wait less; by default
it is 3s.

`, clustertest.RegisterName, clustertest.PoolName, clustertest.PoolUnits, clustertest.PoolCapacity, lease)
}

// every returns the interval of the display.
func (s *screen) every() time.Duration {
	if s.terminal {
		return 50 * time.Millisecond
	}
	return time.Second
}

// hear handles an event.
func (s *screen) hear(e clustertest.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case clustertest.Entered:
		s.grants++
		if e.Name == clustertest.RegisterName {
			s.register = e
		} else if s.pool = append(s.pool, e); len(s.pool) > clustertest.PoolCapacity/clustertest.PoolUnits {
			// Reports come by several pipes: the first worker has left, and its report is still under way. The judge
			// checks whether it really has.
			s.pool = s.pool[1:]
		}
	case clustertest.Left, clustertest.Lost:
		if e.Name == clustertest.RegisterName && s.register.Worker == e.Worker {
			s.register = clustertest.Event{}
		}
		if e.Name == clustertest.PoolName {
			s.pool = slices.DeleteFunc(s.pool, func(had clustertest.Event) bool { return had.Worker == e.Worker })
		}
	}
	if now := s.now(); now-s.drawn >= s.every() {
		s.drawn = now
		s.draw()
	}
}

func (s *screen) draw() {
	line := fmt.Sprintf("%s    register: %-14s  pool: %-16s  grants: %d", s.time(), s.holder(), s.holders(), s.grants)
	if s.terminal {
		fmt.Fprintf(s.out, "\r\x1b[K\x1b[?7l%s\x1b[?7h", line) // a line that wrapped could not be redrawn
		return
	}
	fmt.Fprintln(s.out, line)
}

func (s *screen) time() string {
	return fmt.Sprintf("%5.1fs", (s.now() - s.began).Seconds())
}

func (s *screen) holder() string {
	if s.register.Worker == 0 {
		return "-"
	}
	return fmt.Sprintf("worker %d via %s", s.register.Worker, s.register.Member)
}

func (s *screen) holders() string {
	if len(s.pool) == 0 {
		return "-"
	}
	var entries []string
	for _, e := range s.pool {
		entries = append(entries, fmt.Sprintf("%d via %s", e.Worker, e.Member))
	}
	slices.Sort(entries)
	return strings.Join(entries, ", ")
}

// say prints a part of the story.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	fmt.Fprintf(s.out, "%s  %s\n", s.time(), fmt.Sprintf(format, args...))
}

// close ends the redrawn line.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprintln(s.out)
	}
}
