// Package pebble is a driver of package storage over a Pebble database in a local folder: the store of a single process
// that must survive a crash.
//
//	store, err := pebble.Open(ctx, "pebble:///var/lib/holdfast/locks")
//
// # Addresses
//
//	pebble:///FOLDER             synced: an answered write survives a crash of the machine
//	pebble:///FOLDER?sync=false  not synced: it survives a crash of the process; a crash of the machine may
//	                             lose the latest writes, though never half of a request
//
// Sync=false is for tests and for data that may be lost. Features.Durable reports which it is. The folder is created if
// it is missing, and must contain nothing else.
//
// # One process
//
// The process that has opened the folder has exclusive use of it: a second process is refused, and so is a second Open
// in the same process. [Store.Share] returns handles for several users in one process. The lock is the kernel's, so it
// ends with the process, however that ends.
//
// # How it is stored
//
// The key of an entry is the length of the row's key, that key, and the column. No row is therefore a prefix of
// another, and columns are in byte order. The value begins with the timestamp and the expiry time. The folder records
// its format, and a folder of another program, or of a later format, is refused.
//
// A write takes its row's lock (one of some hundreds for all rows), reads the current state, and writes all its changes
// to the log as one batch. It waits for the sync without the lock, and one sync serves all waiting writes: many
// writers, of one row or of several, cost the disk little more than one. A reader of an unsynced write also waits for
// the sync: no reader ever sees a state that a crash can undo.
//
// Deletions are forgotten at once. Expired columns are invisible, and are removed by a later Mutate of their row that
// has a TTL itself; those of a row that is not written any more stay on the disk. Time is the machine's.
//
// If the disk fails a write to the log, the process ends: the contents of the disk are then unknown.
package pebble
