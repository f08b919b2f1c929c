// Package etcd is a driver of package storage over an etcd cluster, version 3.4 or later.
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
// etcd:// or, with TLS, etcds:// (or the option tls); user and password, if the cluster requires them; hosts and ports
// (2379) of its members, any of which will do; the path is the prefix of all keys ("holdfast"). Options:
//
//	timeout=TIME   after which a request is given up (5s)
//	retries=N      maximum number of retries of a read that finds no member (1)
//	ca, cert, key, server_name   with TLS, as in package location
//
// # Guarantees
//
// A majority of the members has every answered write on disk: rows are Consistent and Durable. There is no clock: the
// members' clocks differ, and etcd does not expose them.
//
// # How a row is stored
//
// The key of a column is the path, a slash, the length of the row's key in 2 bytes, that key, and the column: the
// columns of a row are one range, which has no other row's. The value is the timestamp in 8 bytes, highest first, and
// the written value; Swap writes timestamp 0. As etcd compares values by their bytes, one comparison decides which of
// two additions wins.
//
// # Requests
//
// A Mutate is one transaction with a nested one for each column, which writes or deletes it if its value allows that. A
// Swap is a transaction that reads the column if it does not have the expected value; concurrent swaps are nested in
// one (package gather), each with its own comparison. By default etcd allows 128 operations in a transaction
// (--max-txn-ops), level by level. Many columns are nested once more, and 4,032 are the maximum; a request has 1.5 MiB
// (--max-request-bytes), in which each added value appears twice. A larger request is an ErrInvalid, and has no effect.
//
// Reads are linearizable. The driver resends a write only if it was never sent.
//
// # The ends of columns
//
// etcd deletes keys with the lease that they are attached to. A lease for each column would cost two more writes each;
// instead columns with about the same TTL share one, for a quarter of that time, after which the next one is granted. A
// lease is longer by as much. A column is therefore deleted no earlier than its TTL, and usually within twice that.
//
// # Watching
//
// A watched row has one watch at the server, all on one stream. Watchers are notified of deletions, including the end
// of a column, and of every write of Swap, but not of additions by Mutate. The client resumes an interrupted watch; if
// it cannot, because the server has discarded the changes since (compaction) or has no leader, all rows are watched
// again, and all watchers notified.
package etcd
