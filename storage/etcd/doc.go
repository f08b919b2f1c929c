// Package etcd keeps rows in an etcd cluster, version 3.4 or later.
//
//	store, err := etcd.Open(ctx, "etcds://user:password@one:2379,two:2379/locks?ca=/etc/ca.pem")
//
//	config.go   the URL: its options, and their defaults
//	store.go    requests, each one transaction or one read; swap.go: those of Swap
//	lease.go    the ends of columns: leases that many share
//	watch.go    who is notified
//	errors.go   what an error says about a request
//
// # The URL
//
// etcd:// or, with TLS, etcds:// (or the option tls); user and password where the cluster wants
// them; hosts and ports (2379) of its members, of which any will do; as path what all keys begin
// with ("holdfast"). Options:
//
//	timeout=TIME   after which a request is given up (5s)
//	retries=N      how often a read that finds no member is tried again (1)
//	ca, cert, key, server_name   with TLS, as package location has them
//
// # What it is worth
//
// A majority of the members has what was answered, on disk: rows are Consistent and Durable.
// There is no clock: the members' differ, and they do not tell them.
//
// # How a row lies there
//
// The key of a column is the path, a slash, the length of the row's key in 2 bytes, that key, and
// the column: so the columns of a row are one range, and of no other row. The value is the
// timestamp in 8 bytes, highest first, and what was written; Swap writes timestamp 0. As etcd
// compares values by their bytes, one comparison finds out which of two additions stays.
//
// # Requests
//
// A Mutate is one transaction, with one nested in it for each column, that writes or deletes it
// if its value allows that. A Swap is one that reads the column where it is not what is expected;
// swaps that are there at the same time are nested in one (package gather), each with its own
// comparison. As etcd ships, a transaction has 128 operations at most (--max-txn-ops), level by level. Columns
// are nested once more where they are many, and 4,032 are the most; a request has 1.5 MiB
// (--max-request-bytes), in which each added value stands twice. What is more is an ErrInvalid, and
// nothing of it is done.
//
// Reads are linearizable. No write is sent again by itself, unless it was never sent.
//
// # The ends of columns
//
// etcd forgets keys with the lease that they are attached to. A lease for each column would cost
// two more writes each; here those whose TTL is about the same share one, for a quarter of that
// time, after which the next one is granted. A lease lasts longer by as much. So a column is
// forgotten no earlier than its TTL says, and mostly within twice that.
//
// # Watching
//
// A row that is watched has one watch at the server, all on one stream. Watchers hear of
// deletions, of a column's end too, and of everything that Swap writes, not of what Mutate
// adds. The client takes a watch up again where it was cut; where that cannot be, because the
// server has forgotten what was meanwhile (compaction) or has no leader, all is watched again,
// and notified.
package etcd
