package storage

import "fmt"

// Save replaces the contents of the member's stable cell with Data, atomically, and syncs it.
type Save struct {
	ID   uint64 // of this write, repeated in Saved
	Data []byte
}

func (s Save) String() string { return fmt.Sprintf("save #%d %d bytes", s.ID, len(s.Data)) }

// Saved answers a Save.
type Saved struct {
	ID  uint64
	Err error // nil: the bytes are synced
}

func (s Saved) String() string {
	if s.Err != nil {
		return fmt.Sprintf("save #%d: %v", s.ID, s.Err)
	}
	return fmt.Sprintf("saved #%d", s.ID)
}
