package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Owner is the owner of every suspension by an operator.
const Owner = "operator"

// Forever is a Wait without a limit.
const Forever = time.Duration(protocol.Never)

// Order is an operator's request to suspend or resume a space.
type Order struct {
	Space  string // "" means the default one
	Reason string // for people; may be empty
	By     string // the operator, for people; may be empty
	// Wait is how long a suspension waits until no locks are held. 0 means no wait, and Forever that only ctx bounds
	// it. Resume ignores it.
	Wait time.Duration
}

// Outcome is the result of an Order.
type Outcome struct {
	// Changed reports whether the order had an effect: the space was not suspended before, or was.
	Changed bool
	// Grant is the current suspension or, after a Resume, the former one; its times are on the driver's clock. It is
	// zero after a Resume that changed nothing.
	Grant lock.Grant
}

// Suspend stops new grants of a space at once, and returns when all locks have been released: no lock is held then, and
// none is granted until Resume. If an operator has suspended the space already, through any member, that counts. The
// error is an ErrHeld if locks were held for longer than o.Wait: then grants continue; an ErrUnavailable if no member
// decides; an ErrUnsupported; an ErrSpace; ErrClosed; or the cause of ctx's end.
func (o *Service) Suspend(ctx context.Context, order Order) (Outcome, error) {
	port, err := o.port(order.Space)
	if err != nil {
		return Outcome{}, err
	}
	ctx, cancel := o.within(ctx)
	defer cancel()
	if o.life.Err() != nil {
		return Outcome{}, holdfast.ErrClosed // even if another operator's suspension is in force
	}
	arrived := o.driver.Now()
	if grant, found := o.suspended(ctx, port); found {
		return Outcome{Grant: grant}, nil
	}
	p := o.presence
	number, line, err := p.enter()
	if err != nil {
		return Outcome{}, err
	}
	defer p.forget(number)
	end := protocol.Never
	if order.Wait < protocol.Never-arrived {
		end = arrived + order.Wait
	}
	request := &lock.Request{
		Session: p.session, ID: number, Name: lock.SpaceLock, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}, Owner: Owner, Reason: order.Reason}, Client: order.By,
		Try: order.Wait == 0, Arrived: arrived, WaitEnd: end,
	}
	p.say(port, number, request)
	select {
	case decision := <-line:
		if ctx.Err() == nil {
			return o.decided(ctx, port, request, &decision)
		}
	case <-ctx.Done():
	}
	// No caller is left to learn of the suspension: so it ends.
	p.say(port, p.number(), &protocol.Cancel{Session: p.session, Name: lock.SpaceLock, Request: number})
	return Outcome{}, context.Cause(ctx)
}

// decided returns the outcome of a request for a suspension.
func (o *Service) decided(ctx context.Context, port protocol.Port, r *lock.Request, d *lock.Decision) (Outcome, error) {
	switch d.Kind {
	case lock.Granted:
		return Outcome{Changed: true, Grant: lock.Grant{
			Session: r.Session, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: d.Mode}, Owner: d.Owner, Reason: r.Reason}, Client: r.Client,
			Token: d.Token, Since: o.driver.Now(), Until: protocol.Never,
		}}, nil
	case lock.Refused:
		if errors.Is(d.Err, holdfast.ErrHeld) {
			if grant, found := o.suspended(ctx, port); found {
				return Outcome{Grant: grant}, nil // another operator's, requested meanwhile
			}
		}
		if errors.Is(d.Err, holdfast.ErrUnsupported) {
			return Outcome{}, o.unsupported(port, "suspend")
		}
		return Outcome{}, d.Err
	case lock.Lost, lock.Revoked:
		return Outcome{}, d.Loss
	default:
		return Outcome{}, fmt.Errorf("%w: the suspension was given up before it was granted", holdfast.ErrNotHeld)
	}
}

// suspended returns an operator's suspension of a space, if there is one that is not about to end. If no member
// answers, none is known: the request will wait for the deciding member.
func (o *Service) suspended(ctx context.Context, port protocol.Port) (lock.Grant, bool) {
	shown, err := query[*lock.Lock](ctx, o, port, &protocol.Show{Name: lock.SpaceLock})
	if err != nil || len(shown.Holders) == 0 || shown.Holders[0].Owner != Owner || shown.Holders[0].Revoked {
		return lock.Grant{}, false
	}
	return shown.Holders[0], true
}

// Resume ends the suspension of a space by breaking its lock, whichever operator requested it and through whichever
// member. New grants begin when its holder has stopped, which a Service does at once: its own suspension has ended when
// Resume returns. Resuming a space that is not suspended is not an error. The error is an ErrUnavailable if no member
// decides; an ErrSpace; ErrClosed; or the context's.
func (o *Service) Resume(ctx context.Context, order Order) (Outcome, error) {
	port, err := o.port(order.Space)
	if err != nil {
		return Outcome{}, err
	}
	reason := "resumed"
	if order.By != "" {
		reason += " by " + order.By
	}
	if order.Reason != "" {
		reason += ": " + order.Reason
	}
	broken, err := query[*protocol.Broken](ctx, o, port, &protocol.Break{Name: lock.SpaceLock, Reason: reason})
	switch {
	case err != nil:
		return Outcome{}, err
	case errors.Is(broken.Err, holdfast.ErrNotHeld):
		return Outcome{}, nil
	case errors.Is(broken.Err, holdfast.ErrUnsupported):
		return Outcome{}, o.unsupported(port, "resume")
	case broken.Err != nil:
		return Outcome{}, broken.Err
	case len(broken.Grants) == 0:
		return Outcome{}, nil
	}
	o.presence.settle(ctx)
	return Outcome{Changed: true, Grant: broken.Grants[0]}, nil
}
