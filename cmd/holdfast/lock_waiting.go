package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// How often a wait looks at its name, how long it waits for the answer, and how often it redraws the terminal's line.
const (
	waitLook  = 2 * time.Second
	lookLimit = time.Second
	waitDraw  = time.Second
	whyLimit  = lookLimit / 4 // for the answer why there was none
)

// lookup looks at one lock. An Admin does that at a member.
type lookup interface {
	Show(ctx context.Context, space, name string) (*schema.Lock, error)
}

// statusLookup also knows why a space grants nothing.
type statusLookup interface {
	Status(ctx context.Context) (*schema.Status, error)
}

// waiting reports the progress of a wait for locks: on a terminal as one line that is redrawn in place, with --verbose
// as lines, and to --status-fd. Its methods hand over to its goroutine, and may be called before start: then they do
// nothing.
type waiting struct {
	names   []string
	space   string
	server  string        // the addresses of the members; "" with a store
	limit   time.Duration // of the wait; asLongAsItTakes without one
	say     *lineWriter
	screen  bool // say writes to a terminal
	verbose bool // say gets lines
	status  status
	found   func(*schema.Lock)                               // gets each answer; nil: not needed
	open    func(context.Context) (lookup, io.Closer, error) // what looks at locks; nil: opened gives it, or nothing does
	ours    func(*schema.Wait) bool                          // recognizes the request in a queue, before the session is known

	began   time.Time
	changes chan func()
	answers chan finding
	stop    context.CancelFunc // nil: not started
	ended   chan struct{}

	// The goroutine's own.
	lookup   lookup
	closer   io.Closer // of what was opened for the looks
	asking   bool
	session  string // "" unknown
	at       int    // which of the names is awaited
	queued   bool   // the authority has queued the request
	position int    // number of waiters ahead of it; -1 unknown
	finding  finding
	last     occurrence
	shown    bool // a line was printed
}

// finding is an answer to a question about a name.
type finding struct {
	name   string
	lock   *schema.Lock
	status *schema.Status // if nothing is held
	err    error
}

// start begins to follow the wait, until ctx or finish ends it.
func (w *waiting) start(ctx context.Context) {
	w.began, w.position = time.Now(), -1
	if w.status.to == nil && !w.screen && !w.verbose && w.found == nil {
		return
	}
	ctx, w.stop = context.WithCancel(ctx)
	w.changes, w.answers, w.ended = make(chan func(), len(w.names)+1), make(chan finding, 1), make(chan struct{})
	go func() {
		defer close(w.ended)
		w.run(ctx)
	}()
}

// change runs a function on the goroutine.
func (w *waiting) change(f func()) {
	if w.stop == nil {
		return
	}
	select {
	case w.changes <- f:
	case <-w.ended:
	}
}

// opened reports the session of the requests, and who looks at locks from now on; nil keeps the present one.
func (w *waiting) opened(session string, from lookup) {
	w.change(func() {
		w.session = session
		if from != nil {
			w.lookup = from
		}
	})
}

// queue reports that the request for a name waits at a position.
func (w *waiting) queue(name string, position int) {
	w.change(func() {
		w.at, w.position, w.queued, w.last = max(0, slices.Index(w.names, name)), position, true, occurrence{}
	})
}

// finish removes the line, and reports how long a visible wait for granted locks has taken.
func (w *waiting) finish(granted bool) error {
	if w.stop == nil {
		return nil
	}
	w.stop()
	<-w.ended
	if w.shown && w.verbose && granted {
		w.say.printf("%s granted after %s", lockNames(w.names), formatAge(time.Since(w.began)))
	}
	if w.closer == nil {
		return nil
	}
	return w.closer.Close()
}

// run follows the wait.
func (w *waiting) run(ctx context.Context) {
	resized := make(chan os.Signal, 1)
	if w.screen {
		signal.Notify(resized, syscall.SIGWINCH)
		defer signal.Stop(resized)
	}
	look, draw := time.NewTimer(lookLimit), time.NewTicker(waitDraw)
	defer look.Stop()
	defer draw.Stop()
	for {
		select {
		case change := <-w.changes:
			if change(); w.queued {
				w.ask(ctx)
			}
		case <-look.C:
			w.ask(ctx)
		case found := <-w.answers:
			w.asking = false
			if ctx.Err() != nil {
				continue // it was cut off
			}
			again := w.take(found)
			if w.report(); again {
				w.ask(ctx)
				continue
			}
			look.Reset(waitLook)
		case <-draw.C:
			w.draw()
		case <-resized:
			w.draw()
		case <-ctx.Done():
			w.leave()
			return
		}
	}
}

// leave reports names queued before this goroutine ran, which have been granted meanwhile, and removes the line.
func (w *waiting) leave() {
	if w.asking {
		<-w.answers // it was cut off
	}
	for len(w.changes) > 0 {
		if (<-w.changes)(); w.queued && w.last.Event == "" {
			w.last = w.describe()
			w.status.write(w.last)
		}
	}
	if w.screen {
		w.say.replace("")
	}
}

// ask looks at the awaited name, unless an answer is awaited.
func (w *waiting) ask(ctx context.Context) {
	if w.asking {
		return
	}
	if w.lookup == nil && w.open != nil {
		from, closer, err := w.open(ctx)
		if w.open = nil; err == nil { // the request itself reports the error
			w.lookup, w.closer = from, closer
		}
	}
	from, question := w.lookup, finding{name: w.names[w.at]}
	w.asking = true
	go func() {
		if from == nil {
			question.err = errUnopened
		} else {
			question.look(ctx, from, w.space, w.server)
		}
		w.answers <- question // it has room
	}()
}

// errUnopened is why nothing is granted before a store is open.
var errUnopened = errors.New("the store has not answered yet")

// look asks once, and also for the state of the space if nothing is held.
func (f *finding) look(ctx context.Context, from lookup, space, server string) {
	asking, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	f.lock, f.err = from.Show(asking, space, f.name)
	if asking.Err() != nil && ctx.Err() == nil && f.err != nil {
		f.err = fmt.Errorf("no answer from %s within %v", cmp.Or(server, "the store"), lookLimit)
		if from, can := from.(statusLookup); can { // a member without a quorum knows no lock, and why
			again, stop := context.WithTimeout(ctx, whyLimit)
			defer stop()
			f.status, _ = from.Status(again)
		}
		return
	}
	var unreachable *client.UnreachableError
	if errors.As(f.err, &unreachable) && !unreachable.Answered() {
		return
	}
	if f.err != nil || len(f.lock.Holders) == 0 {
		if from, can := from.(statusLookup); can {
			// Without an answer the sentence has the first error, or only the name.
			f.status, _ = from.Status(asking)
		}
	}
}

// take keeps an answer. It reports whether another name is awaited instead.
func (w *waiting) take(found finding) (again bool) {
	if found.name != w.names[w.at] {
		return true
	}
	if w.finding = found; found.lock == nil {
		return false
	}
	if w.found != nil {
		w.found(found.lock)
	}
	for _, waiter := range found.lock.Waiters {
		if w.session != "" && waiter.Session == w.session || w.session == "" && w.ours != nil && w.ours(waiter) {
			w.session, w.position = waiter.Session, int(waiter.Position)
			return false
		}
	}
	granted := slices.ContainsFunc(found.lock.Holders, func(g *schema.Grant) bool { return g.Session == w.session })
	if w.session != "" && granted && w.at < len(w.names)-1 && !w.queued {
		w.at, w.position = w.at+1, -1
		return true
	}
	return false
}

// report writes a new state of the wait as a line, and to --status-fd; and it redraws the terminal's line.
func (w *waiting) report() {
	now := w.describe()
	if !now.equal(w.last) {
		if w.last = now; w.queued {
			w.status.write(now)
		}
		if w.verbose && !w.screen {
			w.say.printf("%s", w.sentence(now).line())
			w.shown = true
		}
	}
	w.draw()
}

// draw redraws the terminal's line, once there is an answer about the name. A job in the background has no line.
func (w *waiting) draw() {
	if !w.screen || w.finding.name == "" {
		return
	}
	if !inForeground(w.say.file) {
		w.say.replace("")
		return
	}
	w.say.replace(w.sentence(w.describe()).fit(columns(w.say.file) - 1))
	w.shown = true
}

// lockNames names locks in a sentence.
func lockNames(names []string) string {
	quoted := make([]string, len(names))
	for i, lock := range names {
		quoted[i] = fmt.Sprintf("%q", lock)
	}
	if len(names) == 1 {
		return "lock " + quoted[0]
	}
	return "locks " + strings.Join(quoted, ", ")
}

// waitReport returns the reporter of a wait for the request's locks.
func (p *program) waitReport(w *request, space string, say *lineWriter, verbose bool) *waiting {
	report := &waiting{
		names: w.names, space: space, limit: w.limit(), say: say, verbose: verbose,
		screen: p.drawsOn(p.stderr),
	}
	if w.try {
		report.screen, report.verbose = false, false // it does not wait
	}
	return report
}

// ownParents makes the report end a wait for a name that an enclosing command of lock holds.
func (w *waiting) ownParents(order *request, outer []string, fail func(error)) {
	if len(outer) == 0 {
		return
	}
	w.found = func(shown *schema.Lock) {
		if err := order.ownParent(outer, shown); err != nil {
			fail(err)
		}
	}
}

// reasonFor removes the operation and the kind from an error: the sentence around it has them.
func reasonFor(err error) string {
	var opErr *holdfast.Error
	if errors.As(err, &opErr) {
		err = opErr.Err
	}
	reason := strings.TrimPrefix(plain(err.Error()), holdfast.ErrUnavailable.Error()+": ")
	var unreachable *client.UnreachableError
	if errors.As(err, &unreachable) && unreachable.Refused() {
		reason += "; start a member with '" + name + " serve'"
	}
	return reason
}
