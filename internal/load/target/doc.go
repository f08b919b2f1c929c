// Package target starts and reaches what the bench measures (package load has the
// workloads): servers as child processes, a member in this process, a running cluster.
//
//	harness.go         what a run of the bench has: folder, CPUs, echo server, targets
//	raw.go         ping-pongs over TCP: what a message costs
//	limits.go      package limit's lock server in a child
//	members.go     Holdfast: one member here, one in a child; central.go: three in children
//	own.go         one member here, two more in children
//	spread.go      clusters of 3, 5 and 9 members that are all here; hear.go: how they hear
//	               each other, and how far they are apart
//	running.go     a cluster that the bench has not started; metrics.go: what it tells
//	encryption.go  the certificates of a run
//	profile.go     where time and memory go
//	servers.go     the children that a target consists of
//	child.go       a child process, as the bench sees it
//	leash.go       the same, as the child sees it
//	pin_*.go       one CPU for all
//
// # Ping-pongs
//
// A message is 64 bytes. One worker has a connection to itself, and a ping-pong is a cycle:
// a lock service whose Lock and Unlock both wait for an answer needs two. Several workers
// share one connection, as those of limit and of a member do, each with one message under
// way at a time; messages that are there together travel in one piece, both ways. That is
// the most that a protocol with one small message each way for a cycle could reach.
//
// # Clusters in this process
//
// central-3, permission-9 and the like are clusters whose members are all in this process, as
// where each program embeds its own (package host): they reach each other by the real
// transport, over TCP on the loopback, and workers use them directly. So a hand-off costs what
// the protocol costs, all messages of the space are counted, and their way can be made longer
// (--delay). As many workers as there are members have one each; otherwise they sit in turns at
// those that do not coordinate. What a lock costs at the coordinator of protocol central stands
// apart (central-3-coordinator). Of permission there is one with option retain; of the members of
// bakery-5 and bakery-9 three lead, which their random numbers choose.
//
// All members share this process's CPUs, its heap and its collector. A message between
// processes costs more, by what it takes to wake another one.
//
// # TLS
//
// remote-tls is remote with mutual TLS 1.3, and limit-tls is limit with it: each run has an
// authority of its own for their certificates. They are measured along with the plain ones for
// throughput and hand-offs, without think times, drain and hold.
//
// # Children
//
// A child is this very program, started again with a hidden command. Its standard input
// is a leash: the bench gives its orders there (tell what you have used, collect your
// garbage, run on one CPU), and when it ends, because the bench has closed it or has died
// by any signal, the child ends at once; the echo server removes the bench's folder
// before. So nothing is left behind, though no child is asked to leave in good order.
//
// # One CPU
//
// Where one worker is measured, this process, the servers and the echo server share one
// CPU, and Go runs one goroutine at a time in each program of ours. On two CPUs the figure would mostly be
// how long an idle CPU takes to wake, which says nothing about the software and differs
// from machine to machine. Linux alone lets a process choose its CPUs; elsewhere the rows
// are measured as they come, and the JSON says so.
package target
