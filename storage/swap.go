package storage

import (
	"fmt"
)

// Swap replaces the value of one column, if that is what is expected: compare-and-set.
// Swapped answers it. The row of Key is written by nothing but Swap.
//
// After an ErrUnknown the column is to be read, by a Slice with Serial, before anything else
// is done about it: whether the swap was done shows there, if New is a value that no other
// swap writes. Some stores go on with it when it is read, others may do it later still.
type Swap struct {
	ID     uint64 // of this request, echoed in Swapped
	Key    string
	Column string
	Absent bool   // what is expected is that the column is not there
	Old    string // what is expected, where Absent is not set
	New    string
	// Notify says that watchers of the row must be notified. Without it they may be, too.
	Notify bool
}

// Swapped answers a Swap.
type Swapped struct {
	ID   uint64
	Done bool // the value was what was expected, and is New now
	// Present and Value are what the column has instead, where it is not Done and Err is nil.
	Present bool
	Value   string
	Err     error
}

// Check returns nil if a store takes the request. The error wraps ErrInvalid, and names what
// is wrong and what is allowed.
func (s Swap) Check() error {
	if err := checkKey(s.Key); err != nil {
		return err
	}
	if s.Absent && s.Old != "" {
		return fmt.Errorf("a column that is expected to be absent and to be %q; one of both is allowed: %w", s.Old, ErrInvalid)
	}
	return checkColumn(s.Column)
}

func (s Swap) String() string {
	if s.Absent {
		return fmt.Sprintf("swap #%d %q %q from nothing to %q", s.ID, s.Key, s.Column, s.New)
	}
	return fmt.Sprintf("swap #%d %q %q from %q to %q", s.ID, s.Key, s.Column, s.Old, s.New)
}

func (s Swapped) String() string {
	switch {
	case s.Err != nil:
		return fmt.Sprintf("swap #%d: %v", s.ID, s.Err)
	case s.Done:
		return fmt.Sprintf("swapped #%d", s.ID)
	case s.Present:
		return fmt.Sprintf("swap #%d: it is %q", s.ID, s.Value)
	}
	return fmt.Sprintf("swap #%d: there is nothing", s.ID)
}
