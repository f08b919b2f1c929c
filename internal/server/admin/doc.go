// Package admin carries out operators' requests about a whole lockspace through one member: transfer its authority,
// suspend and resume grants, close and open the space's instance at that member.
//
//	o, err := admin.New(admin.Config{Driver: driver, View: view, Spaces: spaces})
//	authority, err := o.Transfer(ctx, "billing", "b")
//	suspended, err := o.Suspend(ctx, admin.Order{Space: "billing", Reason: "restore", By: "ops", Wait: time.Minute})
//	resumed, err := o.Resume(ctx, admin.Order{Space: "billing", By: "ops"})
//
// It also changes the voters of a space that has them ([Service.Reform]).
//
// Transfer, open and close are calls of the space's machine. A [Service] adds the names: it maps a space to its port,
// and members to their ids in the view.
//
// A suspension is more than a call, because a session must hold it: it is the exclusive lock of the name
// [lock.SpaceLock], and like every lock it belongs to a session. A Service opens one, of the member's own process, when
// it suspends a space for the first time. So a suspension survives the loss of the authority as a lock does; it ends
// when an operator resumes the space through any member, when the member through which it was requested ends, or when
// that member is cut off from the others until its lease runs out. Its owner is [Owner], so the next operator's request
// finds the space suspended already and need not repeat it. Programs may suspend a space too, as other owners.
//
// Resume breaks the lock, whichever session holds it. Its holder gets the revocation of any broken lock; a Service
// gives the lock up at once, so no client has to wait.
//
// Close releases the suspensions that are held.
package admin
