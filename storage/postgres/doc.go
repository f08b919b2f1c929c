// Package postgres is a driver of package storage over a table of a PostgreSQL database, version 12 or later: the store
// for many processes that already have such a server.
//
//	store, err := postgres.Open(ctx, "postgres://user:password@host:5432/database?sslmode=verify-full")
//
// # Addresses
//
// Addresses are PostgreSQL's own, with several hosts if one may take the place of another, and with all of its options.
// The driver adds the following options:
//
//	table=NAME    the table (default holdfast_locks)
//	schema=NAME   its schema (default: the first of the search path)
//	pool=16       maximum number of connections, plus one for watches
//	timeout=10s   time limit of a request, with all of its retries
//	retries=3     maximum number of retries of a request that the server has rolled back
//
// A missing table or schema is created, for which the user needs the right to do so. Processes may do so at the same
// time. A table of that name that another program has created is refused.
//
// # Server requirements
//
// The server must be the primary: a standby may return old rows. A standby is refused on every connection, also after a
// failover, and regardless of target_session_attrs. With several hosts the primary is found.
//
// Durability is up to the server: fsync, synchronous_commit and synchronous_standby_names apply as they are set there,
// for the user or in the address (options=-csynchronous_commit=…), and are never lowered here. With asynchronous
// replicas a failover loses the latest writes, and locks with them: do not use such a server for locks that must never
// be held twice.
//
// # How requests are done
//
// Each request is one statement, prepared once per connection, and one round trip, in a transaction of its own that the
// server begins and ends with the statement. It is therefore atomic, and a Slice shows one instant. A Swap that finds
// another value returns it in the same round trip; it repeats the query only if another Swap of that column ended in
// the meantime. Rows have room for in-place updates (fillfactor), so that a frequently written column does not change
// the index.
//
// The order of columns is bytea's, which is that of their bytes in every locale. Deletions are forgotten at once.
// Expired columns, by the server's clock, are invisible, and are deleted some time later by a process that writes
// columns with a TTL.
//
// # Watches
//
// A process with watches has a separate connection that listens. A process that deletes, or swaps with Notify, notifies
// after its transaction, in one statement for all changes so far: a notification within it would make all such
// transactions of the server wait for each other. A process that ends just then does not notify: watches are hints.
// After a lost connection is restored, by attempts at growing intervals, all watchers are notified.
//
// # Errors
//
//	rolled back: 40001, 40P01 (deadlock), 55P03, 57014      retried, then ErrRefused
//	no connection, none free in time, nothing sent           ErrRefused
//	no room, too many connections (53…), read-only (25006)   ErrRefused
//	no such table, no right, wrong password (42…, 28…, 3D…)  ErrInvalid
//	connection lost, time over, server ends (57P01, 08…),
//	and any other error                                      of a write ErrUnknown, of a read ErrRefused
package postgres
