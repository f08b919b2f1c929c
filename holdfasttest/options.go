package holdfasttest

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Option configures a Locker.
type Option func(*config)

type config struct {
	spaces    []string
	class     holdfast.Class
	limits    lock.Config
	leaveHeld bool
}

// Spaces adds lockspaces to the default one, for Locker.Space.
func Spaces(names ...string) Option {
	return func(c *config) { c.spaces = append(c.spaces, names...) }
}

// Class sets the safety class of the lockspaces, which holdfast.Require compares. The default is holdfast.Fenced.
func Class(class holdfast.Class) Option { return func(c *config) { c.class = class } }

// WaitersPerName sets the maximum number of waiters for one name, as limits.waiters_per_name of a member does. The
// default is 10,000.
func WaitersPerName(n int) Option { return func(c *config) { c.limits.WaitersPerName = n } }

// LocksPerSession sets the maximum number of locks and waiting requests of one client in one lockspace, as
// limits.locks_per_session of a member does. The default is 100,000.
func LocksPerSession(n int) Option { return func(c *config) { c.limits.LocksPerSession = n } }

// Names sets the maximum number of names of one lockspace that are held or waited for, as limits.names of a member
// does. The default is no limit but memory.
func Names(n int) Option { return func(c *config) { c.limits.Names = n } }

// LeaveHeld allows locks that are still held at the end of the test.
func LeaveHeld() Option { return func(c *config) { c.leaveHeld = true } }
