// Package elect elects a leader among the programs that campaign for a name: one of them leads at a time, and the next
// one in order follows when it resigns, loses its leadership or dies.
//
//	err := elect.Run(ctx, locks, "scheduler", func(ctx context.Context, term elect.Term) error {
//		return work(ctx, term.Token()) // ctx ends when the leadership does, before another candidate leads
//	}, elect.Value("http://10.0.0.7:8080"))
//
// A leadership is a lock, so an election works over each [holdfast.Locker]: over the network, inside a member, over a
// store. What the lock promises, the election does:
//
//   - The context of a [Term] ends before another candidate leads. A leader that was paused, and wakes after that, may
//     act before it looks at the context; a resource that compares [Term.Token] refuses it.
//   - Candidates lead in the order in which they have asked. One whose process dies or stalls holds up the others for as
//     long as its session lives, and no longer.
//   - A leader that resigns hands over at once.
//
// The value of a candidate, an address for example, is published with its leadership; see [holdfast.Value]. [Observe]
// shows the leader and each change to all that want to know:
//
//	for leader, err := range elect.Observe(ctx, locks, "scheduler") {
//		if err != nil {
//			return err
//		}
//		use(leader.Value) // "" while there is no leader
//	}
//
// run.go has [Run], term.go campaigns and their terms, observe.go observers, and options.go the options.
package elect
