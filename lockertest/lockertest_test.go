package lockertest

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

func (a *authority) caps() Caps {
	return Caps{
		Class: a.class, Spaces: a.spaces[1:], MaxWaitersPerName: a.maxWaiters, LocksPerSession: a.locksPerSession,
		NoDeadlock: true, Kill: a.kill, Break: a.breakName, Release: a.release, Values: a.values, Elsewhere: a.open,
	}
}

// TestReference runs the suite on a Locker that is right.
func TestReference(t *testing.T) {
	t.Parallel()
	a := newAuthority("")
	Run(t, a.open, a.caps())
}

// TestReferenceOfWeakClass has a space refuse what is required beyond its class.
func TestReferenceOfWeakClass(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	a := newAuthority("")
	a.class = holdfast.Advisory
	caps := Caps{Class: holdfast.Advisory, NoDeadlock: true, Rounds: 8}
	Run(t, a.open, caps)
}
