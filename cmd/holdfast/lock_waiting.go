package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// outerVariable has the sessions of all enclosing commands of lock.
const outerVariable = "HOLDFAST_LOCK_OUTER"

// outerSessions returns them.
func (p *program) outerSessions() []string {
	for _, variable := range p.environ {
		if value, found := strings.CutPrefix(variable, outerVariable+"="); found {
			return strings.Fields(value)
		}
	}
	return nil
}

// ownParent returns the error of a wait that could never end: an enclosing command of lock, which waits for this one,
// holds the name. It is nil if the modes are compatible.
func (w *request) ownParent(outer []string, shown *schema.Lock) error {
	wanted, err := holdfast.NewRequest(shown.Name, w.options...)
	if err != nil {
		return err
	}
	for _, holder := range shown.Holders {
		if !slices.Contains(outer, holder.Session) || compatible(wanted, shown, holder) {
			continue
		}
		err := fmt.Errorf("%w by the command that runs this one, which waits for its end: "+
			"do without this lock (the outer one has token %v), take another name, or take both with --shared", holdfast.ErrHeld, holder.Token)
		return &exitError{w.busy, &holdfast.Error{Op: "lock", Space: shown.Space, Name: shown.Name, Err: err}}
	}
	return nil
}

// compatible reports whether a request can be granted alongside a holder.
func compatible(wanted holdfast.Request, shown *schema.Lock, holder *schema.Grant) bool {
	switch {
	case wanted.Mode != holdfast.Mode(holder.Mode):
		return false
	case wanted.Mode == holdfast.ModeSlots:
		return wanted.Units+int(holder.Units) <= int(shown.Capacity)
	}
	return wanted.Mode == holdfast.ModeShared
}

// askOwnParent is ownParent for a command that prints no line when it waits. If the question fails, the request for the
// lock will report the error.
func (w *request) askOwnParent(ctx context.Context, space string, admin *client.Admin, outer []string) error {
	if len(outer) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, lock := range w.names {
		shown, err := admin.Show(ctx, space, lock)
		if err != nil {
			return nil
		}
		if err := w.ownParent(outer, shown); err != nil {
			return err
		}
	}
	return nil
}

// How often a wait checks its name, and how long it waits for the answer.
const (
	waitLook  = 2 * time.Second
	lookLimit = time.Second
)

// wait reports the progress of a wait: on the terminal, and to --status-fd.
type wait struct {
	*locking
	admin  *client.Admin
	name   string
	screen bool // standard error is a terminal

	waits    bool // the authority has queued it
	position int
	last     occurrence
}

// reportWaits follows the requests for the names until ctx ends. It returns a function that the request for a name
// calls once it is queued, and one that waits for the end of all. A name held by an enclosing command ends with fail.
func (l *locking) reportWaits(ctx context.Context, fail func(error)) (queued func(name string, position int), stop func() error) {
	queued, stop = func(name string, position int) {
		l.status.write(occurrence{Event: "waiting", Name: name, Position: &position})
	}, func() error { return nil }
	outer, screen := l.program.outerSessions(), supervise.IsTerminal(l.program.stderr)
	if l.order.store != nil || l.status.to == nil && !screen && len(outer) == 0 {
		return queued, stop
	}
	options, err := optionsOf(l.flags)
	if err != nil {
		return queued, stop
	}
	admin, err := client.DialAdmin(serverOf(l.flags), options...)
	if err != nil {
		return queued, stop // the client has reported the invalid address
	}
	ctx, cancel := context.WithCancel(ctx)
	names, over := make(chan wait, len(l.order.names)), make(chan struct{})
	go func() {
		defer close(over)
		w := wait{locking: l, admin: admin, name: l.order.names[0], screen: screen}
		w.run(ctx, names, func(shown *schema.Lock) {
			if err := l.order.ownParent(outer, shown); err != nil {
				fail(err)
			}
		})
		l.say.replace("")
	}()
	return func(name string, position int) { names <- wait{name: name, position: position} },
		func() error { cancel(); <-over; return admin.Close() }
}

// run checks the awaited name, repeatedly.
func (w *wait) run(ctx context.Context, names <-chan wait, found func(*schema.Lock)) {
	timer := time.NewTimer(lookLimit)
	defer timer.Stop()
	for {
		select {
		case next := <-names:
			w.name, w.position, w.waits, w.last = next.name, next.position, true, occurrence{}
		case <-timer.C:
		case <-ctx.Done():
			// Names queued before this goroutine ran have been granted meanwhile.
			for len(names) > 0 {
				next := <-names
				w.name, w.position, w.waits = next.name, next.position, true
				w.status.write(w.describe(nil))
			}
			return
		}
		w.look(ctx, found)
		timer.Reset(waitLook)
	}
}

// look asks the member once.
func (w *wait) look(ctx context.Context, found func(*schema.Lock)) {
	lookCtx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	shown, err := w.admin.Show(lookCtx, spaceOf(w.flags), w.name)
	if err == nil {
		found(shown)
	}
	now := w.report(shown)
	if w.screen && ctx.Err() == nil {
		w.say.replace(sentenceOf(now, shown, err))
	}
}

// report writes the result of a check, if it is new; nil if the member has not answered. That does not change a wait
// that was reported before.
func (w *wait) report(shown *schema.Lock) occurrence {
	now, reported := w.describe(shown), w.last.Event != ""
	if w.waits && !now.equal(w.last) && (shown != nil || !reported) {
		w.last = now
		w.status.write(now)
	}
	return now
}

// describe returns the holder of the name, and the number of waiters ahead of us.
func (w *wait) describe(shown *schema.Lock) occurrence {
	o := occurrence{Event: "waiting", Name: w.name}
	if shown != nil {
		for _, waiter := range shown.Waiters {
			if waiter.Session == w.client.Session() {
				w.position = int(waiter.Position)
			}
		}
		if len(shown.Holders) > 0 {
			holder := shown.Holders[0]
			o.Holder, o.Since, o.Reason = cmp.Or(holder.Owner, holder.Client), api.At(api.TimeOf(holder.Since)), holder.Reason
		}
	}
	if w.waits {
		position := w.position
		o.Position = &position
	}
	return o
}

// sentenceOf returns the terminal's line.
func sentenceOf(o occurrence, shown *schema.Lock, err error) string {
	text := fmt.Sprintf("%s: waiting for lock %q", name, o.Name)
	if o.Position != nil {
		text += fmt.Sprintf(", %d before it", *o.Position)
	}
	switch {
	case err != nil && o.Position == nil:
		var opErr *holdfast.Error
		if errors.As(err, &opErr) {
			err = opErr.Err
		}
		return text + ": " + plain(err.Error())
	case o.Holder != "":
		text += ": held by " + o.Holder
		if member := shown.Holders[0].Member; member != "" {
			text += " on " + member
		}
		text += " since " + o.Since.Local().Format(time.TimeOnly)
		if o.Reason != "" {
			text += " (" + o.Reason + ")"
		}
		if others := len(shown.Holders) - 1; others > 0 {
			text += fmt.Sprintf(" and %d more", others)
		}
		if first := shown.Holders[0]; first.Grace {
			text += "; its hold limit has passed, and its grace ends at " + first.Until.AsTime().Local().Format(time.TimeOnly)
		}
	}
	return text
}
