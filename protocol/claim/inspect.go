package claim

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/storage"
)

// What a program reads and writes that has no part in the locks: listings, and operators' commands.

// State is a lock as its row shows it.
type State struct {
	// RID names the process that holds the lock, or whose claim is the oldest. Empty means that the lock is free. A
	// process that has crashed holds until its claims have expired.
	RID string
	// Token is the holder's. With claims it rises with each renewal, so it is not lower than the token of the grant.
	Token holdfast.Token
	// Since is when the holder's claim was written, at its grant or its latest renewal. With CAS it is when the holder's
	// process took the cell, by that process's wall clock: a cell that it kept (HoldOn) may have been granted later. Zero if
	// it is not recorded, as by earlier versions.
	Since time.Time
	// Until is when the holder's claim expires unless it is renewed. With CAS it is zero, because no clocks are compared.
	Until time.Time
	// Lease is how long the holder may go without a renewal.
	Lease time.Duration
	// Waiters are the processes that wait, in their order. With CAS their number is not recorded: there is one without
	// a name if any process waits.
	Waiters []Waiter
	// Value is the value of the grant (holdfast.Value), and Revision its number. A process of an earlier version writes
	// none.
	Value    string
	Revision uint64
	// Breaking reports that an operator has broken the lock, and that its holder has not released it yet.
	Breaking bool
}

// Waiter is a process whose claim stands behind another one.
type Waiter struct {
	RID   string
	Since time.Time
}

// Over returns for how long a cell must not change until its lease is over on every clock, as for a process that waits.
func (s *State) Over() time.Duration { return lock.Stretch(s.Lease, lock.DefaultDrift) }

// ParseSettings parses a result of Settings: how the locks of a store are written. The error names the invalid part.
func ParseSettings(text string) (*Options, error) {
	o := &Options{CAS: text == "cas"}
	if o.CAS {
		return o, nil
	}
	given, is := strings.CutPrefix(text, "claims ")
	if !is {
		return nil, fmt.Errorf("the store's settings are %q, which this version does not know; use the version that wrote them: %w", text, storage.ErrInvalid)
	}
	values := map[string]string{}
	for _, part := range strings.Fields(given) {
		name, value, _ := strings.Cut(part, "=")
		values[name] = value
	}
	list := o.List()
	for _, name := range []string{"wait", "expiry", "skew", "unit"} {
		if err := list.Set(name, values[name], true); err != nil {
			return nil, fmt.Errorf("the store's settings are %q: %w: %w", text, err, storage.ErrInvalid)
		}
	}
	return o, nil
}

// NameOf returns the name of the lock whose row has that key, and reports whether it is the row of one of the group.
func (o *Options) NameOf(key string) (name string, ok bool) {
	name = o.nameOf(key)
	return name, name != ""
}

// Selection returns the slice that shows a lock's State at a wall time in microseconds.
func (o *Options) Selection(name string, micros int64) *storage.Slice {
	s := &storage.Slice{Key: Row(o.Group, name), Start: cellColumn, End: cellColumn + "\x00", Serial: true}
	if !o.CAS {
		start := binary.BigEndian.AppendUint64(nil, uint64(o.cutoff(micros)))
		s.Start, s.End, s.Serial = string(start), "", false
	}
	return s
}

// cutoff returns the timestamp below which claims have expired.
func (o *Options) cutoff(micros int64) int64 {
	if o.CAS {
		return 0
	}
	return max(0, o.Unit.of(micros)-o.Unit.count(o.Expiry+o.Skew))
}

// Inspect returns the state of a lock from the entries of its row, at a wall time in microseconds.
func (o *Options) Inspect(entries []storage.Entry, micros int64) (s State) {
	if o.CAS {
		if c, is := decodeCell(CellOf(entries)); is {
			s = c.state()
		}
		return s
	}
	all, _ := o.claimants(entries, o.cutoff(micros))
	for i := range all {
		p := &all[i]
		if i > 0 {
			s.Waiters = append(s.Waiters, Waiter{p.rid, o.timeOf(p.first)})
			continue
		}
		since := o.timeOf(p.last)
		s = State{
			RID: p.rid, Token: holdfast.Token(p.last), Since: since, Until: since.Add(o.Expiry), Lease: o.Expiry,
			Value: shownValue(p.says.value), Revision: p.says.revision, Breaking: p.broken >= p.last,
		}
	}
	return s
}

// claimant is what the claims of one process in a row say.
type claimant struct {
	rid         string
	first, last int64 // timestamps of the oldest and of the latest
	written     int64 // when they were last written: the mark that their release leaves
	broken      int64 // up to which an operator has broken the lock; -1 if that has not happened
	says        saying
}

// mark is the highest token of a released lock that a row remembers, and the process that has released it.
type mark struct {
	stamp int64
	by    string
}

// claimants returns the processes that have claims in a row, in the order of their oldest ones, and the row's mark.
func (o *Options) claimants(entries []storage.Entry, cutoff int64) (all []claimant, m mark) {
	for i := range entries {
		e := &entries[i]
		if stamp, by, is := parseMark(e); is {
			m = mark{stamp, by}
			continue
		}
		named := func(rid string) int { return slices.IndexFunc(all, func(p claimant) bool { return p.rid == rid }) }
		if stamp, rid, is := parseBreak(e.Column); is {
			if at := named(rid); at >= 0 {
				all[at].broken = max(all[at].broken, stamp)
			}
			continue
		}
		stamp, rid, is := ParseColumn(e.Column)
		if !is || stamp < cutoff {
			continue
		}
		at := named(rid)
		if at < 0 {
			at, all = len(all), append(all, claimant{rid: rid, first: stamp, broken: -1})
		}
		p := &all[at]
		p.last, p.written = stamp, max(p.written, o.Unit.lastWriteOf(e, stamp))
		p.says = p.says.latest(e, stamp)
	}
	return all, m
}

// timeOf returns the time that a timestamp was made of.
func (o *Options) timeOf(stamp int64) time.Time { return time.UnixMicro(o.Unit.micros(stamp)) }

// Without returns the entries of a row without the claims of a process.
func Without(entries []storage.Entry, rid string) []storage.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e storage.Entry) bool {
		_, by, is := ParseColumn(e.Column)
		return is && by == rid
	})
}

// stampOf returns the timestamp that a token of claims was made of.
func stampOf(token holdfast.Token) int64 { return int64(min(uint64(token), math.MaxInt64)) }

// state returns a cell's contents as a State.
func (c *content) state() (s State) {
	if !c.held {
		return s
	}
	s = State{
		RID: c.rid, Token: holdfast.Token(c.token), Lease: c.lease, Breaking: c.flags&broken != 0,
		Value: shownValue(c.value), Revision: c.revision,
	}
	if c.taken != 0 {
		s.Since = time.UnixMicro(int64(c.taken))
	}
	if c.flags&waitedFor != 0 {
		s.Waiters = []Waiter{{}}
	}
	return s
}

// SameHold reports whether two contents of a cell are of one hold without a renewal in between, so that its lease runs on.
func SameHold(a, b string) bool {
	is, ok1 := decodeCell(a)
	was, ok2 := decodeCell(b)
	is.flags, was.flags = 0, 0
	return ok1 && ok2 && is == was
}

// CellOf returns the contents of a lock's cell in its row, and "" if there are none.
func CellOf(entries []storage.Entry) string {
	for i := range entries {
		if entries[i].Column == cellColumn {
			return entries[i].Value
		}
	}
	return ""
}

// Breaking returns the swap that has a cell's holder give it up.
func Breaking(key, value string) *storage.Swap {
	c, _ := decodeCell(value)
	c.flags |= broken
	return &storage.Swap{Key: key, Column: cellColumn, Old: value, New: c.encode(), Notify: true}
}

// Freeing returns the swap that frees a cell, whose holder has ended or has let its lease run out.
func Freeing(key, value string) *storage.Swap {
	c, _ := decodeCell(value)
	free := content{token: c.token}
	return &storage.Swap{Key: key, Column: cellColumn, Old: value, New: free.encode(), Notify: true}
}

// BreakingClaim returns the mutation that has the holder of a claim give it up.
func (o *Options) BreakingClaim(key string, s *State) *storage.Mutate {
	return &storage.Mutate{
		Key: key, Additions: []storage.Entry{{Column: breakColumn(stampOf(s.Token), s.RID), Value: "1"}},
		Timestamp: o.Unit.micros(stampOf(s.Token)), TTL: 2*o.Expiry + o.Skew,
	}
}

// FreeingClaims returns the mutation that deletes a process's claims from a row, and leaves the mark. The process must
// have ended. It is nil if there are none.
func (o *Options) FreeingClaims(key string, entries []storage.Entry, rid string) *storage.Mutate {
	m, highest := &storage.Mutate{Key: key}, int64(-1)
	for i := range entries {
		if stamp, by, is := ParseColumn(entries[i].Column); is && by == rid {
			m.Deletions, highest = append(m.Deletions, entries[i].Column), max(highest, o.Unit.lastWriteOf(&entries[i], stamp))
		}
	}
	if len(m.Deletions) == 0 {
		return nil
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(highest))
	m.Additions = []storage.Entry{{Column: marks, Value: string(value) + rid}}
	m.Timestamp = o.Unit.micros(highest)
	return m
}

// breaks comes before the columns that ask the holder of a claim to give it up. They stand behind the mark.
const breaks = marks + "break"

// breakColumn names the column that breaks a process's claims up to one.
func breakColumn(stamp int64, rid string) string { return breaks + Column(stamp, rid) }

// parseBreak parses a result of breakColumn, and reports whether it is one.
func parseBreak(column string) (stamp int64, rid string, ok bool) {
	rest, is := strings.CutPrefix(column, breaks)
	if !is {
		return 0, "", false
	}
	return ParseColumn(rest)
}
