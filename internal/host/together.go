package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/takeall"
	"github.com/holdfast-locks/holdfast/lock"
)

// manyLocks is the state of a LockAll.
type manyLocks struct {
	locker
	wanted   []holdfast.PlacedRequest
	all      []oneOfMany // in the order of wanted
	end      lock.Time   // of its wait
	released []*holdfast.Lock
	why      error // first error of a release
}

// oneOfMany is one request of a LockAll.
type oneOfMany struct {
	submitted
	want holdfast.Request
	held *holdfast.Lock
}

// LockAll takes all names or none. See holdfast.Locker.
func (l locker) LockAll(ctx context.Context, names []string, o ...holdfast.Option) ([]*holdfast.Lock, error) {
	if there, err := l.insider(ctx, strings.Join(names, ", ")); there != nil || err != nil {
		return atInsider(err, func() ([]*holdfast.Lock, error) { return there.LockAll(ctx, names, o...) })
	}
	wanted, err := holdfast.NewRequests(l.space, names, o...)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	m := &manyLocks{locker: l, wanted: wanted, all: make([]oneOfMany, len(wanted)), end: lock.Never}
	if wanted[0].Wait > 0 {
		m.end = after(l.session.Now(), wanted[0].Wait)
	}
	durable := l.port > 0 && l.node.config.Spaces[l.port-1].described.Lasting
	_, err = takeall.New(len(wanted), durable, takeall.Caller{
		Ask:     func(i int, waits bool) error { return m.ask(ctx, i, waits) },
		Outcome: func(i int, waits bool) (bool, error) { return m.outcome(ctx, &m.all[i], waits) },
		GiveUp: func(i int) error {
			return l.session.cancel(context.WithoutCancel(ctx), l.port, wanted[i].Name, m.all[i].id)
		},
		Check:   func(i int) error { return m.all[i].held.Check() },
		Release: func(i int) { m.giveBack(m.all[i].held) },
	}).Go()
	if err != nil {
		return nil, m.awaitReleases(err)
	}
	locks := make([]*holdfast.Lock, len(wanted))
	for i := range m.all {
		locks[wanted[i].Place] = m.all[i].held
	}
	return locks, nil
}

// ask requests a name. The error is the reason of an immediate refusal; if it waits, its outcome has the reason.
func (m *manyLocks) ask(ctx context.Context, i int, waits bool) (err error) {
	m.all[i] = oneOfMany{want: m.wanted[i].Request}
	one := &m.all[i]
	if one.want.Wait > 0 {
		one.want.Wait = max(1, m.end-m.session.Now())
	}
	if !waits {
		one.want.Try, one.want.Queued = true, nil
	}
	one.submitted, err = m.submit(ctx, &one.want)
	if err == nil && one.Kind == lock.Refused && !waits {
		err = one.Err
	}
	return err
}

// outcome waits for the outcome of a request, and makes the lock of a grant. It does not ask about a refused try.
func (m *manyLocks) outcome(ctx context.Context, one *oneOfMany, waits bool) (decided bool, err error) {
	if !one.await(ctx, &one.want) {
		return false, ctx.Err()
	}
	if one.Kind == lock.Refused && !waits {
		return true, one.Err
	}
	one.held, err = m.conclude(ctx, &one.want, one.submitted)
	return true, err
}

// releaseLimit is how long a LockAll that fails waits for its releases.
const releaseLimit = time.Second

// giveBack releases a lock that was taken. A loss meanwhile does not matter: the lock is not wanted any more.
func (m *manyLocks) giveBack(held *holdfast.Lock) {
	if !held.End(holdfast.ErrNotHeld) {
		return
	}
	h, ok := m.session.letGo(held)
	if !ok {
		return
	}
	if answered, err := m.session.sendRelease(h, unlockOf); !answered {
		m.released = append(m.released, held)
	} else if err = m.session.unlocked(held, err); err != nil && !errors.Is(err, holdfast.ErrLost) {
		m.why = errors.Join(m.why, err)
	}
}

// awaitReleases waits until the authority has confirmed the releases, but not beyond the end of the call's wait. It
// returns why the call fails, and later errors.
func (m *manyLocks) awaitReleases(why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(releaseLimit, max(0, after(m.end, lock.WaitGrace)-m.session.Now())))
	defer cancel()
	for _, held := range m.released {
		err := m.session.unlocked(held, m.session.awaitRelease(ctx, unlockOf|held.Request()))
		if err != nil && !errors.Is(err, holdfast.ErrLost) && ctx.Err() == nil {
			m.why = errors.Join(m.why, err)
		}
	}
	if m.why != nil {
		why = errors.Join(why, m.why)
	}
	return why
}
