// Package demo is `holdfast demo`: real processes, real faults, and a verdict.
//
// It starts a daemon in a folder of its own, and eight worker processes that pass
// one exclusive lock ("register") and one of slots ("pool": each takes 2 of 5 units,
// so two workers have it at a time) around. While a worker has the register it
// writes to a file that is guarded by tokens ([Register]): a write under a token
// that is older than one already seen is refused, as a store behind a lock should do.
//
// Then it hurts them. It kills a holder of the register with SIGKILL, and waits
// until another worker has it. It stops another holder with SIGSTOP until its lock
// has passed on, and lets it wake: its write, under the token that it still has,
// must be refused.
//
// # The verdict
//
// Every worker tells what it did and when, on the clock that all processes of this
// machine share and that runs while it sleeps. The [judge] holds the promises
// against that, from the holders' point of view: nobody's time with the register
// overlaps another's, no more than two have the pool at any instant, tokens rise.
// The demo fails when one of these is broken, when no lock changed hands, when no
// stale write was refused, or when a fault did not happen.
package demo
