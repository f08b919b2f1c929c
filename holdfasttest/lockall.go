package holdfasttest

import (
	"context"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/takeall"
	"github.com/holdfast-locks/holdfast/lock"
)

// manyLocks is the state of a LockAll.
type manyLocks struct {
	*Locker
	wanted []holdfast.PlacedRequest
	asked  []*request
	locks  []*holdfast.Lock // by their places in the caller's list
	end    lock.Time        // of its wait
}

// LockAll takes all names or none. See holdfast.Locker.
func (l *Locker) LockAll(ctx context.Context, names []string, o ...holdfast.Option) ([]*holdfast.Lock, error) {
	wanted, err := holdfast.NewRequests(l.space, names, o...)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	m := &manyLocks{Locker: l, wanted: wanted, asked: make([]*request, len(wanted)), locks: make([]*holdfast.Lock, len(wanted))}
	if wanted[0].Wait > 0 {
		m.end = after(l.client.authority.now(), wanted[0].Wait)
	}
	_, err = takeall.New(len(wanted), false, takeall.Caller{
		Ask: func(i int, _ bool) error { return m.ask(ctx, i) },
		Outcome: func(i int, _ bool) (decided bool, err error) {
			m.locks[wanted[i].Place], err = m.asked[i].await(ctx)
			return true, err
		},
		GiveUp: func(int) error { return nil }, // await has given up what it does not return
		Check:  func(i int) error { return m.locks[wanted[i].Place].Check() },
		Release: func(i int) {
			_ = m.locks[wanted[i].Place].UnlockAsync() // the error is a loss, of a lock that is not wanted any more
		},
	}).Go()
	if err != nil {
		return nil, err
	}
	return m.locks, nil
}

// ask requests one name.
func (m *manyLocks) ask(ctx context.Context, i int) (err error) {
	want := m.wanted[i].Request
	if want.Wait > 0 {
		want.Wait = max(1, m.end-m.client.authority.now())
	}
	m.asked[i], err = m.submit(ctx, want)
	return err
}
