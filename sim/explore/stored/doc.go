// Package stored plays every run of a few processes that lock by claims in one store, within bounds.
//
// Package explore knows of no store, and compares states by what machines keep. A claim has its time in
// the name of a column, so no two states of such a run are alike for long; but a run ends, because each user
// wants a bounded number of locks. So runs are played, one for each way in which what is open can be chosen.
//
// # What is open
//
// Time goes by quanta. Machines are those that ship (package claim), two of them. Within the bounds everything is chosen
// that is listed here, each in combination with all others:
//
//   - when users ask: the first lock of each process at any quantum up to Spread after that of the other, a later one
//     at once after the former or a while after it; and how long each but the last holds, nothing or more than W;
//   - whose wall clock is ahead, by the skew, or that none is;
//   - so many requests to the store as Slow says, whichever they are: each takes effect up to more than W after it was
//     sent, and is answered at once or later; or the answer is that its outcome is unknown, and it was done, is done
//     later, or never. All others are done and answered at once;
//   - so many processes crash as Crashes says, whichever they are, each before any of its steps: what it has asked for
//     takes effect, what stands in the store stays, and its user believes nothing any more. It starts again at
//     once, after more than W, or when all that it has left has expired, under another name, and its
//     user wants what he has not had.
//
// So the order is open in which requests under way take effect. The search is complete when it has
// played all combinations; it takes no shortcut.
//
// With HoldOn a process keeps what its user has released, and he may want it again meanwhile; so does the other.
//
// # What is checked
//
// When a grant reaches its user no other user believes in the lock (P1, P3), and its token is above those before (P2). Each
// run ends with every lock granted and given back (P4), and without claims that are left in the store for ever
// in the way of any process.
//
// # What it leaves out
//
// Local clocks are right, lost leases are package sim's, and so are renewals: users hold for less than a third of an
// expiry. No process crashes whose user has had all locks, and no user believes in a lock whose process has crashed.
//
// # Files
//
//	stored.go  bounds, and the search        world.go  one run        crash.go  the end of a process, and the next
package stored
