package host

import (
	"context"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// together is a name that is asked for at the same time as others.
type together struct {
	submitted
	want holdfast.Request
	wait *wait // nil where it was decided at once
}

// together is how many names are asked for at the same time.
func (l locker) together() int {
	if l.port > 0 && l.node.config.Spaces[l.port-1].described.Lasting {
		return holdfast.MostTogether
	}
	return 1
}

// tryTogether asks for names at the same time, without waiting for holders, and returns the locks on the first ones that were
// granted. The others are given up. The error is that of ctx.
func (l locker) tryTogether(ctx context.Context, wanted []holdfast.PlacedRequest, end lock.Time) (taken []*holdfast.Lock, err error) {
	all := make([]together, 0, len(wanted))
	for i := range wanted {
		want := wanted[i].Request
		if want.Wait > 0 {
			want.Wait = max(1, end-l.session.Now())
		}
		want.Try, want.Queued = true, nil
		a, err := l.submit(ctx, &want)
		if err != nil || a.Kind == lock.Refused {
			break // the name is asked for by itself, and the error told then
		}
		one := together{submitted: a, want: want}
		if a.Kind != lock.Granted {
			one.wait = l.session.expect(&want, a.id, a.Answer)
		}
		all = append(all, one)
	}
	for i := range all {
		one := &all[i]
		if one.wait != nil {
			one.Answer, err = l.session.await(ctx, l.port, &one.want, one.id, one.wait)
		}
		var held *holdfast.Lock
		if err == nil && one.Kind != lock.Refused {
			held, err = l.conclude(ctx, &one.want, one.submitted)
		}
		if held == nil {
			return taken, l.giveUp(ctx, all[i+1:], err)
		}
		taken = append(taken, held)
	}
	return taken, ctx.Err()
}

// giveUp cancels requests, those for the highest names first: what they were granted is released. It returns why.
func (l locker) giveUp(ctx context.Context, all []together, why error) error {
	for i := len(all) - 1; i >= 0; i-- {
		if err := l.session.cancel(context.WithoutCancel(ctx), l.port, all[i].want.Name, all[i].id); err != nil && why == nil {
			why = err
		}
	}
	return why
}
