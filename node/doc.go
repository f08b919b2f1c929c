// Package node makes this process a member, and gives it a holdfast.Locker over the lockspaces of that
// member.
//
//	locks, err := node.Start(ctx, node.Config{})
//	defer locks.Close()
//	lock, err := locks.Lock(ctx, "orders/42")
//
// The caller's goroutine decides an uncontended lock, without a message.
//
// With Config.Join the process is a member of a cluster. It is a founder, which votes, where Config.Expect
// says how many founders there are, and a guest, which does not vote, where Expect is zero. Founders and guests lock
// alike, whichever member decides. The locks of a member that cannot reach the others end with its lease. The member
// listens for the others at Config.Listen.
//
//	n, err := node.Start(ctx, node.Config{Listen: "10.0.0.7:4040", Join: founders})
//	err = n.WaitReady(ctx)
//
// Start does not wait for the other members. Leave and Drain end a member in good order, and Close comes
// after them.
//
// With Config.Data the member keeps its identity on disk, and what spaces of protocol consensus decide. The folder knows
// which member it belongs to and which protocol each space has. A member whose disk fails cannot go on
// (Unfit). A member whose folder was copied, or set back, ends as well when a later life of it has taken its place, and
// marks the folder; Start refuses a marked folder.
//
// A member without Data and State forgets its earlier lives: its locks ended with the process. Its tokens rise from
// one life to the next as long as the wall clock is not set back.
//
// Where a quorum of the founders is lost for good, Force makes a view without it. An operator decides that, and reads
// PlanForce first.
package node
