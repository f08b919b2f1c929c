package central

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The messages between the roles. Each carries the epoch under which it was sent,
// so that what an earlier coordinator said is told from what this one says (H3).
type (
	// Acquire asks for a name: the original's GRANT_LOCK.
	Acquire struct {
		Epoch   protocol.Epoch
		Request *lock.Request
	}
	// Release gives up a hold: RELEASE_LOCK.
	Release struct {
		Epoch   protocol.Epoch
		Release *protocol.Release
	}
	// Cancel ends a request, granted or not: the original's forced RELEASE_LOCK.
	Cancel struct {
		Epoch  protocol.Epoch
		Cancel *protocol.Cancel
	}
	// Extend replaces a hold limit. The original has none.
	Extend struct {
		Epoch  protocol.Epoch
		Extend *protocol.Extend
	}
	// EndSession ends all that a session holds or waits for.
	EndSession struct {
		Epoch   protocol.Epoch
		Session lock.SessionID
		Why     holdfast.Loss
	}
	// Decided tells what became of a request: LOCK_GRANTED, LOCK_DENIED,
	// RELEASE_LOCK_OK, LOCK_REVOKED.
	Decided struct {
		Epoch    protocol.Epoch
		Decision lock.Decision
	}
)

func (m Acquire) String() string {
	return fmt.Sprintf("acquire %v #%d %q", m.Request.Session, m.Request.ID, m.Request.Name)
}

func (m Release) String() string {
	return fmt.Sprintf("release %v #%d %q token=%v", m.Release.Session, m.Release.Request, m.Release.Name, m.Release.Token)
}

func (m Cancel) String() string {
	return fmt.Sprintf("cancel %v #%d %q", m.Cancel.Session, m.Cancel.Request, m.Cancel.Name)
}

func (m Extend) String() string {
	return fmt.Sprintf("extend %v #%d %q hold=%v", m.Extend.Session, m.Extend.Request, m.Extend.Name, m.Extend.Hold)
}

func (m EndSession) String() string { return fmt.Sprintf("end session %v %s", m.Session, m.Why) }

func (m Decided) String() string {
	d := m.Decision
	return fmt.Sprintf("%v %v #%d %q token=%v", d.Kind, d.Session, d.Request, d.Name, d.Token)
}
