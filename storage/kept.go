package storage

// Kept is what a journal has of a log when a member starts. It goes into the log's machine when
// that is made, and is no message.
type Kept struct {
	Log     uint64   // its number
	First   uint64   // the index of the first of Records, or of the one to come
	Records [][]byte // in their order
	State   []byte   // nil where none was written
	// Snapshot is the number of the snapshot, 0 where there is none; Meta and Chunks, in their
	// order, are what was written with it.
	Snapshot uint64
	Meta     []byte
	Chunks   [][]byte
}
