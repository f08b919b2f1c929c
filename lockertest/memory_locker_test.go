package lockertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// memory is the Locker of one session of an authority.
type memory struct {
	authority *authority
	session   *session
	space     string
	isView    bool
}

func (a *authority) open(testing.TB) holdfast.Locker {
	s := &session{}
	s.deadline.Store(int64(holdfast.Forever))
	return &memory{authority: a, session: s, space: holdfast.DefaultSpace}
}

func (m *memory) Lock(ctx context.Context, name string, options ...holdfast.Option) (*holdfast.Lock, error) {
	return m.take(ctx, "lock", name, options)
}

func (m *memory) TryLock(ctx context.Context, name string, options ...holdfast.Option) (*holdfast.Lock, error) {
	try := func(r *holdfast.Request) { r.Try = true }
	return m.take(ctx, "try lock", name, append(options[:len(options):len(options)], try))
}

func (m *memory) take(ctx context.Context, op, name string, options []holdfast.Option) (*holdfast.Lock, error) {
	request, err := holdfast.NewRequest(name, options...)
	if m.authority.fault == "input unchecked" {
		err = nil
	}
	if err == nil && request.Try && m.authority.fault == "a try has no answer" {
		err = holdfast.ErrUnavailable
	}
	if err == nil {
		err = m.check(&request)
	}
	if err != nil {
		return nil, m.fail(op, name, err)
	}
	if ctx.Err() != nil && m.authority.fault != "done context ignored" {
		return nil, ctx.Err()
	}
	values := ctx
	if m.authority.fault == "values dropped" {
		values = context.Background()
	}
	w := &want{
		Request: request, authority: m.authority, session: m.session, place: place{m.space, name}, values: values,
		done: make(chan struct{}),
	}
	if m.authority.fault == "spaces are one" {
		w.place.space = holdfast.DefaultSpace
	}
	if position := m.authority.request(w); position >= 0 && request.Queued != nil {
		request.Queued(position)
	}
	m.await(ctx, w)
	if w.err != nil {
		return nil, m.fail(op, name, w.err)
	}
	return w.lock, nil
}

// await returns when the request is decided.
func (m *memory) await(ctx context.Context, w *want) {
	select {
	case <-w.done: // what is decided needs neither context nor limit
		return
	default:
	}
	var limit <-chan time.Time
	if w.Wait > 0 && m.authority.fault != "wait limit ignored" {
		timer := time.NewTimer(w.Wait)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		m.travel(w)
		err := ctx.Err()
		if err == context.DeadlineExceeded && m.authority.fault != "deadline tells nothing" {
			err = errors.Join(holdfast.ErrHeld, err)
		}
		m.authority.cancel(w, err)
	case <-limit:
		m.travel(w)
		err := holdfast.ErrHeld
		if m.authority.fault == "limit tells nothing" {
			err = holdfast.ErrUnavailable
		}
		m.authority.cancel(w, err)
	}
}

// travel gives the cancel of a mutant a way to go, on which a grant may cross it.
func (m *memory) travel(w *want) {
	if m.authority.fault != "grant stranded" {
		return
	}
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
	}
}

func (m *memory) check(r *holdfast.Request) error {
	if !slices.Contains(m.authority.spaces, m.space) && m.authority.fault != "any space exists" {
		return holdfast.ErrSpace
	}
	if r.Require > m.authority.class && m.authority.fault != "class ignored" {
		return holdfast.ErrClass
	}
	if r.Deadlock != holdfast.Ignore && m.authority.fault != "deadlocks ignored" {
		return holdfast.ErrUnsupported
	}
	return nil
}

func (m *memory) fail(op, name string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || m.authority.fault == "bare errors" {
		return err
	}
	return &holdfast.Error{Op: op, Space: m.space, Name: name, Err: err}
}

func (m *memory) LockAll(ctx context.Context, names []string, options ...holdfast.Option) ([]*holdfast.Lock, error) {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	if m.authority.fault != "names unsorted" {
		slices.SortFunc(order, func(a, b int) int {
			if names[a] < names[b] {
				return -1
			}
			return 1
		})
	}
	seen := map[string]bool{}
	for _, name := range names {
		if _, err := holdfast.NewRequest(name, options...); err != nil {
			return nil, m.fail("lock all", name, err)
		}
		if seen[name] {
			return nil, m.fail("lock all", name, holdfast.ErrConflict)
		}
		seen[name] = true
	}
	locks := make([]*holdfast.Lock, len(names))
	for _, i := range order {
		lock, err := m.take(ctx, "lock all", names[i], options)
		if err != nil {
			return nil, m.undo(ctx, locks, err)
		}
		locks[i] = lock
	}
	if m.authority.fault == "locks in sorted order" {
		sorted := make([]*holdfast.Lock, len(locks))
		for at, i := range order {
			sorted[at] = locks[i]
		}
		return sorted, nil
	}
	return locks, nil
}

// undo releases what LockAll had when it failed because of err, and returns err.
func (m *memory) undo(ctx context.Context, locks []*holdfast.Lock, err error) error {
	if m.authority.fault == "some rather than none" {
		return err
	}
	for _, lock := range locks {
		if lock == nil {
			continue
		}
		// A Close that came between has ended it already.
		if failed := lock.Unlock(ctx); failed != nil && !errors.Is(failed, holdfast.ErrNotHeld) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (m *memory) Space(name string) holdfast.Locker {
	if name == "" {
		name = holdfast.DefaultSpace
	}
	return &memory{authority: m.authority, session: m.session, space: name, isView: m.authority.fault != "close of a view"}
}

func (m *memory) Close() error {
	a := m.authority
	if m.isView {
		return nil
	}
	if a.fault == "goroutine left" {
		a.behind.Go(a.leftBehind)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fault == "second close fails" && m.session.closed {
		return holdfast.ErrClosed
	}
	m.session.closed = true
	defer a.wakeWatchers()
	for _, w := range slices.Clone(m.session.wants) {
		switch {
		case w.lock == nil && a.fault == "close leaves waiters", w.lock != nil && a.fault == "close leaves locks":
		case w.lock == nil:
			a.finishLocked(w, holdfast.ErrClosed)
		default:
			a.finishLocked(w, holdfast.ErrClosed)
		}
	}
	return nil
}

// leftBehind stays until the test of its fault has looked for it.
func (a *authority) leftBehind() { <-a.looked }

// kill ends a session as if it had not been renewed.
func (a *authority) kill(_ testing.TB, locks holdfast.Locker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := locks.(*memory).session
	if a.fault != "loss is not reported" {
		s.deadline.Store(0)
	}
	for _, w := range slices.Clone(s.wants) {
		switch {
		case w.lock == nil && a.fault == "the dead wait on":
		case w.lock == nil:
			a.finishLocked(w, holdfast.ErrUnavailable)
		default:
			a.finishLocked(w, holdfast.SessionExpired)
		}
	}
	s.closed = true
}

func (a *authority) breakName(_ testing.TB, space, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.names[place{space, name}]
	if e == nil {
		return
	}
	for _, w := range slices.Clone(e.holders) {
		if a.fault != "break is not reported" {
			w.lock.End(a.brokenBecause())
		}
	}
	for _, w := range slices.Clone(e.holders) {
		if slices.Contains(e.holders, w) {
			a.drop(w)
		}
	}
}

func (a *authority) brokenBecause() holdfast.Loss {
	if a.fault == "break says another reason" {
		return holdfast.Duplicate
	}
	return holdfast.Broken
}

// release is what arrives when any session sends a release under a lock's token.
func (a *authority) release(_ testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.releaseLocked(locks.(*memory).session, lock)
}

func (a *authority) releaseLocked(s *session, lock *holdfast.Lock) error {
	e := a.names[place{lock.Space(), lock.Name()}]
	if e != nil {
		for _, h := range e.holders {
			rightful := h.session == s && h.id == lock.Request()
			switch a.fault {
			case "any token frees":
				rightful = true
			case "a stranger's token frees":
				rightful = h.token == lock.Token()
			case "token ignored":
				rightful = h.session == s
			}
			if rightful {
				a.drop(h)
				return nil
			}
		}
	}
	if a.fault == "second release succeeds" {
		return nil
	}
	return &holdfast.Error{Op: "unlock", Space: lock.Space(), Name: lock.Name(), Err: holdfast.ErrNotHeld}
}

// A want is the holdfast.Backing of its lock.
func (w *want) Now() time.Duration { return time.Since(w.authority.start) }

func (w *want) Deadline() time.Duration {
	if w.authority.fault == "lock ends with the context" && w.values.Err() != nil {
		return 0
	}
	return time.Duration(w.session.deadline.Load())
}

func (w *want) UnlockLock(ctx context.Context, l *holdfast.Lock) error {
	switch {
	case w.authority.fault == "unlock does not wait":
		w.authority.behind.Go(func() { w.release(l) })
		return nil
	case w.authority.fault == "unlock gives up with its context" && ctx.Err() != nil:
		return ctx.Err()
	}
	return w.release(l)
}

func (w *want) QueueUnlock(l *holdfast.Lock) error {
	if w.authority.fault == "queued release is forgotten" {
		return nil
	}
	return w.release(l)
}

func (w *want) release(l *holdfast.Lock) error {
	w.authority.mu.Lock()
	defer w.authority.mu.Unlock()
	return w.authority.releaseLocked(w.session, l)
}

func (w *want) ExtendLock(_ context.Context, l *holdfast.Lock, hold time.Duration) error {
	a := w.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := l.Check(); err != nil {
		return err
	}
	if a.fault == "extend ignored" {
		return nil
	}
	if w.hold != nil {
		w.hold.Stop()
		w.hold = nil
	}
	end := holdfast.Forever
	if hold > 0 {
		end = w.Now() + hold
		w.hold = time.AfterFunc(hold, func() { a.finish(w, holdfast.HoldLimit) })
	}
	l.SetHoldEnd(end)
	return nil
}
