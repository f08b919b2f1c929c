package lock

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

// Amendment is a change of a grant by its holder. It states the whole, and not a difference: repeated, late or out of
// order it does no harm.
type Amendment struct {
	// Revision orders the amendments of one grant; it is never 0. Its holder counts them.
	Revision uint64
	Value    string
}

// Check returns an error if no honest edge lets the amendment through.
func (a *Amendment) Check() error {
	if a.Revision == 0 {
		return fmt.Errorf("%w: an amendment without a revision", holdfast.ErrConflict)
	}
	return holdfast.CheckValue(a.Value)
}

// Amend amends the grant that a session holds by a request, and returns the answer: Amended with the revision in force,
// which is later than the amendment's if that came too late to act; or Refused with ErrNotHeld, with the reason why the
// grant is to end or has ended, or with what is wrong with the amendment. Since is 0 in the answer to one that has changed
// nothing. Token 0 means any token of the request.
func (t *Table) Amend(now Time, s SessionID, name string, token holdfast.Token, request uint64, a *Amendment) (d Decision, changed bool) {
	i := t.findHold(s, name, token, request)
	if err := t.mayAmend(now, i, a); err != nil {
		return Decision{Kind: Refused, Session: s, Request: request, Name: name, Token: token, Revision: a.Revision, Err: err}, false
	}
	t.alter(t.entries.at(i).live)
	detail := t.detailOf(i)
	if changed = a.Revision > detail.Revision; changed {
		detail.Revision, detail.Value = a.Revision, a.Value
	}
	if d = t.decision(Amended, i); !changed {
		d.Since = 0
	}
	return d, changed
}

// mayAmend returns why the hold at entry i is not amended.
func (t *Table) mayAmend(now Time, i int32, a *Amendment) error {
	if i == 0 {
		return holdfast.ErrNotHeld
	}
	switch s := t.entries.at(i); {
	case s.revoked:
		return losses[s.why]
	case t.end(s) <= now:
		return holdfast.HoldLimit
	}
	return a.Check()
}
