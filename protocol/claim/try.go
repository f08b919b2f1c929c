package claim

import "github.com/holdfast-locks/holdfast/storage"

// ClaimTried reports whether a mutation writes a claim: a try to have a lock, or to go on having it.
// It is for those who count what a store is asked for.
func ClaimTried(m *storage.Mutate) bool {
	for i := range m.Additions {
		if _, _, ok := ParseColumn(m.Additions[i].Column); ok {
			return true
		}
	}
	return false
}

// CellTried reports whether a swap of a cell is a try to have the lock: under a token of one's own, which a
// renewal is not, nor who says that he waits.
func CellTried(s *storage.Swap) bool {
	next, ok := decodeCell(s.New)
	if !ok || !next.held {
		return false
	}
	old, ok := decodeCell(s.Old)
	return s.Absent || !ok || old.token != next.token
}
