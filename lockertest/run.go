package lockertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Caps describes the capabilities of an implementation. The zero Caps has every mode, order and option, in the weakest
// safety class, and no hooks.
type Caps struct {
	NoShared   bool // mode shared is refused with ErrUnsupported
	NoSlots    bool // mode slots is refused with ErrUnsupported
	NoReentry  bool // a named owner that holds a name is refused a second lock
	NoHold     bool // hold limits are refused with ErrUnsupported
	NoDeadlock bool // Deadlock(Fail) is refused with ErrUnsupported
	Split      bool // names are in several tables: a cycle of waits over two of them is not found
	NoFIFO     bool // there is no queue: a waiter may be overtaken
	NoObserve  bool // a name cannot be observed: the Lockers are no holdfast.Observers, or refuse with ErrUnsupported

	// LooseTokens means that tokens of shared and slots grants are identifiers without order. False means that every
	// new grant of a name has a larger token.
	LooseTokens bool
	// Repeats means that a resent release, with the number of its request, gets the same answer as the first. It frees
	// nothing either way.
	Repeats bool

	// Keeps means that a released name stays with its process for a while, for the next lock there: a TryLock elsewhere
	// may be refused in the meantime.
	Keeps bool

	// ObserveMerges means that an observer looks at a store from time to time: states between two looks may be merged,
	// and owners and reasons are not shown. False means that it sees each grant, each value and each end.
	ObserveMerges bool

	// Class is the safety class of the default space. Zero means advisory: the suite then checks that a stronger
	// requirement is refused.
	Class holdfast.Class

	// Spaces are lockspaces in addition to the default one. Zero means none: the independence of spaces is then not
	// tested.
	Spaces []string

	// MaxWaitersPerName and LocksPerSession are the caller's configured limits, small enough to be reached and large
	// enough for the rest of the suite: at least 300 and 100. Zero means not tested.
	MaxWaitersPerName int
	LocksPerSession   int

	// Elsewhere opens a Locker as open does, through another member. Nil means not tested.
	Elsewhere func(testing.TB) holdfast.Locker

	// Kill makes the session of that Locker vanish permanently without a goodbye. It need not wait until that is
	// noticed. Nil means not tested.
	Kill func(tb testing.TB, locks holdfast.Locker)

	// Break takes the name from its holders, as an operator does, and returns when the authority has the order. Nil
	// means not tested.
	Break func(tb testing.TB, space, name string)

	// Release sends a release of the name to the authority, in the session of that Locker and under the lock's token
	// and request id, whether or not the lock is that session's and still held. It returns the authority's answer. Nil
	// means not tested.
	Release func(tb testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error

	// Values returns the values of a name's holders, in any order, as each listing shows them now: the value of a holder
	// without one is "". Nil means that values are set, and not read back. It may be called on any goroutine.
	Values func(tb testing.TB, space, name string) []string

	// Rounds is the number of rounds of the races and of names in the broad tests. Below 25 it also reduces the number
	// of goroutines that wait for one name, and how often a name changes hands. Zero means 2000, or 200 with -short.
	Rounds int

	// Patience is the time limit of one subtest, after which it counts as stuck. Zero means two minutes.
	Patience time.Duration
}

// check is one subtest.
type check struct {
	name string
	need func(Caps) string // why it does not apply, or ""; nil: it always applies
	run  func(*stage)
}

// Run checks that the Lockers returned by open keep the guarantees. See the package documentation for open's
// requirements.
func Run(t *testing.T, open func(testing.TB) holdfast.Locker, caps Caps) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if c.need != nil {
				if why := c.need(caps); why != "" {
					t.Skip(why)
				}
			}
			perform(context.Background(), t, c, open, caps)
		})
	}
}

// perform runs one check under a watchdog.
func perform(parent context.Context, tb testing.TB, c check, open func(testing.TB) holdfast.Locker, caps Caps) {
	if caps.Rounds == 0 {
		caps.Rounds = 2000
		if testing.Short() {
			caps.Rounds = 200
		}
	}
	if caps.Patience == 0 {
		caps.Patience = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(parent, caps.Patience)
	defer cancel()
	s := &stage{TB: tb, ctx: ctx, caps: caps, open: open}
	defer s.strike()
	c.run(s)
}

// checks lists every subtest. Each group is a file.
func checks() []check {
	return slices.Concat(
		exclusionChecks(), modeChecks(), orderChecks(), waitChecks(), raceChecks(), reentryChecks(),
		tokenChecks(), unlockChecks(), holdChecks(), lossChecks(), lockAllChecks(), limitChecks(),
		closeChecks(), contextChecks(), inputChecks(), spaceChecks(), adapterChecks(), doChecks(), valueChecks(),
		observeChecks(), deadlockChecks(),
	)
}

// needs combines reasons why a check does not apply.
func needs(reasons ...func(Caps) string) func(Caps) string {
	return func(caps Caps) string {
		for _, reason := range reasons {
			if why := reason(caps); why != "" {
				return why
			}
		}
		return ""
	}
}

// when returns the reason if missing is true.
func when(missing bool, reason string) string {
	if missing {
		return reason
	}
	return ""
}

func needShared(c Caps) string  { return when(c.NoShared, "mode shared is not offered") }
func needSlots(c Caps) string   { return when(c.NoSlots, "mode slots is not offered") }
func needReentry(c Caps) string { return when(c.NoReentry, "reentry is not offered") }
func needFIFO(c Caps) string    { return when(c.NoFIFO, "there is no queue") }
func needHold(c Caps) string    { return when(c.NoHold, "hold limits are not offered") }
func needDeadlock(c Caps) string {
	return when(c.NoDeadlock || c.Split, "deadlocks are not found, or not each")
}
func needHandOver(c Caps) string {
	return when(c.Keeps, "what is released is kept for a while")
}
func needSpaces(c Caps) string { return when(len(c.Spaces) == 0, "no further spaces exist") }
func needElsewhere(c Caps) string {
	return when(c.Elsewhere == nil, "no further member exists")
}
func needKill(c Caps) string    { return when(c.Kill == nil, "no hook to kill a session") }
func needBreak(c Caps) string   { return when(c.Break == nil, "no hook to break a lock") }
func needRelease(c Caps) string { return when(c.Release == nil, "no hook to release by token") }
