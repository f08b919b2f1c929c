// Package folder is a driver of package storage over the files of a local folder: the store of all processes of one
// machine, without any server.
//
//	store, err := folder.Open(ctx, "folder:///var/lib/holdfast/locks")
//
// # Addresses
//
//	folder:///FOLDER             synced: an answered write survives a crash of the machine
//	folder:///FOLDER?sync=false  not synced: it survives the death of any process; a crash of the machine may
//	                             lose the latest writes, though never half of a request
//
// Sync=false is for tests and for data that may be lost. Features.Durable reports which it is. The folder is created if
// it is missing, for its owner alone. It must be empty, or a store of this format. A folder of a network file system is
// refused: its locks hold on one machine and not on another.
//
// # How it is stored
//
//	format       the version of the format
//	rows/HH/H    a row; H is the SHA-256 of its key, HH the first two digits
//	alive/H      a FIFO, which a process has open for writing as long as it lives; H is the SHA-256 of its name
//
// A row's file has up to two records, at offsets that are multiples of 512. A record is the whole row, with a number, a
// length and a checksum. The valid record with the highest number counts. A write goes to where that one is not, and is
// synced by one fdatasync; a write that was cut off has no valid checksum, so the row is as it was before. A file is
// never renamed, so its kernel lock (flock) is the lock of its row: shared for a reader, exclusive for a writer. The
// kernel releases it with the process. A file is removed when the row has no columns left, under its lock; a process
// that has waited for the lock of a removed file opens the new one.
//
// A new file's entry in the folder is synced before its first record is written, and a removed one's before the answer.
// A [storage.Swap] with Soft is not synced. Nothing else is answered before it is synced.
//
// Deletions are forgotten at once. Expired columns are invisible, and a write removes those of its row. Time is the
// machine's.
//
// # Watches
//
// Watches use the notices of the file system (inotify, kqueue), which come from all processes. A process that gets no
// more of them from the system looks at its watched rows every 20 ms instead.
//
// # Ends of processes
//
// A process that calls [Store.Attend] opens a FIFO for writing, under its name. [Store.Await] opens it for reading: the
// end of the file means that the last process with the writing end has ended, however it did. [Store.Attending] returns
// the files of the writing ends, so that a process can leave them to another one: the name has ended when both have.
//
// The FIFO of a process that was killed stays, so that a later Await finds the end at once. The folder keeps the latest
// 4096 of them. A name without a FIFO is not known to have ended.
//
// # Bounds
//
// A row has at most 16 MB. A scan reads all files of the folder.
package folder
