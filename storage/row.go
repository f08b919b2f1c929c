package storage

import (
	"errors"
	"fmt"
	"time"
)

// The classes of a store's errors, for use with errors.Is. A machine treats an error that is none of these as
// ErrUnknown.
var (
	// ErrRefused means that nothing was done, nor will be. A retry may succeed.
	ErrRefused = errors.New("the store has refused it, for now")
	// ErrInvalid means that nothing was done, nor will be, regardless of retries.
	ErrInvalid = errors.New("the store does not take it")
	// ErrUnknown means that the request may have taken effect, may do so later, or never. A Slice has no effect in any
	// case.
	ErrUnknown = errors.New("the store may have done it")
)

// Entry is a column of a row, with its value.
type Entry struct {
	Column string
	Value  string
}

// Mutate adds columns to the row of Key, or replaces their values, and deletes others: all at one instant, or nothing.
// Mutated is the answer.
type Mutate struct {
	ID        uint64 // of this request, repeated in Mutated
	Key       string
	Additions []Entry
	Deletions []string
	// Timestamp orders the writes of one column: an addition under a lower one than the column's own changes nothing.
	// If the store remembers a deletion, the deletion wins over an addition under the same or a lower one. Usually it
	// is the writer's wall clock, in microseconds.
	Timestamp int64
	// TTL is the time after which the store may delete the additions, by its own clock. Stores count whole seconds: a
	// fraction counts as one, and the end may come up to a second early, or later. Zero means never, and a store
	// without Features.TTL never deletes them.
	TTL time.Duration
}

// Mutated answers a Mutate.
type Mutated struct {
	ID  uint64
	Err error // nil: it has taken effect
}

// Slice reads the row of Key: the columns from Start, inclusive, to End, exclusive. Sliced is the answer. Stores skip
// deleted columns one by one, so a Start close before the live ones is faster.
type Slice struct {
	ID    uint64 // of this request, repeated in Sliced
	Key   string
	Start string
	End   string // empty means the end of the row
	Limit int    // the maximum number of columns returned, the first ones; zero means all
	// Serial reads a row that is written by Swap: it waits for writes in progress there, or completes them.
	Serial bool
}

// Sliced answers a Slice. A row that was never written is empty, which is no error.
type Sliced struct {
	ID      uint64
	Entries []Entry // in the order of their columns; nil with an error
	Err     error
}

// MaxName is the maximum length of a key or a column in bytes, the same for every store. The tightest store sets it: an
// entry of a PostgreSQL B-tree, which is a key and a column, has at most 2704 bytes.
const MaxName = 1024

// Check returns nil if a store accepts the request. The error wraps ErrInvalid, and names what is wrong and what is
// allowed.
func (m Mutate) Check() error {
	if err := checkKey(m.Key); err != nil {
		return err
	}
	added := map[string]bool{}
	for i := range m.Additions {
		column := m.Additions[i].Column
		if err := checkColumn(column); err != nil {
			return err
		}
		if added[column] {
			return fmt.Errorf("column %q is added twice; once is allowed: %w", column, ErrInvalid)
		}
		added[column] = true
	}
	for _, column := range m.Deletions {
		if err := checkColumn(column); err != nil {
			return err
		}
		if added[column] {
			return fmt.Errorf("column %q is added and deleted; one of both is allowed: %w", column, ErrInvalid)
		}
	}
	switch {
	case len(m.Additions)+len(m.Deletions) == 0:
		return fmt.Errorf("nothing is added and nothing deleted; name at least one column: %w", ErrInvalid)
	case m.Timestamp < 0:
		return fmt.Errorf("timestamp %d; 0 or more is allowed: %w", m.Timestamp, ErrInvalid)
	case m.TTL < 0:
		return fmt.Errorf("ttl %v; more than 0s is allowed, and 0s for columns that stay: %w", m.TTL, ErrInvalid)
	}
	return nil
}

// Check returns nil if a store accepts the request. The error wraps ErrInvalid, and names what is wrong and what is
// allowed.
func (s Slice) Check() error {
	switch err := checkKey(s.Key); {
	case err != nil:
		return err
	case s.End != "" && s.End < s.Start:
		return fmt.Errorf("end %q comes before start %q; what comes behind is allowed, and nothing for the end of the row: %w", s.End, s.Start, ErrInvalid)
	case s.Limit < 0:
		return fmt.Errorf("limit %d; more than 0 is allowed, and 0 for all: %w", s.Limit, ErrInvalid)
	}
	return nil
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxName {
		return fmt.Errorf("a key of %d bytes; 1 to %d are allowed: %w", len(key), MaxName, ErrInvalid)
	}
	return nil
}

func checkColumn(column string) error {
	if column == "" || len(column) > MaxName {
		return fmt.Errorf("a column of %d bytes; 1 to %d are allowed: %w", len(column), MaxName, ErrInvalid)
	}
	return nil
}

func (m Mutate) String() string {
	text := fmt.Sprintf("mutate #%d %q", m.ID, m.Key)
	for i := range m.Additions {
		text += fmt.Sprintf(" adds %q", m.Additions[i].Column)
	}
	for _, column := range m.Deletions {
		text += fmt.Sprintf(" deletes %q", column)
	}
	return text
}

func (m Mutated) String() string {
	if m.Err != nil {
		return fmt.Sprintf("mutate #%d: %v", m.ID, m.Err)
	}
	return fmt.Sprintf("mutated #%d", m.ID)
}

func (s Slice) String() string {
	text := fmt.Sprintf("slice #%d %q", s.ID, s.Key)
	if s.Start != "" || s.End != "" {
		text += fmt.Sprintf(" from %q to %q", s.Start, s.End)
	}
	if s.Limit > 0 {
		text += fmt.Sprintf(" at most %d", s.Limit)
	}
	return text
}

func (s Sliced) String() string {
	if s.Err != nil {
		return fmt.Sprintf("slice #%d: %v", s.ID, s.Err)
	}
	text := fmt.Sprintf("sliced #%d", s.ID)
	for i := range s.Entries {
		text += fmt.Sprintf(" %q", s.Entries[i].Column)
	}
	return text
}

// Vocabulary returns one value of each message type to and from storage. A program that records such values, such as a
// trace, uses it to decode them.
func Vocabulary() []any {
	return []any{
		Save{}, Saved{}, Mutate{}, Mutated{}, Slice{}, Sliced{}, Swap{}, Swapped{},
		Clock{}, Clocked{}, Watch{}, Unwatch{}, Changed{}, Attend{}, Attended{}, Await{}, Unawait{}, Awaited{},
		Append{}, Appended{}, Chunk{}, Chunked{}, Install{}, Installed{}, Fetch{}, Fetched{},
	}
}
