package host

import (
	"context"
	"errors"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Bits that turn the id of a request into the number of the call that releases it: for a caller that waits for the
// answer, and for one that does not.
const (
	unlockOf  = 1 << 63
	releaseOf = unlockOf | run.OwnCalls
)

// isUnlock reports whether a number is that of a release whose answer is awaited.
func isUnlock(op uint64) bool { return op&releaseOf == unlockOf }

// release returns a hold to the authority. If that is another member, it gets the release later, and this member
// repeats it until then. After Close that is an ErrClosed: Close has released everything.
func (s *localSession) release(h holding) error {
	_, err := s.sendRelease(h, releaseOf)
	return err
}

// sendRelease is release by a call whose number has the given bits, and reports whether it was answered at once.
func (s *localSession) sendRelease(h holding, bits uint64) (answered bool, err error) {
	r := protocol.Release{Session: s.id, Name: h.lock.Name(), Token: h.lock.Token(), Request: h.lock.Request(), Awaited: isUnlock(bits)}
	call := protocol.CallID{Sink: s.sink, Op: bits | r.Request}
	a, err := s.driver.Release(h.port, call, &r)
	switch {
	case err != nil:
		return true, closedOr(err)
	case a.Kind == lock.Refused:
		return true, s.refusal(a.Err)
	}
	return a.Kind != 0, nil
}

// UnlockLock releases a lock that has already ended here, and waits until the authority has confirmed it. If this
// member is the authority, there is no wait. If ctx ends first, the member continues the release.
func (s *localSession) UnlockLock(ctx context.Context, l *holdfast.Lock) error {
	h, ok := s.letGo(l)
	if !ok {
		return nil // lost or closed at this very moment: the code that removed it from held releases it
	}
	answered, err := s.sendRelease(h, unlockOf)
	if !answered {
		err = s.awaitRelease(ctx, unlockOf|l.Request())
	}
	return s.unlocked(l, err)
}

// QueueUnlock releases a lock that has already ended here, without waiting.
func (s *localSession) QueueUnlock(l *holdfast.Lock) error {
	h, ok := s.letGo(l)
	if !ok {
		return nil
	}
	return s.unlocked(l, s.release(h))
}

// letGo forgets a lock that is about to be released. It reports false if something else has ended it, and releases it,
// except for a hold limit whose grace the holder ends.
func (s *localSession) letGo(l *holdfast.Lock) (h holding, ok bool) {
	s.mu.Lock()
	h, ok = s.held.remove(l.Request())
	s.mu.Unlock()
	if !ok && holdfast.Why(l.Check()) == holdfast.HoldLimit {
		return holding{lock: l, port: s.port(l.Space())}, true
	}
	if h.alarm != nil {
		s.alarms.Stop(h.alarm)
	}
	return h, ok
}

// awaitRelease waits for the answer to a release, as long as the session lives: its end releases everything.
func (s *localSession) awaitRelease(ctx context.Context, op uint64) error {
	s.mu.Lock()
	line, known := s.answers[op] // if the answer came before anything waited for it
	if known {
		delete(s.answers, op)
	} else {
		line = make(chan lock.Decision, 1)
		s.answers[op] = line
	}
	s.mu.Unlock()
	select {
	case d := <-line:
		if d.Kind == lock.Refused {
			return s.refusal(d.Err)
		}
		return nil
	case <-s.over:
		return holdfast.ErrClosed
	case <-ctx.Done():
		return ctx.Err() // the answer is removed when it comes
	}
}

// unlocked returns the result of Unlock for a release with result err.
func (s *localSession) unlocked(l *holdfast.Lock, err error) error {
	if s.earlier.Load() { // it may have been lost while it was released
		lost := s.lossOf(l.Request())
		if errors.Is(err, holdfast.ErrNotHeld) && lost != "" {
			err = lost
		}
	}
	if errors.Is(err, holdfast.ErrNotHeld) && holdfast.Why(l.Check()) == holdfast.HoldLimit {
		return nil // the grace was over, or there was none: its loss is already reported
	}
	switch {
	case err == nil, errors.Is(err, holdfast.ErrClosed): // Close has released it
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &holdfast.Error{Op: "unlock", Space: l.Space(), Name: l.Name(), Err: err}
}

// lossOf forgets a request, and returns how its grant was lost during its release; "" if it was not.
func (s *localSession) lossOf(id uint64) holdfast.Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.early[id]
	delete(s.early, id)
	return d.Loss
}
