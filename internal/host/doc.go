// Package host makes this process a member: membership, spaces and sessions wired
// together, and a holdfast.Locker over them.
//
//	locks, err := host.Start(ctx, host.Config{})
//	defer locks.Close()
//	lock, err := locks.Lock(ctx, "orders/42")
//
// An uncontended lock is decided on the caller's goroutine, without a message or a
// goroutine hop.
//
// With Config.Join it is a member of a cluster: a founder where Config.Expect says how
// many there are, which votes, or a guest, which does not. Either takes locks like any
// other member, whichever of them decides; what it holds ends with its lease if the
// others cannot be reached. It listens for them by itself (Config.Listen), or a server
// does on the port of its clients (Config.Peers).
//
//	n, err := host.Start(ctx, host.Config{Listen: "10.0.0.7:4040", Join: founders})
//	err = n.WaitReady(ctx)
//
// Start does not wait for the others. Leave and Drain end a member in good order, and
// Close comes after them. Where a server serves clients beside the node it is shut down
// between the two, so that clients can still say that they have stopped.
//
// With Config.Data it keeps what spaces of protocol consensus have on the disk, and who it is: locks of clients outside
// the process are held after it has started again. The folder knows which member's it is and which protocol each
// space has. When its disk fails the member cannot go on (Unfit).
//
// Where a majority of the founders is lost for good, Force goes on without it, on the
// word of an operator who has read PlanForce. Nothing else may call it.
//
// A member that also serves clients outside its process (Config.Serves) makes
// promises that outlive the process, so it keeps a stable cell in Config.State, or
// waits out what a forgotten life may have promised whenever it starts. A member
// that serves none needs neither: its holders end with it. Only its tokens then rest
// on the wall clock not having been set back between two lives. A member whose place a
// later life has taken, from a copy of that folder or from a later state of it, ends
// (Unfit) and marks its folder; Start refuses a marked folder.
package host
