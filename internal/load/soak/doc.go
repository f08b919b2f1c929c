// Package soak keeps a cluster busy for a long time and samples the resources of its processes: what grows for an hour
// grows forever. `holdfast bench --soak` is its front; package target has the clusters.
//
//	soak.go     a run: begin, look, end
//	kinds.go    the kinds of load within sessions that stay
//	comings.go  those whose sessions and connections come and go
//	proxy.go    connections that can be cut; room.go: who is inside
//	sample.go   one look at everything
//	verdict.go  the rule of what is flat; table.go: as people and scripts read it
//
// # Load
//
// It is moderate, about 650 locks a second on any machine, so that CPU time is left: its purpose is to run through
// every kind of life cycle of a lock, a session and a connection, again and again, and not to find a limit. Between two
// turns each worker pauses for a random time (exponential, so that all orders of things occur), the mean of which is:
//
//	kind         workers  pause   a turn is
//	uncontended  16       80 ms   a name of its own, kept for 1 ms
//	hot          8        40 ms   one name, exclusively
//	shared       6 and 2  80 ms   readers and writers of one name
//	slots        6        80 ms   one to three units of four
//	impatient    4        50 ms   a wait for a name that another worker keeps for 20 ms,
//	                              given up after 5 ms: by wait limit, by context, or at once
//	overheld     1        500 ms  a lock that is not released before its hold limit
//	sessions     2        250 ms  a session that comes, locks three names and goes; each
//	                              other one goes without a release
//	cut          1        2 s     all connections of a client are cut, which then goes on in
//	                              the same session with the lock that it has had all along
//	abandoned    1        2 s     a session that is never renewed; the next one waits until
//	                              it has expired
//
// The workers of a kind share a session, or two; the kinds are spread over the members. A turn counts when all of it
// went as described; anything else is an error. Two workers inside at once that must not be are a violation.
//
// # Verdict
//
// The first tenth warms up. Of the samples after it, the median of the first quarter is compared with that of the last,
// for each figure of each process and of the cluster. A figure is flat when the last exceeds the first by at most a
// tenth plus an allowance:
//
//	resident memory 4 MiB   heap 1 MiB   goroutines, descriptors 16   sessions 8   locks, waiters 32
//
// The heap is the live heap after a forced collection. A cluster that the soak has not started cannot be forced to
// collect, so its heap includes garbage: there the minimum of a quarter counts instead of the median. The slope, by
// least squares over the same samples, is shown but not judged. A soak of less than a minute, or with fewer than 8
// samples after the warm-up, is too short to judge growth: then only errors and violations count.
package soak
