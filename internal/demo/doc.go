// Package demo is `holdfast demo`: a cluster of real processes, real faults, and a verdict.
//
// It starts three members and six workers, two through each, and injects faults (the workers and the judge are from
// internal/test/clustertest):
//
//  1. The coordinator is killed with SIGKILL, while a worker holds the register through another member. The others
//     elect a new coordinator, which asks them for their holds and resumes grants when those of the dead one have run
//     out. The worker keeps its lock throughout.
//  2. The killed member is started again, and joins.
//  3. A member is stopped with SIGSTOP for longer than its lease, while a worker holds the register through it. Its
//     lock is lost and passes on. The worker is ordered to continue and writes without checking its lock: the write
//     must be refused, and the lock must be found lost. The member wakes, and joins again.
//
// # The verdict
//
// The demo fails when a promise is broken, when no lock changed hands, when no stale write was refused, when a holder's
// lock was not found lost, or when a fault did not happen.
package demo
