package holdfasttest_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/holdfasttest"
	"github.com/holdfast-locks/holdfast/lockertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	locks := holdfasttest.New(t, holdfasttest.Spaces("billing"), holdfasttest.WaitersPerName(300), holdfasttest.LocksPerSession(250))
	lockertest.Run(t, func(tb testing.TB) holdfast.Locker { return locks.Client(tb.Name()) }, lockertest.Caps{
		Class: holdfast.Fenced, Spaces: []string{"billing"}, MaxWaitersPerName: 300, LocksPerSession: 250,
		Kill: func(_ testing.TB, locks holdfast.Locker) { holdfasttest.Vanish(locks) },
		Break: func(_ testing.TB, space, name string) {
			locks.Space(space).(*holdfasttest.Locker).Break(name)
		},
		Values: func(_ testing.TB, space, name string) []string {
			return locks.Space(space).(*holdfasttest.Locker).Values(name)
		},
		Release: func(_ testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error {
			return holdfasttest.ReleaseForeign(locks, lock)
		},
	})
}
