// Package storage is what a member keeps elsewhere, as messages: a machine sends them to
// protocol.Storage and receives the answers, so that the simulator delays, loses and fails
// disks and stores with the code that loses packets. Nothing here does I/O.
//
// Two things answer to that name. A machine knows by the message which it speaks to.
//
// # The member's own cell
//
// A [Save] replaces the stable cell, and a [Saved] answers it. A Saved without an error
// means that the bytes survive a crash of the process and of the machine: they were synced
// before the answer. After an error the old bytes may be there, or the new ones, never a
// mixture.
//
// # A key-column-value store that members share
//
// A store has rows, each under a key; a row has columns in order, each with a value. A
// [Mutate] adds and deletes columns of one row, a [Slice] reads a range of them, and
// [Mutated] and [Sliced] answer.
//
// What a machine may rely on:
//
//   - A row is strongly consistent. A Mutate takes effect at one instant, with all of its
//     additions and deletions or with none; a Slice shows the row as it was at one instant;
//     and an instant lies between the request and its answer. So what was answered without
//     an error is seen by every Slice that is asked for later, by whomever.
//   - Columns come in the order of their bytes, unsigned, a shorter one before those that
//     it begins.
//   - Every request is answered once, to the machine that asked, unless its process ends
//     before.
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
//   - Whose write of one column wins where the clocks of the writers disagree. Some stores
//     go by Mutate.Timestamp, and a deletion then wins over an addition of the same
//     timestamp, whichever came first; others go by what comes last. Whoever is right with
//     both adds no column again that was ever deleted, and deletes under a timestamp that is
//     no lower than that of the addition.
//
// Keys and columns are bytes. They are strings here because those do not change, and
// compare in the order of the columns.
//
// Writes that depend on what a row has, and a durable log, get their messages here when
// the first protocol that needs them is built.
package storage
