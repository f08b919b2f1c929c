package elect

import (
	"context"

	"github.com/holdfast-locks/holdfast"
)

// Term is the leadership of one candidate, from its election to its end. Its methods are safe for concurrent use. The
// zero Term is not valid.
type Term struct{ lock *holdfast.Lock }

// Campaign waits until this candidate leads. The wait ends with ctx, and the candidate then gives up its place among
// the candidates. The leadership lasts until [Term.Resign], the loss of the lock, or the end of the Locker: it outlives
// ctx. The error is that of [holdfast.Locker.Lock].
func Campaign(ctx context.Context, locks holdfast.Locker, name string, options ...Option) (Term, error) {
	s, err := resolve(options)
	if err != nil {
		return Term{}, &holdfast.Error{Op: "campaign", Name: name, Err: err}
	}
	lock, err := locks.Lock(ctx, name, s.request...)
	return Term{lock}, err
}

// Name returns the name of the election.
func (t Term) Name() string { return t.lock.Name() }

// Token returns the fencing token of the term: that of a later term is larger. Pass it to what the leader writes to.
func (t Term) Token() holdfast.Token { return t.lock.Token() }

// Context returns a context that ends with the leadership, before another candidate leads. context.Cause returns an
// ErrLost with its reason after a loss, and context.Canceled after Resign. The function of [Run] has a context of its
// own, which ends with that of Run as well.
func (t Term) Context() context.Context { return t.lock.Context() }

// Check returns nil while this candidate leads, ErrLost with the reason after a loss, and ErrNotHeld after Resign.
func (t Term) Check() error { return t.lock.Check() }

// Announce replaces the published value of the leader. It is [holdfast.Lock.SetValue].
func (t Term) Announce(ctx context.Context, value string) error { return t.lock.SetValue(ctx, value) }

// Resign ends the leadership. When it returns nil, the next candidate in order leads, or may. It is
// [holdfast.Lock.Unlock], which has the errors: after a loss, ErrLost.
func (t Term) Resign(ctx context.Context) error { return t.lock.Unlock(ctx) }
