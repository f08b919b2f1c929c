// Package admin does what operators ask of a whole lockspace through one member:
// hand its authority over, stop new grants and let them go on, end and begin the space's
// instance at that member.
//
//	o, err := admin.New(admin.Config{Driver: driver, View: view, Spaces: spaces})
//	authority, err := o.Transfer(ctx, "billing", "b")
//	suspended, err := o.Suspend(ctx, admin.Order{Space: "billing", Reason: "restore", By: "ops", Wait: time.Minute})
//	resumed, err := o.Resume(ctx, admin.Order{Space: "billing", By: "ops"})
//
// It changes who votes in a space whose members do ([Service.Reform]), too.
//
// Handing over, opening and closing are calls of the space's machine. What a [Service]
// adds is the names: of the space, which becomes a port, and of members, whose ids the view
// knows.
//
// A suspension is more than a call, because a session must hold it: it is the exclusive
// lock of the name [lock.SpaceLock], and like every lock it belongs to a session. A Service
// opens one, of the member's own process, when it suspends a space for the first time. So a
// suspension survives the loss of the authority as a lock does; it ends when it is resumed
// through any member, when the member through which it was asked for ends, or when
// that is cut off from the others until its lease has run out. It is asked for by the owner
// [Owner], and that is how one operator's suspension is known to the next, who need not ask
// again: the space is suspended already. Programs may suspend a space too, as other owners.
//
// Resume breaks the lock, whichever session holds it. Its holder gets the revocation of any broken
// lock; a Service gives the lock up at once, so that no client need wait.
//
// Close gives up what is held.
package admin
