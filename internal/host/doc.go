// Package host runs a member in this process: package internal/member makes its machines, package internal/run
// drives them, and this package gives them what they need of the process: the stable cell, the data folder, the links to
// other members, the clock. It also makes the Locker of the process itself.
//
//	member, err := host.Start(ctx, host.Config{})
//	defer member.Close()
//	lock, err := member.Lock(ctx, "orders/42")
//
// Package node shows a part of it to users; the daemon puts a server of clients in front of it (package
// internal/server), which uses its Driver.
//
// An uncontended lock is decided on the caller's goroutine, without a message or a goroutine hop (locker.go,
// local.go, unlock.go).
//
// With Config.Join the member is one of a cluster: a founder where Config.Expect says how many there are, which votes, or a
// guest, which does not. It listens for the others by itself (Config.Listen), or a server does on the port of its
// clients (Config.Peers). Start does not wait for the others (WaitReady does). Leave and Drain end a member in good
// order, and Close comes after them. A server is shut down between the two, so that its clients can still say that they have
// stopped.
//
// With Config.Data the member keeps what spaces of protocol consensus decide, and its identity (data.go, data_spaces.go). The folder
// knows which member it belongs to and which protocol each space has. A member whose disk fails cannot go on (Unfit).
//
// A member that also serves clients outside its process (Config.Serves) makes promises that outlive the
// process. So it keeps a stable cell in Config.State, or waits at each start for what a forgotten life may have
// promised. A member that serves none needs neither: its holders end with it. Its tokens then rest on the wall
// clock not having been set back between two lives. A member whose place a later life has taken, from a copy of that
// folder or from a later state of it, ends (Unfit) and marks its folder; Start refuses a marked folder
// (superseded.go).
//
// Where a quorum of the founders is lost for good, Force makes a view without it, by the order of an operator who has read
// PlanForce (force.go, force_plan.go). A snapshot becomes a data folder again by Restore (restore.go).
package host
