// Package peer wraps third-party lock services as targets, so that package load measures them with the same workloads,
// through the same interface, as Holdfast.
//
//	peer.go        the targets: names, programs, packages; which are installed
//	target.go      a service as the workloads see it
//	etcd.go        etcd: concurrency.Mutex
//	redis.go       Redis: redsync.go, rueidislock.go
//	postgresql.go  PostgreSQL: session advisory locks
//	stored.go      Holdfast's own locks in these servers
//	server.go      a server under its keeper: the bench's end
//	keeper.go      the keeper's end
//	usage_*.go     resource usage of its processes
//
// internal/test/realstore/recipe finds and starts the servers of etcd, Redis and PostgreSQL, for tests, too.
//
// # What each lock guarantees
//
// A lock that survives more costs more. Read the figures with these guarantees in mind:
//
//   - etcd agrees on every lock and every release in a log (Raft), and has written it to disk, with fsync, before it
//     answers; here with one member, so no other member needs to agree. A lock outlives a restart of the server. A
//     mutex is a key under a lease (60 s, as shipped) that is kept alive; a waiter watches its predecessor's key. It
//     learns of a release with a delay of up to 100 ms, the interval at which etcd serves watches that begin in the
//     past.
//   - Redis keeps a lock in memory by default: a restart forgets it, or brings back one from minutes ago.
//     redis-aof-redsync writes each to disk before it answers (appendonly yes, appendfsync always). redsync polls: a
//     waiter tries again after 50 to 250 ms. Its locks expire, and redsync does not extend them: after 8 s by default,
//     here after 60, because the bench keeps some that long. rueidislock extends its locks and uses server push; of
//     several waiters in one process it lets one at a time ask. By default it counts a request without an answer after
//     20 ms as refused, and never wakes the worker that made it: here the limit is a second. Workers that it still
//     never wakes end with errors, which are counted. Both are set up for one server (a majority of 1).
//   - PostgreSQL keeps session advisory locks in shared memory and writes none to disk. A lock ends with its
//     connection, each of which is a process of the server. Waiters queue in order.
//   - Holdfast's remote is one member, central are three. Both keep their locks in memory: a grant needs no disk and no
//     vote. Locks survive the coordinator's death because its successor asks the holders; a restart of all at once
//     waits until the promises have run out. That is less than etcd's log provides (a lock that outlives all members),
//     and the reason it can be faster.
//   - Holdfast's locks in a store are as durable as the store's writes: those in etcd and in PostgreSQL outlive a
//     restart, because each lock and each release is a synced write; those in Redis do not. They are taken by claims
//     (etcd-store and the like, which wait 100 ms for each) or by conditional writes (etcd-store-cas). So compared with
//     advisory locks, which are never written, they pay for two transactions; if a process keeps released names
//     (etcd-store-cas-kept), for two of all locks of a name within a second.
//   - limit, in package load/limit, guarantees nothing; it is only fast.
//
// # Configuration
//
// Servers run with their defaults, except for what the bench needs: a free port of the loopback, a fresh folder for
// data, and with PostgreSQL enough connections and room in the lock table. The folder is in TMPDIR: the cost of an
// fsync depends on its file system, and in memory it is nothing.
//
// PostgreSQL refuses to run as root: if the bench does, it runs as user postgres or, without one, as an unprivileged
// user. That user must be able to reach the folder.
//
// # Bounds
//
// With PostgreSQL every worker has a connection, at most [MaxConnections]: if more are wanted, its rows give the actual
// number. The bench leaves its deadlock check on, which each waiter runs after a second, and which examines all others.
//
// # Comparability
//
//   - No server is made to collect its garbage before its memory is measured, as ours are: etcd's bytes per lock
//     include its garbage. A page that processes share counts once (PSS).
//   - With one worker client and servers share one CPU, as with ours. etcd, which is a Go program, may run several
//     goroutines at a time.
//   - CPU time and memory come from /proc. Without /proc they are unknown.
//   - All workers of a measurement share one client of each service, as they do with ours, but for PostgreSQL's
//     connections and for etcd's leases: each worker has one of those, since two with one lease would have one mutex
//     together.
//   - The requests of Holdfast's locks to a store are counted; those of others are not. If all want one name, each
//     worker has its own locker and connections.
//   - A waiter cannot be seen to be queued: drain waits for half a second before the release.
//
// # Nothing is left behind
//
// Each server has a keeper: this same program, started with a hidden command. It makes the folder, starts the server,
// and reports when the server is ready. Its standard input is a leash, as with package target's children: when it
// closes, because the bench closed it or died by any signal, the keeper shuts the server down, kills it if that takes
// too long, and removes the folder. If the keeper itself is killed, the system kills the server (on Linux).
package peer
