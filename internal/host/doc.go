// Package host runs a member in this process: package internal/member makes its machines, package internal/run drives
// them, and this package provides their environment: the stable cell, the data folder, the links to other members, the
// clock. It also provides the process's own Locker.
//
//	member, err := host.Start(ctx, host.Config{})
//	defer member.Close()
//	lock, err := member.Lock(ctx, "orders/42")
//
// Package node exposes a part of it to users; the daemon adds a server for clients (package internal/server), which
// uses its Driver.
//
// An uncontended lock is decided on the caller's goroutine, without a message or a goroutine hop (locker.go, local.go,
// unlock.go).
//
// With Config.Join the member is part of a cluster: a founder, which votes, if Config.Expect gives their number, or a
// guest, which does not. It listens for the others itself (Config.Listen), or a server does on its client port
// (Config.Peers). Start does not wait for the others (WaitReady does). Leave and Drain end a member in an orderly way;
// call Close after them. A server is shut down between the two, so that its clients can still confirm that they have
// stopped.
//
// With Config.Data the member stores the decisions of spaces of protocol consensus, and its identity (data.go,
// data_spaces.go). The folder records its member and the protocol of each space. A member whose disk fails cannot
// continue (Unfit).
//
// A member that also serves clients outside its process (Config.Serves) makes promises that outlive the process. So it
// keeps a stable cell in Config.State, or waits at each start until the promises of a forgotten life have run out. A
// member that serves no others needs neither: its holders end with it. Its tokens then rely on the wall clock not being
// set back between two lives. A member that a later life has replaced, from a copy of that folder or from a later state
// of it, ends (Unfit) and marks its folder; Start refuses a marked folder (superseded.go).
//
// If a quorum of the founders is lost permanently, Force makes a view without it, by order of an operator who has read
// PlanForce (force.go, force_plan.go). Restore turns a snapshot into a data folder (restore.go).
package host
