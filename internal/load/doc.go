// Package load measures lock services: throughput, latency, fairness, cost, and whether two clients ever held one lock
// at once. `holdfast bench` is its front end. It measures a [Target] through one interface, [Locker], so other lock
// services can be measured in the same way (package target has ours, module bench those of others).
//
//	locker.go     what is measured: Locker, Held, Client, Target, Machine
//	cell.go       what is measured of each: workload, workers, think time
//	bench.go      the rounds
//	measure.go    one measurement in one round, and what it has cost
//	requests.go   what a store was asked for, where locks are in one
//	timed.go      workloads uncontended and hot; drain.go, hold.go: the others
//	checker.go    who is inside; histogram.go: durations
//	predict.go    what the course says
//	figures.go    medians and spread; table.go, json.go: as people and scripts read them
//	aims.go       what is aimed at, and what was measured
//	overview.go   all of it as one table, related to limit
//	parse.go      what a command line asks for
//
// # Workloads
//
//   - uncontended: each worker draws names from its own share of 10,000, locks, and unlocks at once. Measured: whole
//     cycles per second, their time, and that of Lock alone.
//   - hot: all workers want one name. A *hand-off* is counted when the holder has changed: a worker that takes the lock
//     again at once inflates the count of locks and starves the others. Wait is the time of a Lock. Fairness is the
//     ratio of locks of the busiest worker to the idlest, less the one that the edges of the window can add.
//   - drain: 1,000 waiters queue for a name that is held; then it is released. Measured is the time until all have had
//     it (a wait here counts from that release).
//   - hold: 64 workers take 100,000 locks together, and keep them. Measured is the growth of the servers' memory per
//     lock, after a forced collection before and with them: resident memory (bytes_per_lock) and live heap. Of a server
//     in this process only the heap is known, which includes the client's half.
//
// In uncontended and hot a worker may keep each lock for a think time W, sleeping. The first tenth of every timed
// measurement warms up and is not counted; a cycle counts when it ends within the window. Where all workers together
// make more than 200,000 cycles a second the clock is read in one cycle of 16, because reading it would be a large part
// of them: then maximum times are those of the timed cycles.
//
// # Rounds
//
// Other load on the machine should affect all targets alike: within a round every cell (a workload with a number of
// workers and a think time) is measured on one target right after the other, and all cells are measured in each round.
// A figure is the median of the rounds, shown with the smallest and the largest; violations and errors are added up.
// Hold uses fresh servers each time, because a table that was large once may stay so.
//
// No target can keep the others waiting forever: a call that has not returned long after it should is abandoned and
// counted as an error, Hold continues with the locks acquired in time, and a target may be [Bounded].
//
// # Violations
//
// One [Checker] for all workers of a measurement tracks which worker is inside: from the return of Lock until just
// before the call of Unlock. A second one inside is a violation, unless the lock of the first has ended by itself by
// then and reports it. Names that only one worker uses cannot show a violation, so none is counted.
//
// # Prediction
//
// In the notes of a course on coordination one manager grants one resource: request, grant, use, release. With T for
// the time of a message and W for that of a use,
//
//	one process alone     a use takes request + grant + W + release          1/(W+3T) a second
//	processes that queue  the resource is idle for a release and a grant     W/(W+2T) of the time in use
//
// A resource that is in use for W/(W+2T) of the time, W at a time, is used 1/(W+2T) times a second. [Predict] gives the
// first for one worker, and the second for hot with several workers and for drain, where W is 0; the share of the time
// in use it gives for both, where W is not 0, next to the share that was measured. The table names the formula. T is
// half of a ping-pong of 64 bytes over TCP that is measured just before, on as many CPUs (one for one worker); W is
// what the workers have really slept, which is more than what they were asked to. For several uncontended workers the
// notes say nothing: workers wait only for the machine. A target without messages has T = 0: then only W bounds it, if
// there is one.
//
// If all others are asked at once and no process waits for a release message (Ricart and Agrawala), one worker alone
// takes request + reply + W, and processes that queue wait for one reply: 1/(W+2T) and 1/(W+T) uses a second, for any
// number of members.
//
// The notes count only messages. Measured figures differ from the predicted ones by the software at both ends; by a
// target whose Unlock waits for an answer (limit: four messages for one worker, not three) or returns when the release
// is on its way (ours: the next request travels right behind it, so two); and by members that pass requests on.
//
// # Aims
//
// [Config.Aims] compares the figures with Holdfast's aims: the table in aims.go has a line for each aim, with the
// formula from the figures of one round. A ratio is taken within a round, where both figures come from the same machine
// a second apart; the result is the median over all rounds, as for OF-LIMIT. An aim is judged as shown, to two
// decimals; one whose cells were not measured is left out. A missed aim is not an error.
//
// Allocations are those of the whole workers' process for each lock taken, including the measurement itself, which
// makes none in a cycle. For a target in this process they include the server's.
//
// # Limits of the figures
//
//   - Other machines. Loopback has no distance and no loss; client and servers share its CPUs, so each pays for the
//     other. Ratios to limit, which is measured in the same minute, travel better than figures.
//   - Failures. Nothing fails here, and no member is lost: see `holdfast demo` and `holdfast sim` for that.
//   - The features that limit lacks: sessions, tokens, leases, members, encryption. Not all of the distance to it is
//     waste.
//   - Tails. A window of half a second sees few events that happen once a second, and three rounds see three windows.
//   - The absence of violations: only that none was seen while nothing failed.
//   - CPU time in microseconds is that of whole processes divided by cycles. It includes heartbeats and collections,
//     which dominate when there are few cycles.
package load
