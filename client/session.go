package client

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// backing is one session of the server: the backing of its locks. The Client's mutex guards everything but its
// deadline.
type backing struct {
	*session.Session
	client *Client
}

// Now reads the clock, and ends the session if its deadline has passed.
func (s *backing) Now() time.Duration {
	now := s.client.clock.Now()
	s.Look(now)
	return now
}

// alive reports whether the deadline has not passed by the clock.
func (s *backing) alive() bool { return s.Alive(s.client.clock.Now()) }

// UnlockLock releases l, and waits until the authority has accepted the release.
func (s *backing) UnlockLock(ctx context.Context, l *holdfast.Lock) error {
	return s.client.unlock(ctx, s, l)
}

// QueueUnlock queues the release of l.
func (s *backing) QueueUnlock(l *holdfast.Lock) error {
	_, err := s.client.beginUnlock(s, l, false)
	return err
}

// ExtendLock requests a new hold limit and waits for the answer.
func (s *backing) ExtendLock(ctx context.Context, l *holdfast.Lock, hold time.Duration) error {
	return s.client.extend(ctx, s, l, hold)
}

// ObserveLock observes the name of l.
func (s *backing) ObserveLock(ctx context.Context, l *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	return s.client.observe(ctx, l.Space(), l.Name())
}

// AmendLock amends the grant of l, and waits until the authority has the amendment.
func (s *backing) AmendLock(ctx context.Context, l *holdfast.Lock, a holdfast.Amendment) error {
	return s.client.amend(ctx, s, l, a)
}
