package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
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
func (w *request) askOwnParent(ctx context.Context, space string, from lookup, outer []string) error {
	if len(outer) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, lock := range w.names {
		shown, err := from.Show(ctx, space, lock)
		if err != nil {
			return nil
		}
		if err := w.ownParent(outer, shown); err != nil {
			return err
		}
	}
	return nil
}
