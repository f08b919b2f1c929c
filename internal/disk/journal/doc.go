// Package journal stores a member's logs in a folder on the local disk: records with consecutive indices, a state, and
// a snapshot for each, as package storage describes them ([storage.Append], [storage.Chunk], [storage.Install],
// [storage.Fetch]). Durable protocols depend on it.
//
//	j, err := journal.Open("/var/lib/holdfast/raft", journal.Options{Identity: who})
//	log, err := j.Recover(3)                  // first of all: the contents of log 3
//	for record, err := range log.Records() {
//		…
//	}
//	err = j.Submit(storage.Append{ID: 1, Log: 3, First: log.Last + 1, Records: …}, func(answer any) {
//		…                                     // a storage.Appended, once it is synced
//	})
//
// # Writes
//
// One goroutine writes for all logs. A request that arrives during a sync waits in a queue, and goes into the next
// batch, which has one sync for all logs: a single caller waits for one sync, one among many for two at most. Answers
// come when the batch is synced, in the order of the requests, on that goroutine; so the callbacks must not block. A
// batch with only chunks is not synced: the Install after it is.
//
// The database's log is preallocated with zeros, so that few syncs have to record a new file size ([Options].Ahead).
//
// The queue has a bound in requests and one in bytes ([Options]). At either bound, Submit returns an error that is a
// storage.ErrRefused; accepted requests are never dropped.
//
// # Layout
//
// The folder has a lock, which ends with the process, and the folder journal:
//
//	identity   the format, and the member that owns the journal, in readable form
//	floor      the position of the journal when it was opened, when something big was written,
//	           and when it was closed; and which of the database's logs is the newest, and how
//	           large it is
//	reached    its position after the latest batch; not synced
//	records/   a database of Pebble
//
// The database has, under keys that begin with one byte of kind:
//
//	root                         the number of batches, the number of synced ones, and
//	                             a sum over all heads
//	head of a log                its first and last index, sums of the records there, its state,
//	                             and the sum of its snapshot
//	snapshot of a log            its number, how many chunks it has and a sum over them, the meta
//	record of a log and index    a sum over the record and all before it, and the record
//	chunk of a log and snapshot  a sum, and the data
//
// Every sum (CRC-32C) also covers the log, the index and everything else that identifies its place. So the root vouches
// for the heads, and they for the records and snapshots; flipped, swapped, stale or missing data does not match. Every
// batch writes the root and the heads that it changes.
//
// # Corruption
//
// Open reads everything, without writing, before it opens the folder for writing; so does [Check], which stops there.
// Each fault is a [CorruptError] that names the folder, the log, the index, and what is wrong. Nothing is repaired: the
// member has forgotten its promises. It must be replaced, or its folder restored as it was when it stopped: an older
// copy lacks later promises.
//
// Records cut off by a crash are not damage: an unsynced batch is present or absent as a whole. So the database cannot
// tell what it has lost at its end, and the files next to it record how much there was. After a Close the floor covers
// every batch. If only the process died, the file "reached" does: it is written before a batch is answered, and the
// kernel has it. After a power cut "reached" has what the kernel had written back, and the floor names the log that
// must exist and its size: a newest log that is missing, or shorter than it was, is always found. Damage inside that
// log to its last batches, those with no synced batch after them, is then not found: to the very last one, if single
// bytes rot, or to as many as were overwritten with zeros. And no folder can tell that it is an older copy as a whole.
//
// # Disk failures
//
// When something in the folder cannot be written, synced, or read as it was written, the journal has failed. From then
// on it writes nothing to the folder, which stays as a crash would have left it; requests under way are answered with a
// [storage.ErrUnknown], and later ones refused with that first error. The error is logged once, [Journal.Failed] is
// closed, and another process must open the folder when the disk works again: no acknowledged write is lost. A sync
// that failed once is never tried again, because the kernel may have forgotten what it could not write.
//
// Running out of file descriptors, in this process or on the machine, is not a failure: opening the file is retried
// until it succeeds, which is logged, and requests wait meanwhile.
//
// # Memory and disk usage
//
// Pebble is kept small: two memtables of 8 MiB, and one more while they are flushed, 2 MiB of cache, 64 open tables
// (fewer where the process may not open 1024 files). The queue has 64 MiB at most, and each record of a log costs four
// bytes. Disk usage is the size of the logs, plus up to fifteen memtables of superseded data that is not removed yet;
// writes wait if Pebble cannot remove it fast enough.
package journal
