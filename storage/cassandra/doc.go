// Package cassandra keeps rows in an Apache Cassandra, or what speaks its protocol: a driver of
// package storage, which says what it promises.
//
//	store, err := cassandra.Open(ctx, "cassandra://user:password@host1:9042,host2/holdfast?dc=dc1")
//
// # The URL
//
// Behind the scheme stand, with a colon and an @, user and password where the cluster wants
// them; hosts, of which one must answer and tells of the others, each with a port unless that is
// 9042; and the keyspace. Then, behind a question mark:
//
//	table=locks            the table, and that of swaps: locks_swap
//	consistency=quorum     or local_quorum: of the data centre in dc alone
//	dc=dc1                 the data centre whose nodes are preferred; with local_quorum no others
//	                       are asked
//	replication=dc1:3      how a keyspace that is missing is made; or a number, for each data
//	                       centre. Without it, it is an error that the keyspace is missing
//	gc_grace=1h            for how long deletions are remembered, see below
//	tls=true               with the system's authorities, or ca=file; cert=file and key=file are
//	                       what is shown to nodes that ask for a certificate;
//	                       server_name=name if theirs are for a name, and not for the addresses
//	                       by which the cluster knows them
//	timeout=6s             how long to wait for an answer: longer than the servers wait
//	retries=0              how often a request is tried again of which nothing was done: after
//	                       20 ms, and then twice that each time, up to 1 s
//
// All who share locks must use the same hosts' cluster, keyspace, table and consistency; with
// local_quorum the same dc, since quorums of two data centres need not have a node in common.
//
// # The tables
//
// Open makes them where they are missing, like this, and then tries what will be asked for. Two
// processes that make them at one time may make two of each, of which one is lost: for more than
// a trial, make them by hand before, or start one process first.
//
//	CREATE TABLE locks      (key blob, column1 blob, value blob, PRIMARY KEY (key, column1))
//	                        WITH gc_grace_seconds = 3600;
//	CREATE TABLE locks_swap (key blob, column1 blob, value blob, PRIMARY KEY (key, column1));
//
// Rows that are written by Swap are in a table of their own, and slices with Serial read that
// one. Cassandra dates a compare-and-set by the clocks of its nodes and orders it against others
// alone: a plain write with a later date would undo one that was acknowledged, unseen. In two
// tables no mistake of a caller mixes them. It costs nothing: a row is written in one way or in
// the other.
//
// # How it keeps the promises
//
// A plain read and a plain write each need a quorum, so a read meets what was answered before.
// A [storage.Mutate] is one statement or one batch for one partition, which a replica applies
// whole. A [storage.Slice] is one read, never in pages. A Swap is a lightweight transaction.
//
// Cassandra is less exact than package storage in these, of which a caller must know:
//
//   - A Mutate that is under way, or ended in an ErrUnknown, may show in part for a while: a
//     read that meets it at one replica alone spreads to the others only those columns that it
//     has asked for. Slices with the same bounds, or wider ones, see it whole.
//   - Of two additions of one column with one timestamp, the one that is to be forgotten later
//     stays, and one that is to be forgotten at all before one that is not; only then the one
//     with the higher value.
//   - A deletion is remembered for gc_grace, and wins over an addition with the same timestamp.
//     It must be remembered for longer than the columns live (their TTL) and clocks differ: a
//     replica that was down for longer can bring back what was deleted. So can any, of columns
//     without a TTL: repair the tables more often than gc_grace, as Cassandra asks for.
//
// # Deletions cost
//
// Until gc_grace and a compaction have passed a deletion stays as a tombstone, and each read
// passes over those within its bounds: 10,000 take about 20 ms, and above 100,000 Cassandra
// answers no more, which is an ErrInvalid. So slices need a Start above what was deleted: those
// who know that no column below a timestamp counts should say so. Swaps leave none.
//
// # Errors
//
// Nothing is tried again unless retries says so, and then only what was refused. A swap has
// several rounds, and may end in an ErrUnknown often where many race for one row, with Cassandra
// itself in good health: read it, by a slice with Serial, and go on from there.
package cassandra
