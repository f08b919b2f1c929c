// Package node makes this process a member, and provides a holdfast.Locker over the member's lockspaces.
//
//	locks, err := node.Start(ctx, node.Config{})
//	defer locks.Close()
//	lock, err := locks.Lock(ctx, "orders/42")
//
// The caller's goroutine decides an uncontended lock, without a message.
//
// With Config.Join the process is a member of a cluster. It is a founder, which votes, if Config.Expect gives the
// number of founders, and a guest, which does not vote, if Expect is zero. Founders and guests take locks in the same
// way, no matter which member decides. If a member cannot reach the others, its locks end with its lease. The member
// listens for the others at Config.Listen.
//
//	n, err := node.Start(ctx, node.Config{Listen: "10.0.0.7:4040", Join: founders})
//	err = n.WaitReady(ctx)
//
// Start does not wait for the other members. To end a member cleanly, call Leave or Drain before Close.
//
// With Config.Data the member keeps its identity, and the decisions of spaces of protocol consensus, on disk. The
// folder records its member and the protocol of each space. A member whose disk fails cannot continue (Unfit). If a
// member's folder was copied or restored, the member ends when a later life has taken its place, and marks the folder;
// Start refuses a marked folder.
//
// A member without Data and State forgets its earlier lives: its locks ended with the process. Its tokens rise from one
// life to the next as long as the wall clock is not set back.
//
// If a quorum of the founders is permanently lost, Force forms a view without it. An operator makes that decision,
// after reading PlanForce's result.
package node
