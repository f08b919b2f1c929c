package storage

import (
	"fmt"
)

// Swap replaces the value of one column if it has the expected value: compare-and-set. Swapped is the answer. Only Swap
// writes the row of Key.
//
// After an ErrUnknown, read the column with a Serial Slice before any other action on it: this shows whether the swap
// was done, if no other swap writes the value New. Some stores complete the swap on that read, others may do so later
// still.
type Swap struct {
	ID     uint64 // of this request, repeated in Swapped
	Key    string
	Column string
	Absent bool   // the column must not exist
	Old    string // the expected value, unless Absent
	New    string
	// Notify requires that watchers of the row are notified. Without it they may still be.
	Notify bool
	// Soft allows the store to answer before the swap would survive a crash of the machine. Stores may ignore it.
	Soft bool
}

// Swapped answers a Swap.
type Swapped struct {
	ID   uint64
	Done bool // the column had the expected value, and is now New
	// Present and Value are the column's actual state, if Done is false and Err is nil.
	Present bool
	Value   string
	Err     error
}

// Check returns nil if a store accepts the request. The error wraps ErrInvalid, and names what is wrong and what is
// allowed.
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
