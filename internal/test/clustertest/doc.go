// Package clustertest tests clusters of real processes: it starts members and workers, injects faults, and judges the
// workers' reports.
//
//	member.go    a `holdfast serve` that can be killed, stopped, and started again
//	cluster.go   several of them, on addresses known in advance
//	worker.go    a worker process: one lock after the other
//	group.go     the workers, and all their reports
//	judge.go     the promises, checked against these
//	signals.go   ignored signals that processes inherit from the test program
//	register.go  the resource behind the lock: a file that compares tokens
//
// # Reports
//
// Workers pass two locks around: one exclusive ([RegisterName]) and one of slots ([PoolName]: each takes 2 of 5 units,
// so two workers have it at a time); half of them take only the pool, so that there is work while a worker keeps the
// register. While a worker has the register it writes to a file guarded by tokens ([Register]), which refuses a write
// under a token older than one that has written, as a store behind a lock should.
//
// Every worker reports, one JSON object a line, when it used which lock, on the clock that all processes of a machine
// share and that runs during sleep. An instant counts as use only if the lock was alive after the clock was read. So a
// reported stay is never longer than the real one, however late a process is scheduled, and two overlapping stays are
// two holders at once. A worker that was stopped and wakes has not used its lock in between, and finds it lost.
//
// # Verdict
//
// The verdict depends on order and tokens, never on durations: no worker's stay with the register overlaps another's,
// no more than two have the pool at any instant, tokens rise, and the register has taken as many writes as were
// reported.
package clustertest
