// Package cluster has nothing but tests: clusters of real processes, hurt in the ways
// that the simulator hurts its own, and judged by what the workers of internal/test/clustertest
// report (no worker's stay overlaps another's, tokens rise, no write out of order).
//
//	harness_test.go             a cluster, and workers through all of its members
//	killed_test.go          SIGKILL and SIGTERM, asked of several protocols: who holds, waits, decides
//	crash_test.go           SIGKILL: the coordinator, all members
//	grantor_test.go         SIGKILL: the grantor, the elder, both
//	holding_on_test.go      SIGKILL: a member that keeps names
//	bakery_test.go          SIGKILL: the leader of each rank, which comes back with nothing
//	consensus_test.go       leaders, all members, each in turn and in good order, one without a place: nothing is lost
//	consensus_linux_test.go the leader cut off, its disk full
//	voters_test.go          a voter for good, whose vote a spare gets; who leads which shard
//	transfer_test.go        grantorship in a circle, under load
//	stop_test.go            SIGSTOP for three leases: a member, the coordinator, a holder
//	trace_test.go          what members record, replayed
//	watch_test.go           what happens through any member, watched at one
//	leave_test.go           leaving in good order, a rolling restart
//	network_linux_test.go  members in network namespaces of their own, links cut
//	figures_test.go         what an operator asks: how long does it take
//	gap_test.go             the same of leaders, beyond the detection of their failure
//
// Each test looks whether its fault has happened: at the process's state and its exit
// status, at the link, at the route. None of them judges by time: on a machine that is
// starved a member's lease may lapse without any fault, and all that must hold
// then does. One that asserts that a lock is held throughout has a lease that such a machine
// keeps (steady). Those that need root, or the ip command, say so when they skip.
//
// # Figures
//
// The tests of figures_test.go run a small slice by default, with workers that are slow, and
// report what they measure in their log. In full:
//
//	go test ./cmd/holdfast/cluster -v -run TestGap -stay 5ms -lease 3s -crashes 20
//	go test ./cmd/holdfast/cluster -v -run TestGrantorGap -stay 5ms -lease 3s -crashes 20
//	go test ./cmd/holdfast/cluster -v -run TestLeaderGap -stay 5ms -lease 3s -crashes 30
//	go test ./cmd/holdfast/cluster -v -run TestLastingGap -stay 5ms -lease 3s -crashes 40
//	go test ./cmd/holdfast/cluster -v -run TestTransferGap -stay 5ms -transfers 1000
//	go test ./cmd/holdfast/cluster -v -run TestReconcile -lease 3s -held 100000
//	go test ./cmd/holdfast/cluster -v -run TestFirstView -lease 3s -members 3,5,7,25
package cluster
