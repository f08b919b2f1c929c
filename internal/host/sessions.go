package host

import (
	"context"

	"github.com/holdfast-locks/holdfast"
)

// Session opens another session of this process: a Locker with owners separate from the Node's own, whose Close
// releases only the locks taken through it. The Node's Close closes it too.
func (n *Member) Session(context.Context) (holdfast.Locker, error) {
	s, err := n.openSession()
	if err != nil {
		return nil, &holdfast.Error{Op: "open session", Err: closedOr(err)}
	}
	return own{n.lockerOf(s, holdfast.DefaultSpace)}, nil
}

func (n *Member) openSession() (*localSession, error) {
	n.opening.Lock()
	defer n.opening.Unlock()
	if n.sessions == nil {
		return nil, holdfast.ErrClosed
	}
	s, err := openLocal(n.driver, n.deadlines(), n.called, n.portOf, n.Who)
	if err != nil {
		return nil, err
	}
	s.observes = func(space string) Observes { return n.observes(s, space) }
	n.sessions[s] = struct{}{}
	return s, nil
}

func (n *Member) forgetSession(s *localSession) {
	n.opening.Lock()
	defer n.opening.Unlock()
	delete(n.sessions, s)
}

// closeSessions closes the sessions of this process, and prevents new ones.
func (n *Member) closeSessions() {
	n.opening.Lock()
	sessions := n.sessions
	n.sessions = nil
	n.opening.Unlock()
	for s := range sessions {
		if err := s.close(); err != nil {
			n.logger.Warn("could not close a session at another member; it will expire", "error", err)
		}
	}
	n.closeObserving()
	n.admin.Close()
}
