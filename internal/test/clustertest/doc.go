// Package clustertest puts clusters of real processes on trial: it starts members and
// workers, hurts them, and judges what the workers report.
//
//	member.go    a `holdfast serve` that can be killed, stopped, and started again
//	cluster.go   several of them, on addresses that are known before they start
//	worker.go    what a worker process does: one lock after the other
//	group.go     the workers, and all that they have reported
//	judge.go     the promises, held against that
//	signals.go   what processes inherit of a test program that ignores signals
//	register.go  the resource behind the lock: a file that compares tokens
//
// # What a worker reports
//
// Workers pass two locks around: one exclusive ([RegisterName]) and one of slots
// ([PoolName]: each takes 2 of 5 units, so two workers have it at a time); half of them
// take the pool alone, so that there is work while a worker keeps the register. While a
// worker has the register it writes to a file that is guarded by tokens ([Register]): a
// write under a token older than one that has written is refused, as a store behind a
// lock should do.
//
// Every worker says, one JSON object a line, when it used what, on the clock that all
// processes of a machine share and that runs while it sleeps. An instant counts as use
// only if the lock was found alive after the clock was read: so a reported stay is never
// longer than it was, however late a process is scheduled, and two stays that overlap
// are two holders at once. A worker that was stopped and wakes has not used its lock in
// between, and finds it lost.
//
// # What is judged
//
// By order and by tokens, never by how long something took: no worker's stay with the
// register overlaps another's, no more than two have the pool at any instant, tokens
// rise, and the register has taken as many writes as were reported.
package clustertest
