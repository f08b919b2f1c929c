// Package storage defines a member's storage as messages: a machine sends them to protocol.Storage and receives the
// answers, so that the simulator can delay, lose and fail storage requests with the same code that loses packets.
// Nothing here does I/O; that is the task of a [Store], which a driver implements.
//
// There are three kinds of storage. The type of a message determines which one it addresses.
//
// # The member's own cell
//
// A [Save] replaces the contents of the stable cell, and a [Saved] answers it. A Saved without an error means that the
// bytes survive a crash of the process and of the machine: they were synced before the answer. After an error the cell
// has the old bytes or the new ones, never a mixture.
//
// # The member's own journal
//
// A journal has several logs, each with a number: one for each of the member's shards. A log has records with
// consecutive indices, a small state, and at most one snapshot, which replaces all records before the log's first. The
// journal does not interpret any of them.
//
//	Append   replaces the log's end, and its state               Appended
//	Chunk    writes a part of a snapshot that is not there yet   Chunked
//	Install  makes such parts the log's snapshot, and removes
//	         records that it stands for                          Installed
//	Fetch    reads a part of the log's snapshot                  Fetched
//
// A machine may rely on the following:
//
//   - An Append and an Install are atomic: a crash leaves all of one or nothing. Answered without
//     an error, they survive a crash of the process and of the machine.
//   - Requests to one log are done and answered in the order in which they are sent. The exception is a Fetch: it
//     shows the effects answered before it was sent. A crash therefore leaves the effects of a prefix of
//     those requests, which includes all that were answered.
//   - A read returns exactly what was written, or an error.
//
// It may not rely on the state after an error. After an [ErrRefused] or [ErrInvalid] nothing was done, nor will be;
// after another error the Append may be there or not, whole or not at all. A journal that once could not write or sync
// accepts nothing more: the contents of the disk are unknown, and a retry that succeeds would prove nothing. It accepts
// requests again after a restart of the member.
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
//	Attend  records that this process lives               Attended
//	Await   asks whether another process has ended        Awaited, again when it has
//
// A machine may rely on the following:
//
//   - A row is strongly consistent. A Mutate takes effect at one instant, with all of its
//     additions and deletions or with none; a Slice shows the row as it was at one instant;
//     both instants lie between the request and its answer. Every Slice that is sent after an answer
//     without an error therefore sees the effect, in any process.
//   - Columns are ordered by their bytes, unsigned; a prefix comes before the longer column.
//   - Of two additions of one column the one with the higher [Mutate].Timestamp wins,
//     no matter which comes last; of equal ones the one with the higher value.
//   - A Swap compares and replaces at one instant. A row that is written by Swap is written
//     by no other request, and read by slices with Serial. Some stores keep the two kinds of rows
//     in two places: a Mutate need not show in a slice with Serial of the same key, nor
//     a Swap in one without.
//   - Every request is answered once, to the machine that sent it, unless its process ends
//     first. A Watch is answered whenever there may be a change.
//
// It may not rely on the following:
//
//   - Timing. A Mutate may take effect long after its sender has given it
//     up, and after its process has ended: no request can be withdrawn.
//   - The order of two concurrent requests.
//   - The state after an error. [ErrRefused] means that nothing was done, nor will be, and the
//     next try may succeed; [ErrInvalid], that no try will. [ErrUnknown] says nothing: the
//     columns may be there, may still appear, or may never appear. The same holds for any other
//     error. Do not retry blindly after it; to undo the request, send a further Mutate that deletes
//     the columns that the first has added.
//   - Memory of deletions. Some stores remember one for a while: then an addition under
//     a timestamp that is not higher does not restore the column, no matter which came first.
//     Others forget it at once. A machine is correct with both if it never adds a column again that
//     was ever deleted, and deletes under a timestamp that is no lower than that of the
//     addition.
//   - Notice of changes. Changed is a hint that saves polling: it comes too often, or
//     too late, and not at all if the store has no watches or another program writes.
//   - Notice of ends. Awaited with Ended comes too late, or not at all; never too early.
//
// Keys, columns and values are bytes. They are strings here because strings are immutable, and compare in the order of
// the columns.
//
// # Drivers
//
// Packages storage/memory, folder, pebble, postgres, redis, etcd and cassandra each implement Store, most of them over
// an existing database; storage/open opens one from a URL. Each of them must pass package storage/storagetest. Package
// internal/disk/cell keeps the cell, and internal/disk/journal the journal.
package storage
