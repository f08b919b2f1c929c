// Package peer makes targets of lock services that others have written, so that package
// load measures them with the same workloads, through the same interface, as Holdfast.
//
//	peer.go        what there is: names, programs, packages; which of it is installed
//	target.go      a service as the workloads see it
//	etcd.go        etcd: concurrency.Mutex
//	redis.go       Redis: redsync.go, rueidislock.go
//	postgresql.go  PostgreSQL: session advisory locks
//	stored.go      Holdfast's own locks in these servers
//	server.go      a server under its keeper, as the bench sees it
//	keeper.go      the same, as the keeper sees it
//	usage_*.go     what its processes have used
//
// How the servers of etcd, Redis and PostgreSQL are found and started is in
// internal/test/realstore/recipe, where tests have it from, too.
//
// # What they are, and what their locks are worth
//
// A lock is dear where it survives more. Who reads the figures must know what stands
// behind each:
//
//   - etcd agrees on every lock and every release in a log (Raft), and has written it to
//     disk, with fsync, before it answers; here with one member, so no other member has to agree.
//     A lock outlives a restart of the server. A mutex is a key under a lease (60 s, as
//     shipped) that is kept alive; a waiter watches the key of the one before. It learns of
//     a release with a delay of up to 100 ms, the pace at which etcd serves watches
//     that begin in the past.
//   - Redis keeps a lock in memory, as it ships: a restart forgets it, or brings back one
//     of minutes ago. redis-aof-redsync writes each to disk before it answers
//     (appendonly yes, appendfsync always). redsync polls: a waiter tries again after 50 to
//     250 ms. Its locks end by themselves, and redsync does not prolong them: after 8 s as shipped,
//     here after 60, for the bench keeps some that long. rueidislock prolongs
//     its locks and lets the server push what has changed; of several waiters in one
//     process it lets one at a time ask. A request of it that has not been answered after
//     20 ms counts as refused, and nothing wakes the worker that made it: here it has a second. Workers
//     that it never wakes all the same end with errors, which are counted. Both are set up
//     for one server (a majority of 1).
//   - PostgreSQL keeps session advisory locks in shared memory and writes none to disk. A
//     lock ends with its connection, each of which is a process of the server. Waiters
//     queue in order.
//   - Holdfast's remote is one member, central are three. Both keep their locks in memory:
//     no disk and no vote is between a request and its grant. A coordinator's death is
//     survived because the holders are asked what they hold; a restart of all at once
//     waits until what was promised has run out. That is less than etcd's log is worth
//     (a lock that outlives all members), and it is why it can be faster.
//   - Holdfast's locks in a store are worth what the store's writes are, and no more: those
//     in etcd and in PostgreSQL outlive a restart, because each lock and each release is
//     a write that is synced like any other; those in Redis do not. They are taken by claims
//     (etcd-store and the like, which wait 100 ms for each) or by conditional writes
//     (etcd-store-cas). So compared with advisory locks, which are never written, they pay for two
//     transactions; where a process keeps what was released (etcd-store-cas-kept), for two of all
//     locks of a name within a second.
//   - limit, in package load/limit, is worth nothing but its speed.
//
// # How they are run
//
// As they ship, but for what the bench must have: a free port of the loopback, a fresh
// folder for data, and with PostgreSQL enough connections and room in the lock table. The
// folder is in TMPDIR: whether an fsync costs anything is a matter of what lies there, and
// in memory it costs nothing.
//
// PostgreSQL refuses to run as root: where the bench does, it is run as user postgres or,
// where there is none, as one without any rights. The folder must then be one that these can reach.
//
// # Bounds
//
// With PostgreSQL every worker has a connection, and [MaxConnections] is how many there
// are at most: where more are wanted, its rows say how many there were. The bench does not set its
// deadlock check off, which each waiter makes after a second, and which looks at all others.
//
// # What is compared, and what is not
//
//   - No server has to collect its garbage before its memory is looked at, as ours
//     do: that of etcd is in its bytes for each lock. A page that processes share counts
//     once (PSS).
//   - With one worker client and servers share one CPU, as with ours. etcd, which is a Go
//     program, may run several goroutines at a time.
//   - CPU time and memory come from /proc. Where there is none they are not known.
//   - All workers of a measurement share one client of each service, as they do with ours,
//     but for PostgreSQL's connections and for etcd's leases: each worker has one of those,
//     since two with one lease would have one mutex together.
//   - Holdfast's locks in a store count what they ask it for; those of others are not
//     counted. Where all want one name each worker has a locker and connections of its own.
//   - A waiter cannot be seen to be queued: drain waits for half a second before the release.
//
// # Nothing is left behind
//
// Each server has a keeper: this very program, started again with a hidden word. It makes
// the folder, starts the server, and tells when the server says itself that it is ready.
// Its standard input is a leash, as with package target's children: when it ends, because
// the bench has closed it or has died by any signal, the keeper stops the server in
// good order, kills it if that takes too long, and removes the folder. If the keeper itself
// is killed, the system kills the server, where the system is Linux.
package peer
