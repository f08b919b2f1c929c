// Package node makes this process a member: membership, spaces and sessions wired
// together, and a holdfast.Locker over them.
//
//	locks, err := node.Start(ctx, node.Config{})
//	defer locks.Close()
//	lock, err := locks.Lock(ctx, "orders/42")
//
// An uncontended lock is decided on the caller's goroutine, without a message or a
// goroutine hop.
//
// A member that also serves clients outside its process (Config.Serves) makes
// promises that outlive the process, so it keeps a stable cell in Config.State, or
// waits out what a forgotten life may have promised whenever it starts. A member
// that serves none needs neither: its holders end with it. Only its tokens then rest
// on the wall clock not having been set back between two lives.
package node
