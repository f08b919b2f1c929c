package explore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/sim"
)

// Config describes an exploration. The budgets bound how often each deviation from the default schedule happens in one
// run; the number of runs is unbounded.
type Config struct {
	// Protocol is the protocol of the members. Required; see sim.Find.
	Protocol sim.Protocol
	// Members is the number of members, all of them founders with a cell. Zero means 3.
	Members int
	// Users is the number of users, each at a member: the first at the first. Zero means none.
	Users int
	// Names is the number of names that they lock. Zero means 1 if there are users.
	Names int
	// Calls is how often each user may lock a name. Zero means once if there are users.
	Calls int

	// Crashes, Pauses, Losses, Duplicates and Delays are the budgets of deviations.
	Crashes, Pauses, Losses, Duplicates, Delays int
	// Restarts is how often a crashed member starts again while faults may still happen. One more start ends all
	// faults, so that the search can check whether everything comes to rest.
	Restarts int
	// Dawdles is how often a user delays, for any time. Otherwise it asks at once, and unlocks as soon as it gets a
	// grant.
	Dawdles int
	// Transfers is how often an operator makes a member the authority, through that member, at any point of a run: so
	// several may be in progress at once. Only for protocols that support it.
	Transfers int
	// HoldOn is how long a member keeps a grant that none of its users needs, where the authority can be handed over.
	// Zero means not at all; else it is 1 s to 1 h.
	HoldOn time.Duration
	Options
	// Fast lets at most one member's clock, any of them, run faster than the others by Drift.
	Fast bool

	// Formed starts with a cluster whose view is open and whose users have their sessions, instead of with the start of
	// its members: no deviation happens before that.
	Formed bool
	// Lease is D. Zero means 3 s.
	Lease time.Duration
	// Drift is δ. Zero means 0.05.
	Drift float64
	// Quantum is the resolution of time: an event that is due happens at the next multiple of it. Zero means a sixtieth
	// of the lease; 20 ns is the minimum.
	Quantum time.Duration

	// Depth limits the number of steps of a run. Zero means no limit. An exploration that reaches the limit is not
	// complete.
	Depth int
	// Exact treats states as equal only if they are identical, at the same time: nothing is renamed. Such an
	// exploration ends only at its depth.
	Exact bool
	// Unreduced compares states by all fields of the machines, including those that can no longer matter (rules.go). It
	// finds the same, in more states.
	Unreduced bool
}

// finest is the minimum quantum: a clock that is faster by a twentieth shows whole nanoseconds at every multiple of it.
const finest = 20 * time.Nanosecond

// check fills in defaults. The error names the wrong value and the allowed ones.
func (c *Config) check() error {
	c.defaults()
	switch {
	case c.Protocol.Options == nil:
		return fmt.Errorf("explore: Protocol has no Options; one of %s is allowed", sim.Names())
	case c.Members < 1 || c.Members > maxMembers:
		return fmt.Errorf("explore: Members is %d; 1 to %d is allowed", c.Members, maxMembers)
	case c.Users < 0 || c.Users > maxUsers, c.Names < 0 || c.Names > maxNames, c.Calls < 0 || c.Calls > maxBudget:
		return fmt.Errorf("explore: Users %d, Names %d, Calls %d: up to %d, %d and %d are allowed", c.Users, c.Names, c.Calls, maxUsers, maxNames, maxBudget)
	case c.Users > 0 && !c.Protocol.Locks:
		return fmt.Errorf("explore: Users is %d, and protocol %s has no locks; give a protocol that has, or no users", c.Users, c.Protocol.Name)
	case c.Transfers > 0 && !c.Protocol.Moves:
		return fmt.Errorf("explore: Transfers is %d, and protocol %s hands over nothing; 0 is allowed", c.Transfers, c.Protocol.Name)
	case c.HoldOn != 0 && (!c.Protocol.Moves || c.HoldOn < time.Second || c.HoldOn > time.Hour):
		return fmt.Errorf("explore: HoldOn is %v with protocol %s; 0 is allowed, and with grantor 1s to 1h", c.HoldOn, c.Protocol.Name)
	case !c.Protocol.Peers && (c.Capacity != 0 || c.Units != 0 || c.Retain || c.Defer):
		return fmt.Errorf("explore: Capacity is %d, Units %d, Retain %v, Defer %v, and in protocol %s no peers ask one another; 0 and false are allowed", c.Capacity, c.Units, c.Retain, c.Defer, c.Protocol.Name)
	case c.Capacity < 0 || c.Capacity > maxBudget || c.Units < 0 || c.Units == 1 || c.Units > maxBudget || c.Capacity != 0 && c.Units != 0:
		return fmt.Errorf("explore: Capacity is %d, and Units %d; 0 to %d is allowed, 1 unit is not, and not both", c.Capacity, c.Units, maxBudget)
	case c.Lease < time.Millisecond || c.Lease > time.Hour:
		return fmt.Errorf("explore: Lease is %v; %v to %v is allowed", c.Lease, time.Millisecond, time.Hour)
	case !(c.Drift >= 0 && c.Drift <= 0.5):
		return fmt.Errorf("explore: Drift is %v; 0 to 0.5 is allowed", c.Drift)
	case c.Fast && c.Drift != 0.05:
		return fmt.Errorf("explore: Drift is %v; with Fast it must be 0.05, by which fast clocks run here", c.Drift)
	case c.Quantum < finest || c.Quantum%finest != 0 || c.Quantum > c.Lease/10:
		return fmt.Errorf("explore: Quantum is %v; multiples of %v up to a tenth of the lease, %v, are allowed", c.Quantum, finest, c.Lease/10)
	case c.Depth < 0:
		return fmt.Errorf("explore: Depth is %d; 0 means no bound", c.Depth)
	}
	for _, budget := range []struct {
		name  string
		value int
	}{
		{"Crashes", c.Crashes}, {"Pauses", c.Pauses}, {"Losses", c.Losses}, {"Duplicates", c.Duplicates}, {"Delays", c.Delays}, {"Restarts", c.Restarts}, {"Dawdles", c.Dawdles}, {"Transfers", c.Transfers},
	} {
		if budget.value < 0 || budget.value > maxBudget {
			return fmt.Errorf("explore: %s is %d; 0 to %d is allowed", budget.name, budget.value, maxBudget)
		}
	}
	return nil
}

// Limits of a configuration: a byte each in a checkpoint.
const (
	maxMembers = 7
	maxUsers   = 8
	maxNames   = 4
	maxBudget  = 100
)

func (c *Config) defaults() {
	c.Members = cmp.Or(c.Members, 3)
	if c.Users > 0 {
		c.Names, c.Calls = cmp.Or(c.Names, 1), cmp.Or(c.Calls, 1)
	}
	c.Lease, c.Drift = cmp.Or(c.Lease, 3*time.Second), cmp.Or(c.Drift, 0.05)
	c.Quantum = cmp.Or(c.Quantum, max(finest, (c.Lease/60).Truncate(finest)))
}

// String describes the exploration in the words of the command line.
func (c *Config) String() string {
	text := fmt.Sprintf("protocol=%s members=%d", c.Protocol.Name, c.Members)
	say := sayer(&text)
	say(c.Users > 0, " users=%d locks=%d calls=%d dawdles=%d", c.Users, c.Names, c.Calls, c.Dawdles)
	say(true, " crashes=%d restarts=%d pauses=%d losses=%d duplicates=%d delays=%d", c.Crashes, c.Restarts, c.Pauses, c.Losses, c.Duplicates, c.Delays)
	say(c.Transfers > 0, " transfers=%d", c.Transfers)
	say(c.HoldOn > 0, " hold_on=%v", c.HoldOn)
	say(true, "%v", &c.Options)
	say(c.Fast, " fast-clock")
	say(c.Formed, " formed")
	say(true, " lease=%v quantum=%v", c.Lease, c.Quantum)
	say(c.Depth > 0, " depth=%d", c.Depth)
	say(c.Exact, " exact")
	say(c.Unreduced, " whole")
	return text
}

// sayer returns a function that appends to a text under a condition.
func sayer(text *string) func(is bool, format string, arguments ...any) {
	return func(is bool, format string, arguments ...any) {
		if is {
			*text += fmt.Sprintf(format, arguments...)
		}
	}
}

// longest is how far back an instant may be and still matter: longer than every timer that a machine counts from a past
// instant. The longest of these is a lease stretched by the drift, except the time for which a dropped tenure is
// remembered (rules.go).
func (c *Config) longest() time.Duration {
	return c.Lease + time.Duration(float64(c.Lease)*c.Drift) + c.Lease/12
}

// wall is the reading of the wall clock when the members start.
const wall = time.Duration(membership.Origin)*time.Second + 1000*time.Second
