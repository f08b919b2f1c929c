// Package membership is views: who is here, with leases that make silence safe.
//
// Today it is the membership of a member alone: a cluster of one, which follows the
// rules of any other (membership.md). It is its own coordinator and its own quorum,
// so its polls are answered the moment they are sent, and its role and lease never
// run out. What remains of the rules is what a restart needs:
//
//   - The stable cell ([Cell]) is written before anything that depends on it is
//     promised: at every start, when the horizon rises or sinks, when the first
//     client session begins and the last one ends, and when a new epoch begins.
//   - A start is an election by full attendance: its epoch is above every epoch that
//     the cell knows and at least the wall clock's seconds since 2026-01-01, and its
//     count of tokens begins at the fraction of that second. So tokens never go
//     back, with the cell whatever the clock does, and without it as long as the
//     wall clock was not set back (§5).
//   - What an earlier life may have promised to clients is waited for:
//     (D + H)·(1+δ) from the start, H being the horizon in the cell, unless the cell
//     says that nothing was outstanding, or the state folder has never held a cell.
//     It is the former life that counts: whether this one serves clients says nothing
//     about what that one's believe. A member that serves clients and keeps no cell
//     cannot know, and waits D·(1+δ) (§5, V16).
//   - A member without a cell promises no horizon: what it promises ends with its
//     lease, and H stays 0.
//
// # States and events
//
// [Lone] raises a protocol.View when it has an epoch that is safely remembered, and
// a protocol.Horizon in answer to each protocol.NeedHorizon. It has one write to
// its cell in flight; wishes that come meanwhile are answered by the next.
//
// # What each crash does
//
// Before the cell of this start is written: nothing was promised; the next start
// finds the old cell. After: the next start finds this one's epoch and horizon. A
// write that fails at the start is fatal, because nothing may be promised without
// it; one that fails later leaves the promises where they were.
package membership
