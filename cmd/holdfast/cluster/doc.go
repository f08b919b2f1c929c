// Package cluster contains only tests: clusters of real processes, with the same faults as in the simulator, judged by
// the reports of the workers of internal/test/clustertest (no worker's stay overlaps another's, tokens rise, no write
// out of order).
//
//	harness_test.go             a cluster, with workers at all members
//	killed_test.go          SIGKILL and SIGTERM in several protocols: holders, waiters, authorities
//	crash_test.go           SIGKILL: the coordinator, all members
//	grantor_test.go         SIGKILL: the grantor, the elder, both
//	holding_on_test.go      SIGKILL: a member that retains names
//	bakery_test.go          SIGKILL: the leader of each rank, which restarts without state
//	consensus_test.go       leaders, all members, each in turn and orderly, one without a place: no loss
//	consensus_linux_test.go the leader cut off, its disk full
//	voters_test.go          a permanently lost voter, replaced by a spare; leaders of shards
//	transfer_test.go        grantorship in a circle, under load
//	stop_test.go            SIGSTOP for three leases: a member, the coordinator, a holder
//	trace_test.go          recordings of members, replayed
//	watch_test.go           events of all members, watched at one
//	leave_test.go           orderly leave, a rolling restart
//	network_linux_test.go  members in separate network namespaces, links cut
//	elections_linux_test.go leaders killed, paused, cut off and resigning; observers at all members
//	candidate_test.go       the process of a candidate
//	figures_test.go         durations that matter to operators
//	gap_test.go             the same for leaders, less the detection of their failure
//
// Each test verifies that its fault has happened: by the process's state and exit status, the link, the route. None
// judges by time: on an overloaded machine a member's lease may lapse without any fault, and all guarantees still hold.
// A test that asserts a lock held throughout uses a lease that such a machine can keep (steady). Tests that need root,
// or the ip command, report that when they skip.
//
// # Figures
//
// The tests of figures_test.go run a small slice by default, with slow workers, and report their measurements in the
// log. In full:
//
//	go test ./cmd/holdfast/cluster -v -run TestGap -stay 5ms -lease 3s -crashes 20
//	go test ./cmd/holdfast/cluster -v -run TestGrantorGap -stay 5ms -lease 3s -crashes 20
//	go test ./cmd/holdfast/cluster -v -run TestLeaderGap -stay 5ms -lease 3s -crashes 30
//	go test ./cmd/holdfast/cluster -v -run TestLastingGap -stay 5ms -lease 3s -crashes 40
//	go test ./cmd/holdfast/cluster -v -run TestTransferGap -stay 5ms -transfers 1000
//	go test ./cmd/holdfast/cluster -v -run TestReconcile -lease 3s -held 100000
//	go test ./cmd/holdfast/cluster -v -run TestElections -elections 200 -timeout 60m
//	go test ./cmd/holdfast/cluster -v -run TestFirstView -lease 3s -members 3,5,7,25
package cluster
