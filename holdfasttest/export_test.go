package holdfasttest

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Vanish ends the session of a Locker for good. Its waits end.
func Vanish(locks holdfast.Locker) {
	c := locks.(*Locker).client
	c.authority.mu.Lock()
	defer c.authority.mu.Unlock()
	c.closed = true
	for _, r := range c.authority.endSession(c.session, holdfast.SessionExpired) {
		r.decide(holdfast.ErrClosed)
	}
}

// ReleaseForeign releases a lock in the session of any Locker, and returns the answer of the table.
func ReleaseForeign(locks holdfast.Locker, l *holdfast.Lock) (err error) {
	c := locks.(*Locker).client
	a := c.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	a.step(func(now lock.Time, out *[]lock.Decision) {
		err = a.tableOf(l.Space()).Release(now, c.session.id, l.Name(), l.Token(), l.Request(), out)
	})
	if err != nil {
		return &holdfast.Error{Op: "unlock", Space: l.Space(), Name: l.Name(), Err: err}
	}
	return nil
}
