package host

import (
	"context"
	"fmt"
	"iter"

	"github.com/holdfast-locks/holdfast"
)

// Observes observes the names of one space. See holdfast.Observer.
type Observes func(ctx context.Context, name string) iter.Seq2[holdfast.State, error]

var _ holdfast.Observer = (*Member)(nil)

// Observe observes a name. See holdfast.Observer.
func (l locker) Observe(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return l.session.observe(ctx, l.session.observes(l.space), l.space, name)
}

// ObserveLock observes the name of l.
func (s *localSession) ObserveLock(ctx context.Context, l *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	return s.observe(ctx, s.observes(l.Space()), l.Space(), l.Name())
}

// observes returns how a session observes names of a space; nil for an unknown space.
func (n *Member) observes(s *localSession, space string) Observes {
	l := n.lockerOf(s, space)
	if l.port == 0 {
		return nil
	}
	of := &n.config.Spaces[l.port-1]
	switch {
	case of.Observes != nil:
		return of.Observes
	case of.Store != nil: // other processes lock there, too
		return func(context.Context, string) iter.Seq2[holdfast.State, error] {
			err := fmt.Errorf("%w: names of protocol %s cannot be observed through a member", holdfast.ErrUnsupported, of.Protocol)
			return only(&holdfast.Error{Op: opObserve, Space: space, Err: err})
		}
	}
	return l.observed
}

// observe observes a name until the session ends, which is an ErrClosed.
func (s *localSession) observe(ctx context.Context, by Observes, space, name string) iter.Seq2[holdfast.State, error] {
	fail := func(err error) error { return &holdfast.Error{Op: opObserve, Space: space, Name: name, Err: err} }
	if by == nil {
		return only(fail(holdfast.ErrSpace))
	}
	if err := holdfast.CheckName(name); err != nil {
		return only(fail(err))
	}
	return func(yield func(holdfast.State, error) bool) {
		open, end := context.WithCancel(ctx)
		defer end()
		go func() {
			select {
			case <-s.over:
				end()
			case <-open.Done():
			}
		}()
		if s.isOver() {
			yield(holdfast.State{}, fail(holdfast.ErrClosed))
			return
		}
		for state, err := range by(open, name) {
			if err != nil && ctx.Err() == nil && open.Err() != nil {
				err = fail(holdfast.ErrClosed)
			}
			if !yield(state, err) || err != nil {
				return
			}
		}
	}
}

// isOver reports whether the session has ended.
func (s *localSession) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// only yields an error, and nothing else.
func only(err error) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) { yield(holdfast.State{}, err) }
}

const opObserve = "observe"
