// Package storelock makes locks of a store that you run already: PostgreSQL, Redis, etcd,
// Cassandra, or a folder (packages storage/...). No Holdfast server is needed, and processes do not know
// each other.
//
//	store, err := open.Open(ctx, "postgres://localhost/app")
//	locks, err := storelock.Open(ctx, store)
//	defer locks.Close()
//
//	lock, err := locks.Lock(ctx, "orders/42")
//
// A [Locker] is a holdfast.Locker: what runs over it runs over a cluster as well. The protocol is
// claim (package protocol/claim has its rules): a lock is a claim that a process writes, waits for, and reads
// back; it is renewed while it is held, and expires where the process has ended. Locks are exclusive.
//
// # What it promises
//
// As it is, the class is advisory: two processes never hold one lock while their clocks differ by less than the
// skew ([Skew]) and no process is paused between a look at its lock and what it does with it. Where that would do
// harm there is the token: it rises with each grant of a name, also when clocks differ, and a store that refuses
// lower ones cannot be written by a late one.
//
// With [CAS] a lock is one conditional write. No clock is compared, and no wait is needed; over a store that
// loses nothing that it has acknowledged (pebble, a PostgreSQL primary, etcd, Cassandra with
// SERIAL) it is fenced, but for the order of those who wait. Use it where the store has it.
//
// With [HoldOn], too, a process keeps what was released for a while, for its own next locks, which are
// not written then. Others wait so much longer.
//
// All processes that share a store have the same settings: they stand next to the locks, and a process that starts
// with others gets an error with both. [StoredSettings] shows them, and [ForgetSettings] removes them, for when they are to
// change.
//
// # Transactions over your own columns
//
// A [Tx] is what Titan's ConsistentKeyLocker was made for: it claims cells (key, column) of your own
// tables together with the values that you have read there, and writes only if all claims hold and all
// values are still those.
//
//	tx := storelock.NewTx()
//	defer tx.Rollback(ctx)
//	err = tx.Claim(ctx, table, "user:7", "email", storelock.Absent)    // write the claim
//	err = tx.Mutate(ctx, table, &storage.Mutate{…})                    // check all claims, once, then write
//	err = tx.Commit(ctx)                                               // delete the claims
//
// A claim holds back no process that does not claim. What the original calls its errors is here:
//
//	TemporaryLockingError   ErrHeld where another process has claimed before; ErrUnavailable where the
//	                        store fails: roll back, and try again
//	ExpiredLockError        ErrLost: the claim has expired, or could not be renewed
//	PermanentLockingError   ErrHeld at once where another transaction of the process has the cell (the original calls that
//	                        permanent, too); a *MismatchError, which is an ErrConflict; ErrConflict for a claim
//	                        after the first write; what a store will never take
package storelock
