package host

import "github.com/holdfast-locks/holdfast"

// Kept returns how many requests the session of a Locker keeps account of: those that
// wait, those that hold, and those that were decided before their caller knew.
func Kept(locks holdfast.Locker) (waiting, held, early int) {
	var s *localSession
	switch l := locks.(type) {
	case own:
		s = l.session
	case *Member:
		s = l.local
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), s.held.used, len(s.early)
}

// Sessions returns how many sessions of its own process a member knows.
func Sessions(n *Member) int {
	n.opening.Lock()
	defer n.opening.Unlock()
	return len(n.sessions)
}
