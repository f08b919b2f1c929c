package explore

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Print writes the run of the counter-example, a line for every event, and with each transition the beliefs of every
// user. The times are real time since the beginning of the run.
func (r *Report) Print(out io.Writer) error {
	if r.Found == nil {
		return fmt.Errorf("explore: there is no counter-example to tell")
	}
	c := r.Config
	e, err := newEngine(&c)
	if err != nil {
		return err
	}
	t := &printer{out: out, engine: e}
	t.line("%v; each member's clock begins at a large number of its own", &c)
	if !c.Formed {
		t.engine.trace = t.line
	}
	w, err := t.engine.beginning(int(r.Found.Path[0]) - 1)
	if err != nil {
		return err
	}
	t.zero, t.now, t.engine.trace = w.now, w.now, t.line
	if c.Formed {
		t.line("the cluster has formed: m1 coordinates")
	}
	for _, via := range r.Found.Path[1:] {
		n := t.engine.upcoming(w)
		all := t.engine.actions(w, n, nil)
		if int(via) >= len(all) {
			return fmt.Errorf("explore: the counter-example does not fit these machines: they have %d ways to go on at %v, and it takes number %d", len(all), w.now, via)
		}
		if w, err = t.proceed(w, n, all[via]); err != nil {
			return err
		}
	}
	if t.engine.broken == nil && r.Found.Promise == liveness {
		t.line("from here on without faults, again and again:")
		for range min(r.Found.Healed, maxHealed) {
			n := t.engine.upcoming(w)
			all := t.engine.actions(w, n, nil)
			via := n.healing(all)
			if via < 0 {
				t.line("nothing can happen any more")
				break
			}
			if w, err = t.proceed(w, n, all[via]); err != nil {
				return err
			}
		}
	}
	t.line("%v", &r.Found.Violation)
	return t.err
}

// maxHealed limits the lines about a way without faults that leads nowhere.
const maxHealed = 400

// printer writes the lines of a run.
type printer struct {
	out    io.Writer
	engine *engine
	zero   time.Duration // the beginning of the run
	now    time.Duration
	last   string // what users believed
	err    error
}

func (t *printer) line(format string, arguments ...any) {
	if _, err := fmt.Fprintf(t.out, "%10.4fs  %s\n", (t.now - t.zero).Seconds(), fmt.Sprintf(format, arguments...)); t.err == nil && err != nil {
		t.err = fmt.Errorf("write the trace: %w", err)
	}
}

// proceed is engine.proceed, step by step.
func (t *printer) proceed(w *world, n next, a action) (_ *world, err error) {
	for range longestWay {
		if w, err = t.take(w, n, a); err != nil || t.engine.broken != nil {
			break
		}
		if n, a = t.engine.upcoming(w), (action{kind: goOn}); !t.engine.forced(w, n) {
			break
		}
	}
	return w, err
}

func (t *printer) take(w *world, n next, a action) (*world, error) {
	t.now = w.now
	after, err := t.engine.take(w, n, a)
	if err != nil {
		return nil, err
	}
	t.now = after.now
	if believed := after.beliefs(); believed != t.last {
		t.last = believed
		t.line("  %s", believed)
	}
	return after, nil
}

// beliefs describes the locks that every user believes it holds.
func (w *world) beliefs() string {
	var all []string
	for i := range w.Users {
		u := &w.Users[i]
		switch {
		case w.believes(i):
			all = append(all, fmt.Sprintf("%s believes that it holds %q", w.who(i), nameOf(u.Name)))
		case u.Phase == waiting:
			all = append(all, fmt.Sprintf("%s waits for %q", w.who(i), nameOf(u.Name)))
		}
	}
	if len(w.Users) == 0 {
		return ""
	}
	if len(all) == 0 {
		return "no user believes anything"
	}
	return strings.Join(all, "; ")
}
