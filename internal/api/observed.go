package api

import (
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// States makes one sequence of the states of a name that members show: one after the other, or one again after a pause.
// The zero value with a space and a name has had none.
type States struct {
	Space, Name string

	last   *schema.Observed // nil before the first
	missed bool             // others may have been missed since
}

// Cut notes that states may be missing before the next one.
func (s *States) Cut() { s.missed = true }

// Next adds a state. It reports whether that differs from the one before, and if it does, whether others may have been
// missed since the last one that did. The error says why no member shows such a state.
func (s *States) Next(state *schema.Observed) (missed, differs bool, err error) {
	if err := s.check(state); err != nil {
		return false, false, err
	}
	s.missed = s.last != nil && (s.missed || state.GetMissed())
	if s.last != nil && isSame(s.last, state) {
		return false, false, nil
	}
	missed, s.missed, s.last = s.missed, false, state
	return missed, true, nil
}

func (s *States) check(state *schema.Observed) error {
	if state.GetName() != s.Name || state.GetSpace() != s.Space {
		return Fail(CodeInternal, fmt.Sprintf("the member shows %.80q in %.80q", state.GetName(), state.GetSpace()))
	}
	for _, g := range state.GetHolders() {
		if _, err := FromMode(g.GetMode()); err != nil || g.GetToken() > math.MaxInt64 {
			return Fail(CodeInternal, fmt.Sprintf("the member shows a holder in mode %d with token %d", g.GetMode(), g.GetToken()))
		}
	}
	for _, w := range state.GetWaiters() {
		if _, err := FromMode(w.GetMode()); err != nil {
			return Fail(CodeInternal, fmt.Sprintf("the member shows a waiter in mode %d", w.GetMode()))
		}
	}
	return nil
}

// isSame reports whether two states of a name have the same grants and the same requests. Members may differ about
// times.
func isSame(one, two *schema.Observed) bool {
	return slices.EqualFunc(one.GetHolders(), two.GetHolders(), func(x, y *schema.Grant) bool {
		return x.GetToken() == y.GetToken() && x.GetValue() == y.GetValue() && x.GetMember() == y.GetMember() &&
			x.GetMode() == y.GetMode() && x.GetUnits() == y.GetUnits()
	}) && slices.EqualFunc(one.GetWaiters(), two.GetWaiters(), func(x, y *schema.Wait) bool {
		return x.GetSession() == y.GetSession() && x.GetRequest() == y.GetRequest() && x.GetMember() == y.GetMember() &&
			x.GetMode() == y.GetMode() && x.GetUnits() == y.GetUnits() && x.GetOwner() == y.GetOwner() && x.GetReason() == y.GetReason()
	})
}

// FromObserved converts a state that States has accepted.
func FromObserved(o *schema.Observed) holdfast.State {
	state := holdfast.State{Space: o.GetSpace(), Name: o.GetName(), Missed: o.GetMissed()}
	for _, g := range o.GetHolders() {
		state.Holders = append(state.Holders, holdfast.Holder{
			Client: g.GetClient(), Owner: g.GetOwner(), Member: g.GetMember(), Reason: g.GetReason(), Value: g.GetValue(),
			Token: holdfast.Token(g.GetToken()), Mode: holdfast.Mode(g.GetMode()), Units: int(g.GetUnits()), Since: g.GetSince().AsTime(),
		})
	}
	for _, w := range o.GetWaiters() {
		state.Waiters = append(state.Waiters, holdfast.Waiter{
			Client: w.GetClient(), Owner: w.GetOwner(), Member: w.GetMember(), Reason: w.GetReason(),
			Mode: holdfast.Mode(w.GetMode()), Units: int(w.GetUnits()), Since: w.GetSince().AsTime(),
		})
	}
	return state
}
