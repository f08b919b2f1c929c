// Package storelock provides locks over a store that you already run: PostgreSQL, Redis, etcd, Cassandra, or a folder
// (packages storage/...). It needs no Holdfast server, and the processes need not know each other.
//
//	store, err := open.Open(ctx, "postgres://localhost/app")
//	locks, err := storelock.Open(ctx, store)
//	defer locks.Close()
//
//	lock, err := locks.Lock(ctx, "orders/42")
//
// A [Locker] is a holdfast.Locker: a program that uses it also runs over a cluster. The protocol is claim (package
// protocol/claim has its rules). A lock is a claim that a process writes, waits for, and reads back; the process renews
// it while it holds the lock, and the claim expires after the process has ended. Locks are exclusive. A store
// in a folder learns the end of a process from the kernel: the process's locks are free at once.
//
// # Guarantees
//
// By default the class is advisory: two processes never hold one lock while their clocks differ by less than the skew
// ([Skew]) and no process is paused between a check of its lock and the action that depends on it. If a violation would
// do harm, use the token: it rises with each grant of a name, even if clocks differ, and a store that refuses lower
// tokens rejects late writes.
//
// With [CAS] a lock is one conditional write. No clocks are compared, and no wait is needed. Over a store that loses no
// acknowledged write (a folder, pebble, a PostgreSQL primary, etcd, Cassandra with SERIAL) it is fenced, except for the order of
// waiters. Use it if the store supports it; in a folder it is the default.
//
// With [HoldOn] as well, a process keeps a released lock for a while for its own next locks, which then need no write.
// Other processes wait that much longer.
//
// All processes that share a store have the same settings. The settings are stored next to the locks, and a process
// that starts with different ones gets an error with both. [StoredSettings] shows them, and [ForgetSettings] removes
// them so that they can be changed.
//
// # Transactions over your own columns
//
// A [Tx] has the purpose of Titan's ConsistentKeyLocker: it claims cells (key, column) of your own tables together with
// the values that you have read there, and writes only if all claims hold and all values are unchanged.
//
//	tx := storelock.NewTx()
//	defer tx.Rollback(ctx)
//	err = tx.Claim(ctx, table, "user:7", "email", storelock.Absent)    // write the claim
//	err = tx.Mutate(ctx, table, &storage.Mutate{…})                    // check all claims, once, then write
//	err = tx.Commit(ctx)                                               // delete the claims
//
// A claim has no effect on processes that do not claim. The original's errors map as follows:
//
//	TemporaryLockingError   ErrHeld if another process has claimed before; ErrUnavailable if the
//	                        store fails: roll back, and try again
//	ExpiredLockError        ErrLost: the claim has expired, or could not be renewed
//	PermanentLockingError   ErrHeld at once if another transaction of the process has the cell (permanent in the
//	                        original, too); a *MismatchError, which is an ErrConflict; ErrConflict for a claim
//	                        after the first write; a request that the store never accepts
package storelock
