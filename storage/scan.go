package storage

import "context"

// Scanner is a Store whose rows can be read one after the other, for listings. All drivers of this module are Scanners.
// Nothing that decides about a lock depends on a scan.
type Scanner interface {
	// Scan calls found once for each row whose key begins with s.Prefix and that has columns, in any order, until found
	// returns an error, which Scan then returns. A row that has columns during the whole scan is found. Each row is as
	// it was at one instant during the scan; two rows may be of different instants. Its entries are in the order of
	// their columns. found must not make requests of the store. The errors are those of a Slice.
	Scan(ctx context.Context, s *Scan, found func(key string, entries []Entry) error) error
}

// Scan selects the rows of a scan.
type Scan struct {
	// Prefix is the beginning of the keys. Empty means all rows.
	Prefix string
	// Serial reads the rows that are written by Swap, instead of those that are written by Mutate. Some stores keep
	// both kinds in one place, and then find both.
	Serial bool
}
