package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// screen shows who holds what: on a terminal one line that is drawn anew above
// which the story scrolls, elsewhere a plain line a second.
type screen struct {
	out      io.Writer
	terminal bool
	began    time.Duration
	drawn    time.Duration
	register int         // the worker that has it, or 0
	pool     []int       // the workers that have it
	grants   map[int]int // by worker
}

func newScreen(out io.Writer, terminal bool, now time.Duration) *screen {
	return &screen{out: out, terminal: terminal, began: now, drawn: now, grants: map[int]int{}}
}

// every is how often who holds what is shown.
func (s *screen) every() time.Duration {
	if s.terminal {
		return 50 * time.Millisecond
	}
	return time.Second
}

// hear takes an event.
func (s *screen) hear(e event, now time.Duration) {
	switch e.Kind {
	case entered:
		s.grants[e.worker]++
		if e.Name == registerName {
			s.register = e.worker
		} else {
			s.pool = append(s.pool, e.worker)
		}
	case left, lost:
		if e.Name == registerName && s.register == e.worker {
			s.register = 0
		}
		if e.Name == poolName {
			s.pool = slices.DeleteFunc(s.pool, func(w int) bool { return w == e.worker })
		}
	}
	if now-s.drawn >= s.every() {
		s.drawn = now
		s.draw(now)
	}
}

func (s *screen) draw(now time.Duration) {
	line := fmt.Sprintf("%s  register %-8s  pool %-28s  grants %d", s.clock(now), s.holder(), s.holders(), s.total())
	if s.terminal {
		fmt.Fprintf(s.out, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(s.out, line)
}

func (s *screen) clock(now time.Duration) string {
	return fmt.Sprintf("%5.1fs", (now - s.began).Seconds())
}

func (s *screen) holder() string {
	if s.register == 0 {
		return "-"
	}
	return fmt.Sprintf("worker %d", s.register)
}

func (s *screen) holders() string {
	if len(s.pool) == 0 {
		return "-"
	}
	words := make([]string, len(s.pool))
	for i, w := range slices.Sorted(slices.Values(s.pool)) {
		words[i] = fmt.Sprint(w)
	}
	return "workers " + strings.Join(words, " ")
}

func (s *screen) total() (n int) {
	for _, of := range s.grants {
		n += of
	}
	return n
}

// say tells a part of the story.
func (s *screen) say(format string, args ...any) {
	if s.terminal {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	fmt.Fprintf(s.out, "%s  %s\n", s.clock(s.drawn), fmt.Sprintf(format, args...))
}

// close leaves the line that was drawn.
func (s *screen) close() {
	if s.terminal {
		fmt.Fprintln(s.out)
	}
}
