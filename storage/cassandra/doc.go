// Package cassandra is a driver of package storage over Apache Cassandra, or a database that speaks its protocol.
//
//	store, err := cassandra.Open(ctx, "cassandra://user:password@host1:9042,host2/holdfast?dc=dc1")
//
// # The URL
//
// After the scheme come user and password, if the cluster requires them; hosts, one of which must answer and lists the
// others, each with a port (default 9042); and the keyspace. The options are:
//
//	table=locks            the table, and that of swaps: locks_swap
//	consistency=quorum     or local_quorum: only of the data centre in dc
//	dc=dc1                 the data centre whose nodes are preferred; with local_quorum no others
//	                       are used
//	replication=dc1:3      how a missing keyspace is created; or a number, for each data
//	                       centre. Without it, a missing keyspace is an error
//	gc_grace=1h            how long deletions are remembered, see below
//	tls=true               with the system's authorities, or ca=file; cert=file and key=file are
//	                       the client certificate for nodes that require one;
//	                       server_name=name if the nodes' certificates are for a name rather than
//	                       for the addresses by which the cluster knows them
//	timeout=6s             how long to wait for an answer: longer than the servers wait
//	retries=0              maximum number of retries of a request that had no effect: after
//	                       20 ms, then twice that each time, up to 1 s
//
// All clients that share locks must use the same cluster, keyspace, table and consistency; with local_quorum also the
// same dc, since quorums of two data centres need not have a node in common.
//
// # The tables
//
// Open creates missing tables as follows, and then tries each kind of request. Two processes that create them at the
// same time may create two of each, of which one is lost. For more than a trial, create them by hand first, or start
// one process first.
//
//	CREATE TABLE locks      (key blob, column1 blob, value blob, PRIMARY KEY (key, column1))
//	                        WITH gc_grace_seconds = 3600;
//	CREATE TABLE locks_swap (key blob, column1 blob, value blob, PRIMARY KEY (key, column1));
//
// Rows written by Swap have a separate table, and slices with Serial read that one. Cassandra dates a compare-and-set
// by the clocks of its nodes and orders it only against other compare-and-sets: a plain write with a later date would
// silently undo an acknowledged one. With two tables no mistake of a caller can mix them. It costs nothing: a row is
// always written in one way or the other.
//
// # How it keeps the guarantees
//
// A plain read and a plain write each need a quorum, so a read sees every earlier answered write. A [storage.Mutate] is
// one statement or one batch for one partition, which a replica applies as a whole. A [storage.Slice] is one read,
// never in pages. A Swap is a lightweight transaction.
//
// Cassandra is less exact than package storage in the following points, which callers must know:
//
//   - A Mutate that is in progress, or ended in an ErrUnknown, may show in part for a while: a
//     read that finds it at only one replica copies to the others only the columns that it
//     requested. Slices with the same bounds, or wider ones, see it whole.
//   - Of two additions of one column with one timestamp, the one that expires later
//     wins, and one that expires wins over one that does not; only then the one
//     with the higher value.
//   - A deletion is remembered for gc_grace, and wins over an addition with the same timestamp.
//     gc_grace must exceed the columns' lifetime (their TTL) plus the clock difference: a
//     replica that was down for longer can restore deleted columns. For columns
//     without a TTL any replica can: repair the tables more often than gc_grace, as Cassandra requires.
//
// # Deletions cost
//
// Until gc_grace and a compaction have passed, a deletion stays as a tombstone, and each read skips the tombstones
// within its bounds: 10,000 take about 20 ms, and above 100,000 Cassandra fails the read, which is an ErrInvalid.
// Slices therefore need a Start above the deleted columns: a caller that knows that no column below a timestamp counts
// should set it. Swaps leave none.
//
// # Errors
//
// The driver retries only if retries is set, and then only refused requests. A swap has several rounds, and may often
// end in an ErrUnknown if many race for one row, even in a healthy cluster: read the row, by a slice with Serial, and
// continue from there.
package cassandra
