// Package load measures lock services: how many locks, how soon, how fairly, at what
// price, and whether two ever had one at once. `holdfast bench` is its front; what it
// measures is a [Target], and all of them go through one interface, [Locker], so that
// other lock services can be measured in the same way (package target has ours, module
// bench those of others).
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
//   - uncontended: each worker draws names from a share of its own of 10,000, locks,
//     unlocks at once. Measured: whole cycles each second, their time, and Lock's alone.
//   - hot: all workers want one name. A *hand-off* is counted when the holder has changed:
//     a worker that takes the lock again at once makes the count of locks look good and
//     starves the others. Wait is the time of a Lock. Fairness is the busiest worker's
//     locks for each of the idlest worker's, less the one that the edges of the window can
//     make.
//   - drain: 1,000 waiters queue for a name that is held; then it is released. Measured is
//     the time until all have had it (a wait here counts from that release).
//   - hold: 64 workers take 100,000 locks together, and keep them. Measured is by how much
//     the servers' memory has grown for each, after a forced collection before and with
//     them: what the system has given (bytes_per_lock), and what is alive on the heap. Of a
//     server in this process only the heap is known, and the client's half is in it.
//
// In uncontended and hot a worker may keep each lock for a think time W, sleeping. The
// first tenth of every timed measurement warms up and is not counted; a cycle counts when
// it ends within the window. Where all workers together make more than 200,000 cycles a
// second the clock is read in one cycle of 16, because reading it would be a large part of
// them: then longest times are those of the cycles that were looked at.
//
// # Rounds
//
// Anything else that a machine does meets all targets alike: within a round every cell (a
// workload with a number of workers and a think time) is measured on one target right
// after the other, and all cells are measured in each round. A figure is the median of the
// rounds, shown with the smallest and the largest; violations and errors are added up.
// Hold has servers of its own each time, for a table that was large once may stay so.
//
// No target can keep the others waiting for ever: what has not returned long after it should
// is given up and counted as an error, Hold goes on with those locks that there are in time,
// and a target may be [Bounded].
//
// # Violations
//
// One [Checker] for all workers of a measurement knows who is inside: from when Lock has
// returned until just before Unlock is called. Another one that comes in is a violation,
// unless the lock of the first has ended by itself by then and says so. On names that one
// worker alone wants nothing can be seen, so nothing is counted.
//
// # What the course predicts
//
// In the course's notes one manager grants one resource: request, grant, use, release. With
// T for the time of a message and W for that of a use,
//
//	one process alone     a use takes request + grant + W + release          1/(W+3T) a second
//	processes that queue  the resource is idle for a release and a grant     W/(W+2T) of the time in use
//
// A resource that is in use for W/(W+2T) of the time, W at a time, is used 1/(W+2T) times a
// second. [Predict] gives the first for one worker, and the second for hot with several
// workers and for drain, where W is 0; the share of the time in use it gives for both, where
// W is not 0, next to the share that was measured. The table names the formula. T is half of a ping-pong of 64 bytes over TCP that
// is measured just before, on as many CPUs (one for one worker); W is what the workers have
// really slept, which is more than what they were asked to. For several uncontended workers
// the notes say nothing: no worker waits but for the machine. A target without messages has
// T = 0: then W alone bounds it, and nothing does without W.
//
// Where all others are asked at once and no process hears of a release (Ricart and Agrawala), one
// worker alone takes request + reply + W, and processes that queue wait for one reply: 1/(W+2T)
// and 1/(W+T) uses a second, for any number of members.
//
// The notes count messages and nothing else. Measured figures differ from the predicted
// ones by the software at both ends; by a target whose Unlock waits for an answer (limit:
// four messages for one worker, not three) or returns when the release is on its way (ours:
// the next request travels right behind it, so two); and by members that pass requests on.
//
// # What is aimed at
//
// [Config.Aims] holds the figures against what Holdfast aims at: the table is in aims.go, a
// line for each aim, and says how the figure follows from those of one round. A ratio is
// taken within a round, whose two figures have met the same machine a second apart, and is
// then the median of all rounds; so is OF-LIMIT. An aim is judged as it is shown, to two
// decimals; one whose cells were not measured is left out. Missed ones are no error.
//
// Allocations are those of the whole workers' process for each lock taken, the measuring
// itself included, which takes none in a cycle. For a target in this process the server's
// are in them.
//
// # What the figures do not say
//
//   - What another machine does. Loopback has no distance and no loss; client and servers
//     share its CPUs, so each pays for the other. Ratios to limit, which is measured
//     in the same minute, travel better than figures.
//   - What happens when something fails. Nothing fails here, and no member is lost: see
//     `holdfast demo` and `holdfast sim` for that.
//   - What limit leaves out: sessions, tokens, leases, members, encryption. A distance to
//     it is not all waste.
//   - Tails. A window of half a second has seen few of what happens once a second, and three
//     rounds see three windows.
//   - That there are no violations: only that none was seen where nothing failed.
//   - CPU time in microseconds is that of whole processes divided by cycles: heartbeats and
//     collections are in it, and where few cycles are made they are most of it.
package load
