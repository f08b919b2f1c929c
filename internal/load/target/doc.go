// Package target provides the targets of the bench (package load has the workloads): servers in child processes, a
// member in this process, a running cluster.
//
//	harness.go         what a run of the bench has: folder, CPUs, echo server, targets
//	raw.go         ping-pongs over TCP: what a message costs
//	limits.go      package limit's lock server in a child
//	members.go     Holdfast: one member here, one in a child; central.go: three in children
//	own.go         one member here, two more in children
//	spread.go      clusters of 3, 5 and 9 members that are all here; hear.go: how they hear
//	               each other, and how far they are apart
//	policy.go      a policy of many rules
//	running.go     a cluster not started by the bench; metrics.go: its metrics
//	encryption.go  the certificates of a run
//	profile.go     where time and memory go
//	servers.go     the children that a target consists of
//	child.go       the bench's end of a child process
//	leash.go       the child's end of that
//	pin_*.go       one CPU for all
//
// # Ping-pongs
//
// A message is 64 bytes. One worker has a connection to itself, and a ping-pong is a cycle: a lock service whose Lock
// and Unlock both wait for an answer needs two. Several workers share one connection, as those of limit and of a member
// do, each with one message under way at a time; messages pending at the same time travel in one write, both ways. That
// is the upper bound for a protocol with one small message each way per cycle.
//
// # Clusters in this process
//
// central-3, permission-9 and the like are clusters whose members are all in this process, as if each program embedded
// its own (package host). They reach each other by the real transport, over TCP on the loopback, and workers use them
// directly. So a hand-off costs what the protocol costs, all messages of the space are counted, and delay can be added
// (--delay). If there are as many workers as members, each has its own; otherwise they rotate over the members that do
// not coordinate. The cost of a lock at the coordinator of protocol central has its own row (central-3-coordinator). Of
// permission there is one with option retain; of the members of bakery-5 and bakery-9 three lead, which their random
// numbers choose.
//
// All members share this process's CPUs, its heap and its collector. A message between processes costs more, because it
// must wake another process.
//
// # TLS
//
// remote-tls is remote with mutual TLS 1.3, and limit-tls is limit with it: each run creates its own authority for
// their certificates. They are measured with the plain ones for throughput and hand-offs, without think times, drain
// and hold.
//
// # Access control
//
// remote-access is remote with an access file of [Rules] rules, all of which the client's decisions search.
//
// # Children
//
// A child is this same program, started with a hidden command. Its standard input is a leash: the bench sends orders
// there (report usage, collect garbage, run on one CPU). When it closes, because the bench closed it or died by any
// signal, the child ends at once; the echo server removes the bench's folder first. So nothing is left behind, though
// no child makes an orderly leave.
//
// # One CPU
//
// With one worker, this process, the servers and the echo server share one CPU, and Go runs one goroutine at a time in
// each program of ours. On two CPUs the figure would mostly be the wake-up time of an idle CPU, which differs from
// machine to machine and is no property of the software. Only Linux lets a process choose its CPUs; elsewhere the rows
// are measured without that, and the JSON records it.
package target
