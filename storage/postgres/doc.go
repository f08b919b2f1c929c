// Package postgres keeps rows and columns in a table of a PostgreSQL database, version 12 or
// later: the store of many processes that have such a server anyway.
//
//	store, err := postgres.Open(ctx, "postgres://user:password@host:5432/database?sslmode=verify-full")
//
// # Addresses
//
// They are PostgreSQL's own, with several hosts where one may take the place of another, and
// with all of its options. These are ours:
//
//	table=NAME    the table, holdfast_locks if it is not said
//	schema=NAME   where it is, or the first of the search path
//	pool=16       how many connections there are at most, and one more for watches
//	timeout=10s   how long a request, with all of its tries, takes at most
//	retries=3     how often one is tried again that the server has rolled back
//
// The table is made where it is missing, for which the user needs the right to; and the schema,
// too. Processes that do so at a time are not in each other's way. A table of that name that
// something else has made is refused.
//
// # What the server must be
//
// The primary: what a standby shows may be old. A server that is one is refused, whenever a
// connection is made, also after a failover, and regardless of target_session_attrs. Of several
// hosts the primary is found.
//
// What survives is up to the server: fsync, synchronous_commit and synchronous_standby_names are
// as they are set there, for the user or in the address (options=-csynchronous_commit=…), and
// never lowered here. With asynchronous replicas a failover loses the last writes, and locks with
// them: such a server is no place for locks that must not be held twice.
//
// # How requests are done
//
// Each is one statement, prepared once for a connection, and one round trip, in a transaction of
// its own that the server begins and ends with the statement. So it is whole, and a Slice shows
// one instant. A Swap that finds another value returns it in the same round trip; only where
// another Swap of that column ended meanwhile it asks anew. Rows have room for updates in place
// (fillfactor), so that a column that is written all the time moves no index.
//
// The order of columns is bytea's, which is that of their bytes in every locale. Deletions are
// forgotten at once. Columns that are over are not shown, by the server's clock, and deleted
// some time later by a process that writes such.
//
// # Watches
//
// A process with watches has a connection of its own that listens. A process that deletes, or
// swaps with Notify, notifies after its transaction, in one statement for all that has changed
// meanwhile: a notification within it would have all such transactions of the server wait for
// each other. So a process that ends just then has not notified: watches are hints. When the
// connection was lost and is there again, after tries at growing intervals, all watchers are
// notified.
//
// # Errors
//
//	rolled back: 40001, 40P01 (deadlock), 55P03, 57014      tried again, then ErrRefused
//	no connection, none free in time, nothing sent           ErrRefused
//	no room, too many connections (53…), read-only (25006)   ErrRefused
//	no such table, no right, wrong password (42…, 28…, 3D…)  ErrInvalid
//	connection lost, time over, server ends (57P01, 08…),
//	and all that is not known here                           of a write ErrUnknown, of a read ErrRefused
package postgres
