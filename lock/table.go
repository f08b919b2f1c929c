package lock

import (
	"fmt"
	"math"

	"github.com/holdfast-locks/holdfast"
)

// The default limits of a Config.
const (
	DefaultDrift           = 0.05
	DefaultWaitersPerName  = 10_000
	DefaultLocksPerSession = 100_000
	DefaultHistory         = 1_024
)

// MaxCount is the maximum number of tokens of a reign. Then the table is exhausted until the next reign begins.
const MaxCount = 1 << 31

// MaxReign is the highest reign: tokens stay positive as an int64.
const MaxReign = 1<<31 - 1

// Config configures a table. The zero Config is valid.
type Config struct {
	// Drift is the maximum rate difference between two clocks: 0.05 is 5 %, and less than 1 is allowed. Zero means
	// 0.05.
	Drift float64
	// WaitersPerName is the maximum number of waiters for one name, including parked ones. Zero means 10,000.
	WaitersPerName int
	// Names is the maximum number of live names, excluding SpaceLock. Zero means no limit but memory.
	Names int
	// LocksPerSession is the maximum number of holds and waits of one session in this table, each reentry counted. Zero
	// means 100,000.
	LocksPerSession int
	// History is the number of ended grants that the table remembers for Show, of all names together. Zero means 1,024.
	History int
	// Permitted means that the table has the requests of one member only, and other members have theirs: it grants only
	// what [Table.Permit] permits. See permit.go.
	Permitted bool
	// LeavesCycles means that no waiter is refused because of a deadlock, which the simulator must find.
	LeavesCycles bool
}

func (c Config) resolve() (Config, error) {
	// The comparison is written so that it refuses NaN too.
	if !(c.Drift >= 0 && c.Drift < 1) {
		return c, fmt.Errorf("lock table: Drift %v: want at least 0 and less than 1", c.Drift)
	}
	for _, bound := range []struct {
		field string
		value int
	}{
		{"WaitersPerName", c.WaitersPerName},
		{"Names", c.Names},
		{"LocksPerSession", c.LocksPerSession},
		{"History", c.History},
	} {
		if bound.value < 0 || bound.value > math.MaxInt32 {
			return c, fmt.Errorf("lock table: %s %d: want 0 (its default) to %d", bound.field, bound.value, math.MaxInt32)
		}
	}
	if c.Drift == 0 {
		c.Drift = DefaultDrift
	}
	if c.WaitersPerName == 0 {
		c.WaitersPerName = DefaultWaitersPerName
	}
	if c.LocksPerSession == 0 {
		c.LocksPerSession = DefaultLocksPerSession
	}
	if c.History == 0 {
		c.History = DefaultHistory
	}
	return c, nil
}

// Table is the lock table of one lockspace, or of one part of it. It is not safe for concurrent use, and now must never
// go back. It keeps the names and texts of its requests as they are, so they should not be parts of larger buffers.
//
// A new table grants nothing before BeginReign.
type Table struct {
	limits Config
	drift  drift

	reign  uint64
	count  uint32 // tokens given in this reign
	last   holdfast.Token
	paused bool

	byName      map[string]int32
	order       order
	recentNames recentNames
	bySession   map[SessionID]int32
	recent      int32 // the latest result of a session lookup, or 0
	idle        int32 // a session without entries whose record is kept, or 0
	names       slab[record, *record]
	entries     slab[entry, *entry]
	details     slab[detail, *detail]
	crowds      slab[crowd, *crowd]
	sessions    slab[session, *session]

	waiters int
	// Waiters that are to be refused rather than left in a cycle of waits, and whether one of them may be in a cycle.
	waitsWilling int
	unsearched   bool
	tries        int     // waiters that wait only for an authority
	deadlines    []int32 // heap of details that have an end
	history      history
	gate         *gate               // nil unless the table is suspended or a suspension waits
	given        [givenEntries]int32 // entries of the latest tokens, by their low bits: candidates to verify
	touched      []int32             // live names to settle, while an operation ends many entries
	restored     uint64              // the cursor at which Restore continues; 0 when there is none
	copies       []*Copy             // copies in progress
}

// New returns an empty table. The error names the invalid field of c, its value and the allowed ones.
func New(c Config) (*Table, error) {
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	return &Table{
		limits:    c,
		drift:     newDrift(c.Drift),
		byName:    make(map[string]int32),
		bySession: make(map[SessionID]int32),
		history:   history{bound: c.History},
	}, nil
}

// Token returns the fencing token reign·2³² + count.
func Token(reign uint64, count uint32) holdfast.Token {
	return holdfast.Token(reign<<32 | uint64(count))
}

// BeginReign starts the tokens of reign, the next of which has count+1. It panics if that could repeat a token: reign
// and count together must not be lower than before. The next Resume grants waiting requests.
func (t *Table) BeginReign(reign uint64, count uint32) {
	if reign < 1 || reign > MaxReign || count > MaxCount {
		panic(fmt.Sprintf("lock: reign %d with count %d: want a reign of 1 to %d, a count of at most %d", reign, count, MaxReign, MaxCount))
	}
	if token := Token(reign, count); reign < t.reign || token < t.last {
		panic(fmt.Sprintf("lock: reign %d with count %d follows reign %d with count %d", reign, count, t.reign, t.count))
	}
	t.reign, t.count, t.last = reign, count, Token(reign, count)
}

// Reign returns the reign whose tokens are given, or 0 before the first.
func (t *Table) Reign() uint64 { return t.reign }

// Last returns the highest token given or passed over; 0 before the first.
func (t *Table) Last() holdfast.Token { return t.last }

// Exhausted reports whether the reign has given MaxCount tokens. Requests then queue until BeginReign and Resume.
func (t *Table) Exhausted() bool { return t.count >= MaxCount }

// Pause stops granting: requests queue, also those with Try, until the next Resume or their WaitEnd; those whose
// WaitEnd has passed are refused with ErrUnavailable. Holders stay, and release, reentry and time limits work as
// before.
func (t *Table) Pause() { t.paused = true }

// Resume starts granting again, and immediately grants all requests that fit; waiting requests with Try that do not fit
// are refused. Names follow one another in byte order, and decisions at one name in the order of its queue; then come
// the suspensions.
func (t *Table) Resume(now Time, out *[]Decision) {
	t.paused = false
	t.settleAll(now, out)
}

// serving reports whether new grants may be made. If they have to be permitted, tokens come from the protocol.
func (t *Table) serving() bool {
	return !t.paused && (t.limits.Permitted || t.reign != 0 && t.count < MaxCount)
}

// Names returns how many names are live: held or waited for. [SpaceLock] is none.
func (t *Table) Names() int {
	live := t.names.used - t.recentNames.count
	if t.gate != nil && t.gate.spaceLock != 0 {
		live--
	}
	return live
}

// Holds returns the number of holds, each reentry counted.
func (t *Table) Holds() int { return t.entries.used - t.waiters }

// Sessions returns how many sessions hold or wait.
func (t *Table) Sessions() int {
	if t.idle != 0 {
		return len(t.bySession) - 1
	}
	return len(t.bySession)
}

// Waiters returns how many requests wait.
func (t *Table) Waiters() int { return t.waiters }
