package storage

// Kept is the contents of a log at a member's start. It is passed to the log's new machine, and is not a message.
type Kept struct {
	Log     uint64   // its number
	First   uint64   // the index of the first of Records, or of the next record
	Records [][]byte // in their order
	State   []byte   // nil if none was written
	// Snapshot is the number of the snapshot, 0 if there is none; Meta and Chunks, in order, are its contents.
	Snapshot uint64
	Meta     []byte
	Chunks   [][]byte
}
