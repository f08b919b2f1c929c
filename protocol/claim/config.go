package claim

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// mostGroup is how long a group may be: with the longest name it is a key that every store takes.
const mostGroup = 256

// line is the maximum number of claims ahead of one that waits in the row. With more it is deleted, and rewritten when
// fewer are left.
const line = 32

// The fractions of an expiry at which claims change: from a third on one is renewed and no claim may wait behind it,
// and two fifths is the longest that a client may believe.
const (
	renewalShare = 3
	beliefNum    = 2
	beliefDen    = 5
)

// leastExpiry is all tries of a write one after the other, each as slow as it may be, one wait,
// the skew of the clocks, and as much again to be used.
func (o *Options) leastExpiry() time.Duration {
	return 2 * (time.Duration(o.Retries+1)*o.Wait + 2*o.Skew)
}

// writeBudget is the time limit of a write, by our clock, from when the clock was asked for its timestamp: W on the
// fastest clock, less the skew, on ours; and less a unit, because a timestamp may be up to that much before the time it
// was made of. A rival that is ahead by the skew reads when its own claim is W old, and sees every such write.
func (o *Options) writeBudget(drift float64) time.Duration {
	if protocol.Mutated("a write may take less than the wait by the skew") {
		return o.Wait
	}
	return lock.Shrink(lock.Shrink(o.Wait, drift)-o.Skew-time.Duration(o.Unit), drift)
}

// Belief is the longest that a client may continue to believe after its session was last heard, so that it stops before
// its claim expires.
func (o *Options) Belief() time.Duration { return o.Expiry / beliefDen * beliefNum }

// Timestamp returns a token as a time in microseconds since 1970, which it was made of: those of later tokens of a name
// are later.
func (o *Options) Timestamp(token holdfast.Token) int64 {
	if o.CAS {
		return int64(token) // the next number, after a first one in microseconds, regardless of the unit of claims
	}
	return o.Unit.micros(int64(token))
}

// Settings is the settings that users of a store must share, as written next to the locks.
func (o *Options) Settings() string {
	if o.CAS {
		return "cas" // what holds carries its own times
	}
	return fmt.Sprintf("claims wait=%v expiry=%v skew=%v unit=%v", o.Wait, o.Expiry, o.Skew, o.Unit)
}

// Config is a member's configuration.
type Config struct {
	Options
	// Self is this member's id. Required.
	Self protocol.ID
	// Table limits the requests of this member's own clients; the zero value has the table's defaults.
	Table lock.Config
	// Patience is how long to wait for another member's answer for operators, and from which silence of the store on
	// the error of a wait that ends mentions it, unless Wait is longer. Zero means 250 ms.
	Patience time.Duration
	// Random is the seed of random pauses before retries, so that colliding processes do not collide again.
	Random uint64
	// Wall is the wall clock at the machine's time zero, since the Unix epoch. With CAS a cell shows it to people. Zero
	// means that it is not known, and not shown.
	Wall time.Duration
	// Store is the store's features.
	Store storage.Features
	// Attends declares that no client of this process outlives it, so that the store may report its end.
	Attends bool
}

// resolve replaces zeros with defaults, and returns an error for invalid values.
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
	if err := c.resolveAll(c.Table.Drift); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	switch store := &c.Store; {
	case !store.Consistent:
		return fmt.Errorf("claim: store %s does not show every read all earlier writes; locks need a store that does", store.Name)
	case c.CAS && !store.Swap:
		return fmt.Errorf("claim: cas is on, and %s has no conditional writes; turn cas off, or use another store", store.Name)
	case c.StoreClock && !store.Clock:
		return fmt.Errorf("claim: clock is the store's, and %s has no single clock; leave clock out, and keep the processes' clocks within skew=%v", store.Name, c.Skew)
	}
	return nil
}
