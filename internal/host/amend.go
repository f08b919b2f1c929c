package host

import (
	"context"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// AmendLock amends the grant of l, and waits until the authority has the amendment. Amendments of all locks are numbered
// together, since a grant may be held by several.
func (s *localSession) AmendLock(ctx context.Context, l *holdfast.Lock, a holdfast.Amendment) error {
	end, err := s.amending.take(ctx, l)
	if err != nil {
		return err
	}
	s.mu.Lock()
	h, held := s.held.get(l.Request())
	s.mu.Unlock()
	if !held {
		end()
		if err := l.Check(); err != nil {
			return err
		}
		return notChanged(opAmend, l, holdfast.ErrClosed)
	}
	amend := &protocol.Amend{
		Session: s.id, Name: l.Name(), Token: l.Token(), Request: l.Request(),
		Amendment: lock.Amendment{Revision: s.revisions.Add(1), Value: a.Value},
	}
	line := make(chan lock.Decision, 1)
	if err := s.send(h.port, amend, line); err != nil {
		end()
		return notChanged(opAmend, l, err)
	}
	return s.outcome(ctx, line, func(d *lock.Decision) error {
		defer end()
		if d.Kind != lock.Refused {
			return nil
		}
		if err := l.Check(); err != nil {
			return err // it has ended meanwhile, and knows why
		}
		return notChanged(opAmend, l, s.refusal(d.Err))
	})
}

// The operations of these calls, in errors.
const (
	opAmend  = "set value"
	opExtend = "extend"
)
