package lockertest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// values returns what a listing would show.
func (a *authority) values(_ testing.TB, space, name string) (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.names[place{space, name}]
	if e == nil {
		return nil
	}
	for _, h := range e.holders {
		all = append(all, h.Value)
	}
	return all
}

// share gives a request the value of the grant that it enters.
func (a *authority) share(w, same *want) {
	if a.fault == "reentry sets the value" {
		same.Value = w.Value
	}
	w.Value = same.Value
}

// begin has the faults of the first value of a grant.
func (a *authority) begin(w *want) {
	switch {
	case a.fault == "value of the request ignored":
		w.Value = ""
	case a.fault == "value outlives its lock" && w.Value == "":
		w.Value = a.lasts[w.place]
	}
}

func (w *want) AmendLock(ctx context.Context, l *holdfast.Lock, amendment holdfast.Amendment) error {
	a := w.authority
	if n := w.amends.Add(1); a.fault == "replaced value has no answer" {
		timer := time.NewTimer(time.Millisecond) // in which the next may come
		defer timer.Stop()
		<-timer.C
		if w.amends.Load() != n {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	if a.fault == "value is set later" {
		time.AfterFunc(5*time.Millisecond, func() { _ = w.setValue(l, amendment.Value) })
		return nil
	}
	return w.setValue(l, amendment.Value)
}

// setValue sets the value of a grant: of all locks under it.
func (w *want) setValue(l *holdfast.Lock, value string) error {
	a := w.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := l.Check(); err != nil {
		return err
	}
	e := a.names[w.place]
	if a.fault == "value not replaced" || e == nil {
		return nil
	}
	for _, h := range e.holders {
		mine := h.session == w.session && h.token == w.token
		switch a.fault {
		case "value of all holders":
			mine = true
		case "value of one lock of its owner":
			mine = h == w
		}
		if mine {
			h.Value, a.lasts[w.place] = value, value
		}
	}
	if a.fault != "observer sees no values" {
		a.changed(w.place)
	}
	return nil
}
