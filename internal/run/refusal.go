package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Refusal completes the error of a refused request for a name. An ErrHeld without a holder, because the wait has ended
// and not the request, or because the refusing member knows none, becomes a HeldError with the holder, or the
// ErrUnavailable with the reason why the space grants nothing and until when. Name returns a member's name. It asks the
// member's own machines, which may ask others; if that takes longer than ctx, the error stays as it is.
func (d *Driver) Refusal(ctx context.Context, port protocol.Port, lockName string, err error, name func(protocol.ID) string) error {
	var by *lock.HeldBy
	var held *holdfast.HeldError
	switch {
	case errors.As(err, &by) && by.Holder != (lock.SessionID{}):
		return d.since(ctx, port, lockName, d.Explain(err, name), name)
	case errors.As(err, &held) && held.Member != "":
		return d.since(ctx, port, lockName, err, name)
	case !errors.Is(err, holdfast.ErrHeld):
		return err
	}
	shown, failure := Query[*lock.Lock](ctx, d, port, &protocol.Show{Name: lockName})
	if failure != nil || len(shown.Holders) == 0 {
		return d.unheld(ctx, port, err)
	}
	first := shown.Holders[0]
	refusal := &holdfast.HeldError{
		Owner: cmp.Or(first.Owner, first.Client), Member: name(protocol.ID(first.Session.Member)),
		Since: d.Wall(first.Since), Others: len(shown.Holders) - 1, Grace: first.Grace,
	}
	if first.Grace {
		refusal.Until = max(0, first.Until-d.Now())
	}
	return refusal
}

// since completes a HeldError with the time since which its holder holds, if the refusing member does not know it and
// another one does.
func (d *Driver) since(ctx context.Context, port protocol.Port, lockName string, err error, name func(protocol.ID) string) error {
	var held *holdfast.HeldError
	if !errors.As(err, &held) || !held.Since.IsZero() {
		return err
	}
	shown, failure := Query[*lock.Lock](ctx, d, port, &protocol.Show{Name: lockName})
	if failure != nil {
		return err
	}
	for i := range shown.Holders {
		h := &shown.Holders[i]
		if cmp.Or(h.Owner, h.Client) == held.Owner && name(protocol.ID(h.Session.Member)) == held.Member {
			held.Since = d.Wall(h.Since)
		}
	}
	return err
}

// unheld turns an ErrHeld without a holder into the reason why the space grants nothing, if that is so: a name without
// a holder is not held. If other members do not answer, one of them may hold the name.
func (d *Driver) unheld(ctx context.Context, port protocol.Port, err error) error {
	condition, failure := Query[*protocol.Condition](ctx, d, port, &protocol.Inspect{})
	if failure == nil {
		if condition.State == protocol.Ready || condition.State == protocol.Suspended {
			return err
		}
		return condition.Unavailable(d.Now(), "")
	}
	return fmt.Errorf("%w: no member that knows the holder has answered", err)
}
