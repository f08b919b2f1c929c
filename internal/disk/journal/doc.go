// Package journal keeps a member's logs in a folder of the machine's own disk: records with
// consecutive indices, a state, and a snapshot for each, as package storage describes them
// ([storage.Append], [storage.Chunk], [storage.Install], [storage.Fetch]). It is what protocols
// stand on that promise to remember.
//
//	j, err := journal.Open("/var/lib/holdfast/raft", journal.Options{Identity: who})
//	log, err := j.Recover(3)                  // first of all: what log 3 has
//	for record, err := range log.Records() {
//		…
//	}
//	err = j.Submit(storage.Append{ID: 1, Log: 3, First: log.Last + 1, Records: …}, func(answer any) {
//		…                                     // a storage.Appended, once it is synced
//	})
//
// # How it is written
//
// One goroutine writes for all logs. A request that comes while the disk syncs waits in a queue, and goes
// into the next batch, all logs together, with one sync for all: a caller alone waits for one
// sync, and one among many for two at most. Answers come when the batch is synced, in
// the order of the questions, on that goroutine; so they must not block. A batch of chunks alone
// is not synced: the Install after it is.
//
// The database's log has zeros in front of what is written, so that few syncs find a file that has grown ([Options].Ahead).
//
// The queue has a bound in requests and one in bytes ([Options]). At it, Submit returns an error that
// is a storage.ErrRefused and asks nothing; nothing is dropped that was taken.
//
// # How it is kept
//
// The folder has a lock, which ends with the process, and the folder journal:
//
//	identity   the format, and whose journal it is: for people to read
//	floor      how far the journal had come when it was opened, when something big was written,
//	           and when it was closed; and which of the database's logs is the newest, and how
//	           large it is
//	reached    how far it had come with the latest batch; it is not synced
//	records/   a database of Pebble
//
// The database has, under keys that begin with one byte of kind:
//
//	root                         how many batches there were, how many of them were synced, and
//	                             a sum over all heads
//	head of a log                its first and last index, sums of the records there, its state,
//	                             and the sum of its snapshot
//	snapshot of a log            its number, how many chunks it has and a sum over them, the meta
//	record of a log and index    a sum over the record and all before it, and the record
//	chunk of a log and snapshot  a sum, and the data
//
// Every sum (CRC-32C) is also over the log, the index and everything else that says where it belongs. So
// the root vouches for the heads, they for the records and snapshots, and what is flipped, swapped,
// stale or missing does not fit. Every batch writes the root and the heads that it changes.
//
// # What is found, and what is done about it
//
// Open reads all there is, without writing, before it opens the folder for writing; so does [Check],
// which then has finished. Each fault is a [CorruptError] that names the folder, the log, the
// index, and what is wrong. Nothing is repaired: that member has forgotten what it had promised,
// and the member has to be replaced, or its folder put back as it was when it stopped: an older
// copy lacks what it has promised since.
//
// Records that a crash has cut off are no damage: a batch that was not synced is there or not, as a whole.
// So the database cannot tell what it has lost at its end, and the files next to it say how much
// there was. After a Close the floor knows every batch. After the death of the process alone the
// file "reached" does: it is written before a batch is answered, and the kernel has it. After a power
// cut it says what the kernel had written back, and the floor which log must be there and how
// large: a newest log that is missing, or shorter than it was, is always found. What is not
// found then is damage inside of that log to the batches at its end that nothing synced follows:
// the very last one, if single bytes of it rot, or as many as were overwritten with zeros. And no
// folder knows that all of it is an older copy.
//
// # When the disk fails
//
// When something in the folder cannot be written, synced, or read as it was written, the
// journal has failed. From that moment nothing of it reaches the folder any more, which stays as
// a crash would have left it; requests under way are answered with a [storage.ErrUnknown], and
// later ones refused with that first error. It is logged once, [Journal.Failed] is closed, and
// the folder is to be opened again by another process, when the disk is well: nothing that was
// answered is lost. A sync that failed once is never tried again, because the kernel may have
// forgotten what it could not write.
//
// That a file cannot be opened because this process or the machine has no descriptor left is no
// failure: it is opened again until it can be, which is logged, and what was asked for meanwhile waits.
//
// # How much memory and disk
//
// Pebble is kept small: two memtables of 8 MiB, and one more while they are flushed, 2 MiB of
// cache, 64 open tables (fewer where the process may not open 1024 files). The queue has 64 MiB at most, and each record of a log costs four bytes.
// On the disk there is what the logs have, and up to fifteen times a memtable of what is
// superseded and not removed yet; a writer that is faster than Pebble removes it waits.
package journal
