package claim

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Options are what all processes that share locks agree on, and what each may choose.
type Options struct {
	// Wait is W: how long a claim is left alone before it is checked, and so how long its write
	// may take at the most, less Skew. The same in all processes. Zero means 100 ms, which is
	// storage.lock.wait-time of the original.
	Wait time.Duration
	// Expiry is how old a claim grows before others pass it over: how long a lock stays taken
	// whose holder has crashed. A living holder claims anew before. The same in all processes.
	// Zero means 30 s, or the least that Wait, Retries and Skew allow if that is more; the original
	// has 5 min, and no way to hold longer.
	Expiry time.Duration
	// Skew is by how much the clocks of two processes may differ. The same in all processes.
	// Zero means half of Wait, less a twelfth.
	Skew time.Duration
	// Retries is how often a write, a read or a deletion is tried. Zero means 3.
	Retries int
	// Unit is what timestamps count. Zero means microseconds.
	Unit Unit
	// RID names the process in its claims: 1 to 128 bytes of UTF-8, unlike any other's that uses
	// the store, or has used it for as long as claims live. Required.
	RID string
	// Group is the key part of rows: locks of one name in one group exclude each other. Required,
	// at most 256 bytes.
	Group string
	// Cells says that names are those of CellName: locks of cells of a user's own table, as the
	// original has them. Then Group is not used.
	Cells bool
	// CAS takes locks by conditional writes instead of claims, where the store has them.
	CAS bool
	// HoldOn is for how long after a conditional write a process keeps what it has released, for its
	// own clients, which then need no write: 1 ms to 1 s, and a tenth of Expiry at most. What they have
	// used meanwhile is written anew, up to seven times. Others who wait do so for that much longer.
	// Each process may choose. Zero means off.
	HoldOn time.Duration
	// StoreClock dates claims by the clock of the store, where it has one, so that those of the
	// processes need not agree.
	StoreClock bool
	// Cleaner deletes claims that have expired, at most once in 30 s for a name.
	Cleaner bool
}

// mostGroup is how long a group may be: with the longest name it is a key that every store takes.
const mostGroup = 256

// line is how many claims may be ahead of one that waits in the row. Behind more it is deleted, and
// written again when fewer are left.
const line = 32

// The shares of an expiry at which something is done about a claim: a third, from when on it is
// renewed and no claim stands behind it, and two fifths, the longest that a client may believe.
const (
	renewalShare = 3
	beliefNum    = 2
	beliefDen    = 5
)

// Resolve puts the defaults in the place of zeros, and says what is not allowed or contradicts
// itself: an Expiry that does not leave time for all tries of a write, a Skew that leaves none.
func (o *Options) Resolve(drift float64) error {
	if o.Wait == 0 {
		o.Wait = 100 * time.Millisecond
	}
	if o.Skew == 0 {
		o.Skew = o.Wait * 5 / 12
	}
	if o.Retries == 0 {
		o.Retries = 3
	}
	if o.Unit == 0 {
		o.Unit = Micro
	}
	if o.Expiry == 0 {
		o.Expiry = max(30*time.Second, o.leastExpiry())
	}
	switch {
	case o.Wait < time.Millisecond || o.Wait > time.Minute:
		return fmt.Errorf("wait is %v; 1ms to 1m is allowed", o.Wait)
	case unitNames[o.Unit] == "":
		return fmt.Errorf("unit is %d ns; us, ms and ns are allowed", int64(o.Unit))
	case o.Skew < 0:
		return fmt.Errorf("skew is %v; 0 or more is allowed, and 0 for its default", o.Skew)
	case o.writeBudget(drift) < o.Wait/10:
		return fmt.Errorf("skew is %v with wait %v, which leaves a write %v; raise wait to %v at least, or bring the clocks closer together and lower skew",
			o.Skew, o.Wait, max(0, o.writeBudget(drift)), (2*(o.Skew+time.Duration(o.Unit)) + time.Millisecond - 1).Truncate(time.Millisecond))
	case o.Retries < 1 || o.Retries > 100:
		return fmt.Errorf("retries is %d; 1 to 100 is allowed", o.Retries)
	case o.Expiry > 24*time.Hour:
		return fmt.Errorf("expiry is %v; at most 24h is allowed", o.Expiry)
	}
	return o.resolveRest()
}

// resolveRest says what is not allowed of the options that do not stand for themselves.
func (o *Options) resolveRest() error {
	if least := o.leastExpiry(); o.Expiry < least {
		return fmt.Errorf("expiry is %v with wait %v, retries %d and skew %v, so a claim could expire while it is written; raise expiry to %v at least, or lower wait or retries",
			o.Expiry, o.Wait, o.Retries, o.Skew, least)
	}
	switch {
	case o.RID == "" || len(o.RID) > 128 || strings.ToValidUTF8(o.RID, "") != o.RID:
		return fmt.Errorf("rid is %q; 1 to 128 bytes of UTF-8 are allowed", o.RID)
	case strings.ContainsFunc(o.RID, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("rid is %q; control characters are not allowed in it", o.RID)
	case o.Group == "" || len(o.Group) > mostGroup:
		return fmt.Errorf("group is %q; 1 to %d bytes are allowed", o.Group, mostGroup)
	case o.CAS && o.StoreClock:
		return fmt.Errorf("cas is on and clock is the store's, and with cas no clock is asked for more than the first token; leave clock out")
	case o.HoldOn != 0 && !o.CAS:
		return fmt.Errorf("hold_on is %v and cas is off, and a claim that was released cannot be kept; turn cas on, or leave hold_on out", o.HoldOn)
	case o.HoldOn != 0 && (o.HoldOn < leastHoldOn || o.HoldOn > mostHoldOn):
		return fmt.Errorf("hold_on is %v; %v to %v is allowed, and 0 for off", o.HoldOn, leastHoldOn, mostHoldOn)
	case o.HoldOn > o.Expiry/holdOnShare:
		return fmt.Errorf("hold_on is %v with expiry %v, and what is kept must be far from its expiry; raise expiry to %v at least, or lower hold_on",
			o.HoldOn, o.Expiry, holdOnShare*o.HoldOn)
	case o.CAS && o.Cleaner:
		return fmt.Errorf("cas is on and so is cleaner, and with cas there are no claims to be cleaned; leave cleaner out")
	}
	return nil
}

// leastExpiry is all tries of a write one after the other, each as slow as it may be, one wait,
// the skew of the clocks, and as much again to be used.
func (o *Options) leastExpiry() time.Duration {
	return 2 * (time.Duration(o.Retries+1)*o.Wait + 2*o.Skew)
}

// writeBudget is how long a write may take, by our clock, from when the clock was asked for its
// timestamp: W on the fastest clock, less the skew, on ours; and less a unit, because a timestamp may
// be so much before the time that it was made of. A rival that is ahead by the skew reads when its own
// claim is W old, and sees what was written so.
func (o *Options) writeBudget(drift float64) time.Duration {
	if protocol.Mutated("a write may take less than the wait by the skew") {
		return o.Wait
	}
	return lock.Shrink(lock.Shrink(o.Wait, drift)-o.Skew-time.Duration(o.Unit), drift)
}

// Belief is the longest that a client may go on believing after its session was last heard, so
// that it stops before its claim expires.
func (o *Options) Belief() time.Duration { return o.Expiry / beliefDen * beliefNum }

// Timestamp returns a token as a time in microseconds since 1970, which it was made of: those of later tokens of a name
// are later.
func (o *Options) Timestamp(token holdfast.Token) int64 {
	if o.CAS {
		return int64(token) // the next number, after a first one in microseconds, regardless of the unit of claims
	}
	return o.Unit.micros(int64(token))
}

// Settings is what those who share a store must agree on, as it is written beside the locks.
func (o *Options) Settings() string {
	if o.CAS {
		return "cas" // what holds carries its own times
	}
	return fmt.Sprintf("claims wait=%v expiry=%v skew=%v unit=%v", o.Wait, o.Expiry, o.Skew, o.Unit)
}

// Config is what a member needs to know to take part.
type Config struct {
	Options
	// Self is this member's id. Required.
	Self protocol.ID
	// Table bounds what this member's own clients may ask for; the zero value has the table's
	// defaults.
	Table lock.Config
	// Patience is how long an answer of another member is waited for when operators ask, and how long the
	// store may be silent before a wait that ends is told so, where Wait is not longer. Zero
	// means 250 ms.
	Patience time.Duration
	// Operators is how many calls of operators may wait for the others' answers at this
	// member. Zero means 64.
	Operators int
	// Random draws how long is waited before something is tried again, so that those who have
	// met do not meet again.
	Random uint64
	// Store says what the store can do.
	Store storage.Features
}

// resolve puts the defaults in the place of zeros, and says what is not allowed.
func (c *Config) resolve() error {
	if c.Patience == 0 {
		c.Patience = 250 * time.Millisecond
	}
	if c.Operators == 0 {
		c.Operators = 64
	}
	switch {
	case c.Self == 0:
		return fmt.Errorf("claim: Self is 0; give the member's id")
	case c.Patience < 0:
		return fmt.Errorf("claim: Patience is %v; a positive duration is allowed, and 0 for its default", c.Patience)
	case c.Operators < 0:
		return fmt.Errorf("claim: Operators is %d; a positive number is allowed, and 0 for its default", c.Operators)
	}
	if err := c.Resolve(c.Table.Drift); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	switch store := &c.Store; {
	case !store.Consistent:
		return fmt.Errorf("claim: a store (%s) that does not show every read what was written before; locks need one that does", store.Name)
	case c.CAS && !store.Swap:
		return fmt.Errorf("claim: cas is on, and %s has no conditional writes; turn cas off, or use another store", store.Name)
	case c.StoreClock && !store.Clock:
		return fmt.Errorf("claim: clock is the store's, and %s does not tell the time as one clock; leave clock out, and keep the processes' clocks within skew=%v", store.Name, c.Skew)
	}
	return nil
}
