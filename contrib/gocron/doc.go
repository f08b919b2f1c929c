// Package gocron makes the schedulers of github.com/go-co-op/gocron/v2 in several processes run each job once. A Locker
// takes a lock for each run; an Elector lets the schedulers of one process, the leader, run all jobs.
//
//	elector := holdfastcron.NewElector(locks, "scheduler")
//	defer elector.Close()
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
//	if err != nil {
//		return err
//	}
//	_, err = scheduler.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(report))
//	scheduler.Start()
//
// holdfastcron is this package. The locks are those of any [holdfast.Locker].
//
// # Locker
//
//	gocron.NewScheduler(gocron.WithDistributedLocker(holdfastcron.NewLocker(locks)))
//
// The name of the lock is the name of the job: give each job one (gocron.WithName). A scheduler that finds it held skips
// the run. The lock lasts for the run, but at least for a while after its beginning: schedulers reach a tick at slightly
// different times, and a job that ends at once would run again at the next one to arrive. [Least] sets that while.
//
// gocron ignores how the release of a lock ends, and the context of a job does not end with its lock. So a job that must
// not run twice looks at its lock itself: [Locker.Held] has the fencing token and a context that ends with the lock, and
// [OnLoss] reports each lock that was lost before its job had ended.
//
// # Elector
//
// An [Elector] campaigns in the background (package elect). While it leads, the schedulers with it run their jobs; all
// others skip them. If the leader loses its leadership, dies or is closed, the next candidate in order leads. A run that
// has begun goes on after a loss, as gocron has no way to stop it: a job uses the context of [Elector.Term].
package gocron
