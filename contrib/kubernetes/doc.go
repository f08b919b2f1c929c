// Package kubernetes is a lock for the leader election of k8s.io/client-go, resourcelock.Interface over Holdfast: the
// LeaderElector of client-go, and what is built on it, elects its leader by a Holdfast lock in place of a Lease.
//
//	lock, err := holdfastkube.New(holdfastkube.Config{Locks: locks, Name: "scheduler", Identity: pod})
//	if err != nil {
//		return err
//	}
//	lead := func(context.Context) { work(lock.Granted().Context(), lock.Granted().Token()) }
//	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
//		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
//		ReleaseOnCancel: true, Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: stopped},
//	})
//
// holdfastkube is this package. The locks are those of any [holdfast.Locker] that can be observed, as those of Holdfast
// can.
//
// # What the fencing token gives that a Lease does not
//
// client-go says of its leader election over a Lease that it "does not guarantee that only one client is acting as a
// leader (a.k.a. fencing)". A leader that was paused, and goes on after its lease ran out, still believes that it leads
// until it looks at its clock. What it writes until then is accepted: a Lease has nothing that others could compare. Its
// leaderTransitions count changes of the record, and nothing checks them.
//
// Here each leadership has a token ([Lock.Granted], then Token), larger than those of all leaderships before it. A resource
// that keeps the largest token which it has seen refuses the late writer, however long the pause was. This works only
// where the leader's writes carry the token and the resource compares it. The API server of Kubernetes does not: what is
// written there is protected by resourceVersion alone.
//
// Besides, the context of the lock ends before another candidate can lead, by the clock of the session rather than by
// the timers of client-go: work under it stops at the loss of the lock. The LeaderElector itself stops up to
// RenewDeadline later, for it tries to renew until then. If the leader dies, the next one need not wait for the
// LeaseDuration: the name is free when the session has ended. Two candidates with the same identity never lead at the
// same time, which with a Lease they do.
//
// # How it works
//
// The election record is the value of the lock (see [holdfast.Value]): listings of locks show it. To take part is to
// try the lock; each renewal extends the hold limit of the lock, the LeaseDuration, and replaces the value. A leader that
// renews no more has lost the lock after that time, even if its process and its session live on. Candidates read the
// record of the leader with [holdfast.Observer].
//
// Use ReleaseOnCancel: the lock is free as soon as the leader stops, and the other candidates find that at their next
// RetryPeriod. Without it they wait for the LeaseDuration.
//
// After a loss a [Lock] does not take part for one LeaseDuration, so that the LeaderElector notices the loss: else it
// could lead again at once, as if it had led all the time, although another candidate has led in between.
package kubernetes
