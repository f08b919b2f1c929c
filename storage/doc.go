// Package storage is what a member keeps elsewhere, as messages: a machine sends them to
// protocol.Storage and receives the answers, so that the simulator delays, loses and fails
// disks and stores with the code that loses packets. Nothing here does I/O; what does is a
// [Store], which a driver implements.
//
// Three things answer to that name. A machine knows by the message which it speaks to.
//
// # The member's own cell
//
// A [Save] replaces the stable cell, and a [Saved] answers it. A Saved without an error
// means that the bytes survive a crash of the process and of the machine: they were synced
// before the answer. After an error the old bytes may be there, or the new ones, never a
// mixture.
//
// # The member's own journal
//
// A journal has several logs, each under a number: one for each shard that the member takes part
// in. A log has records with consecutive indices, a state that is small, and at most one
// snapshot, which stands for all records before its first. What any of them mean, the journal
// does not know.
//
//	Append   replaces the log's end, and its state               Appended
//	Chunk    writes a part of a snapshot that is not there yet   Chunked
//	Install  makes such parts the log's snapshot, and removes
//	         records that it stands for                          Installed
//	Fetch    reads a part of the log's snapshot                  Fetched
//
// What a machine may rely on:
//
//   - An Append and an Install are atoms: a crash leaves all of one or nothing. Answered without
//     an error, they survive a crash of the process and of the machine.
//   - What is asked of one log is done and answered in the order of the asking, a Fetch apart: it
//     shows what was answered before it was asked for. So a crash leaves what some first ones of
//     those requests have made, at least of all that were answered.
//   - What is read is what was written, or an error.
//
// What it may not rely on: what an error has left. After an [ErrRefused] or [ErrInvalid] nothing
// was done, nor will be; after another the Append may be there or not, whole or not at all. A
// journal that could not write or sync once takes nothing more: it is not known what the disk
// has, and another try that succeeds would prove nothing. It begins anew when the member does.
//
// # A key-column-value store that processes share
//
// A store has rows, each under a key; a row has columns in order, each with a value.
//
//	Mutate  adds and deletes columns of one row           Mutated
//	Slice   reads a range of columns of one row           Sliced
//	Swap    replaces a column if it is what is expected   Swapped
//	Clock   asks for the time                             Clocked
//	Watch   asks for notice when a row changes            Changed, again and again
//
// What a machine may rely on:
//
//   - A row is strongly consistent. A Mutate takes effect at one instant, with all of its
//     additions and deletions or with none; a Slice shows the row as it was at one instant;
//     and an instant lies between the request and its answer. So what was answered without
//     an error is seen by every Slice that is asked for later, by any process.
//   - Columns come in the order of their bytes, unsigned, a shorter one before those that
//     it begins.
//   - Of two additions of one column the one with the higher [Mutate].Timestamp stays,
//     whichever comes last; of equal ones the one with the higher value.
//   - A Swap compares and replaces at one instant. A row that is written by Swap is written
//     by nothing else, and read by slices with Serial. Some stores keep the two kinds of rows
//     in two places: what Mutate wrote under a key need not show in a slice with Serial, nor
//     what Swap wrote in one without.
//   - Every request is answered once, to the machine that asked, unless its process ends
//     before. A Watch is answered whenever there may be something new.
//
// What it may not rely on:
//
//   - How long anything takes. A Mutate may take effect long after its sender has given it
//     up, and after its process has ended: nothing that was asked for can be taken back.
//   - The order of two requests that are under way at a time.
//   - What an error has left. [ErrRefused] says that nothing was done, nor will be, and the
//     next try may do better; [ErrInvalid], that no try will. [ErrUnknown] says nothing: the
//     columns may be there, may come yet, or may never come. So does an error that is none
//     of these. Nothing is to be tried blindly again after it; a further Mutate that deletes
//     what the first has added is how to be rid of that.
//   - That a deletion is remembered. Some stores keep it for a while: then an addition under
//     a timestamp that is not higher does not bring the column back, whichever came first.
//     Others forget it at once. A machine that is right with both adds no column again that
//     was ever deleted, and deletes under a timestamp that is no lower than that of the
//     addition.
//   - That a watcher hears of a change. Changed is a hint that saves polling: it comes too often, or
//     too late, and not at all where the store has no such thing or another program writes.
//
// Keys, columns and values are bytes. They are strings here because those do not change, and
// compare in the order of the columns.
//
// # Drivers
//
// Packages storage/memory, pebble, postgres, redis, etcd and cassandra each make a Store of
// something that exists; storage/open does so from a URL. Package storage/storagetest is
// what each of them must pass. Package internal/disk/cell keeps the cell, and internal/disk/journal the
// journal.
package storage
