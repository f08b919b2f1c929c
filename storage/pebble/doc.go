// Package pebble keeps rows and columns in a folder of the machine's own disk, in a database of
// Pebble: the store of a single process that is to remember after a crash.
//
//	store, err := pebble.Open(ctx, "pebble:///var/lib/holdfast/locks")
//
// # Addresses
//
//	pebble:///FOLDER             synced: what was answered survives a crash of the machine
//	pebble:///FOLDER?sync=false  not: it survives a crash of the process, and the machine's may
//	                             lose the last of it, though never half of a request
//
// Sync=false is for tests and for what may be lost. Features.Durable says which it is. The folder
// is made where it is missing, and has room for nothing else.
//
// # One process
//
// The process that has opened the folder has it for itself: a second process is refused, and so
// is a second Open within one. Handles for several users in one process come from
// [Store.Share]. The lock is the kernel's, so it ends with the process, whichever way that
// ends.
//
// # How it is kept
//
// The key of an entry is the length of the row's key, that key, and the column. So no row is
// another's beginning, and columns lie in the order of their bytes. The value begins with the
// timestamp and when it is to be forgotten. What the folder was made by is written into it,
// and one that was made by something else, or by a later format, is refused.
//
// A write takes its row's lock, of which there are some hundreds for all rows, looks at what
// is there, and puts all that it changes into the log as one batch. Syncs are awaited without
// the lock, and one sync serves all who wait: many writers, of one row or of several, cost
// the disk little more than one. A reader of what is not synced yet waits for that, too:
// so nothing was ever seen that a crash can take back.
//
// Deletions are forgotten at once. Columns that are over are not shown, and are removed by a
// later Mutate of their row that has a TTL itself; those of a row that is not written any more
// stay on the disk. Time is the machine's.
//
// A disk that does not take the log any more ends the process: it is not known what is on it.
package pebble
