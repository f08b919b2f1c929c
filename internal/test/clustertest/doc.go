// Package clustertest tests clusters of real processes: it starts members and workers, injects faults, and judges the
// workers' reports.
//
//	member.go    a `holdfast serve` that can be killed, stopped, and started again
//	cluster.go   several of them, on addresses known in advance
//	worker.go    a worker process: one lock after the other
//	group.go     the workers, and their reports
//	judge.go     checks of the reports against the promises
//	signals.go   default signals for children of a program that ignores them
//	register.go  the resource behind the lock: a file that compares tokens
//
// # What a worker reports
//
// Workers contend for two locks: one exclusive ([RegisterName]) and one of slots ([PoolName]: each takes 2 of 5 units,
// so two workers have it at a time). Half of them take only the pool, so that work continues while a worker keeps the
// register. A worker with the register writes to a file that is guarded by tokens ([Register]): a write with an older
// token than an earlier write is refused, as a store behind a lock should do.
//
// Every worker reports, one JSON object a line, when it used which lock, by the clock that all processes of a machine
// share and that runs while it sleeps. An instant counts as use only if the lock was found alive after the clock was
// read. So a reported stay is never longer than the real one, however late a process is scheduled, and two overlapping
// stays are two holders at once. A worker that was stopped has not used its lock meanwhile, and finds it lost when it
// wakes.
//
// # What is judged
//
// The judge checks order and tokens, never durations: no two workers' stays with the register overlap, no more than two
// have the pool at any instant, tokens rise, and the register has accepted as many writes as were reported.
package clustertest
