// Package stored plays every run, within bounds, of a few processes that lock by claims in one store.
//
// Package explore does not model a store, and compares states by the machines' fields. A claim has its time in the name
// of a column, so no two states of such a run stay alike for long. But a run ends, because each user wants a bounded
// number of locks. So this package plays every run: one for each combination of choices.
//
// # What is open
//
// Time advances by quanta. There are two production machines (package claim). Within the bounds, each of these choices
// is combined with all others:
//
//   - When users ask: the first lock of each process at any quantum up to Spread after that of the other, a later one
//     at once after the previous one or a while after it; and how long each lock but the last is held, no time or more
//     than W.
//   - Which wall clock is ahead, by the skew, if any.
//   - Any requests to the store, up to the number Slow: each takes effect up to more than W after it was sent, and is
//     answered at once or later; or the answer is that its outcome is unknown, and it was executed, is executed later,
//     or never. All others are executed and answered at once.
//   - Any processes, up to the number Crashes, which crash, each before any of its steps: its requests take effect, its
//     data in the store remains, and its user believes nothing any more. It starts again at once, after more than W, or
//     when all that it has left has expired, under another name, and its user wants the locks that it has not had.
//
// So requests in flight take effect in any order. The search is complete when it has played all combinations; it takes
// no shortcut.
//
// With HoldOn a process keeps the locks that its user has released; the user may want one again meanwhile, and so may
// the other process.
//
// With Values each request has a value, and its user replaces it as soon as it has the lock.
//
// # What is checked
//
// When a grant reaches its user no other user believes in the lock (P1, P3), and its token exceeds those before (P2).
// Each run ends with every lock granted and released (P4), and without claims in the store that block a process
// permanently. After each write the row shows, of a process whose user believes in the lock, the value that the user
// knows to be set, or a later one; and none of a released lock, unless the outcome of a write was unknown (P11).
//
// # What it leaves out
//
// Local clocks are right. Package sim covers lost leases and renewals: here users hold for less than a third of an
// expiry. A process whose user has had all locks does not crash, and no user believes in a lock whose process has
// crashed.
//
// # Files
//
//	stored.go  bounds, and the search        world.go  one run        crash.go  crash and restart of a process
//	values.go  the values of locks
package stored
