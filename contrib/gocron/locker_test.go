package gocron_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/holdfast-locks/holdfast"
	holdfastcron "github.com/holdfast-locks/holdfast/contrib/gocron"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // inside a synctest bubble
	synctest.Wait()
}

// TestOncePerTick checks that the job of five schedulers runs once per tick: one that lasts a while and one that ends at
// once, while the schedulers reach each tick at the same time, or up to 400 ms apart.
func TestOncePerTick(t *testing.T) {
	for name, tt := range map[string]struct{ lasts, apart time.Duration }{
		"together":             {0, 0},
		"apart":                {0, 100 * time.Millisecond},
		"long and apart":       {30 * time.Second, 100 * time.Millisecond},
		"long and together":    {30 * time.Second, 0},
		"shorter than the gap": {50 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks := holdfasttest.New(t)
				all := &record{t: t}
				for _, scheduler := range names(5) {
					locker := holdfastcron.NewLocker(locks.Client(scheduler), holdfastcron.OnLoss(func(job string, err error) {
						t.Errorf("%s: %v", job, err)
					}))
					start(t, gocron.WithDistributedLocker(locker), func() {
						all.began(scheduler, locker.Held("report").Token())
						spend(tt.lasts)
						all.ended()
					})
					spend(tt.apart)
				}
				pass(10*time.Minute + 40*time.Second)
				runs, tokens := all.take()
				if len(runs) != 10 {
					t.Errorf("%d runs in 10 ticks: %q", len(runs), runs)
				}
				if !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != len(runs) {
					t.Errorf("the tokens are %v", tokens)
				}
			})
		})
	}
}

// spend lets time pass in a bubble, without a look at the other goroutines.
func spend(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // inside a synctest bubble
}

// TestTheirs has the assertions of gocron's own TestScheduler_WithDistributed: of three schedulers with a job that runs
// once and at once, one runs it and two are refused.
func TestTheirs(t *testing.T) {
	for name, options := range map[string]func(gocron.Locker) (gocron.SchedulerOption, []gocron.JobOption){
		"locker": func(l gocron.Locker) (gocron.SchedulerOption, []gocron.JobOption) {
			return gocron.WithDistributedLocker(l), nil
		},
		"job": func(l gocron.Locker) (gocron.SchedulerOption, []gocron.JobOption) {
			return gocron.WithLocation(time.UTC), []gocron.JobOption{gocron.WithDistributedJobLocker(l)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks := holdfasttest.New(t)
				all := &record{t: t}
				var mu sync.Mutex
				refused := 0
				for _, scheduler := range names(3) {
					scheduling, job := options(holdfastcron.NewLocker(locks.Client(scheduler)))
					job = append(job, gocron.WithStartAt(gocron.WithStartImmediately()), gocron.WithLimitedRuns(1),
						gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) {
							mu.Lock()
							defer mu.Unlock()
							if refused++; !errors.Is(err, holdfast.ErrHeld) {
								t.Error(err)
							}
						})))
					start(t, scheduling, func() {
						all.began(scheduler, 1)
						all.ended()
					}, job...)
				}
				pass(time.Second)
				if runs, _ := all.take(); len(runs) != 1 || refused != 2 {
					t.Errorf("%d runs, %d refusals", len(runs), refused)
				}
			})
		})
	}
}

// TestLoss checks that a job sees the loss of its lock, and that it is reported, in and after the run.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		reported := make(chan error, 2)
		locker := holdfastcron.NewLocker(locks, holdfastcron.Least(time.Minute), holdfastcron.With(holdfast.Reason("a job")),
			holdfastcron.OnLoss(func(job string, err error) {
				if job != "report" {
					t.Errorf("the loss of job %q", job)
				}
				reported <- err
			}))
		if locker.Held("report") != nil {
			t.Error("a lock before the run")
		}
		run, err := locker.Lock(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		held := locker.Held("report")
		if held == nil || held.Check() != nil {
			t.Fatalf("the lock of the run is %v", held)
		}
		locks.Expire()
		if held.Context().Err() == nil {
			t.Error("the context of the run goes on after the loss")
		}
		if err := run.Unlock(t.Context()); holdfast.Why(err) != holdfast.SessionExpired || holdfast.Why(<-reported) != holdfast.SessionExpired {
			t.Errorf("the run ends with %v", err)
		}
		if locker.Held("report") != nil {
			t.Error("a lock after the run")
		}
		if run, err = locker.Lock(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		if err := run.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		locks.Break("report")
		if holdfast.Why(<-reported) != holdfast.Broken {
			t.Error("a loss after the run, before the release, is not reported")
		}
	})
}

// TestLeast checks when a lock is released, and that a bad time is refused.
func TestLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		other := holdfastcron.NewLocker(locks.Client("other"), holdfastcron.Least(0))
		for _, tt := range []struct{ least, lasts, until time.Duration }{
			{time.Minute, time.Second, time.Minute}, {time.Minute, 2 * time.Minute, 2 * time.Minute}, {0, 0, 0},
		} {
			run, err := holdfastcron.NewLocker(locks, holdfastcron.Least(tt.least)).Lock(t.Context(), "report")
			if err != nil {
				t.Fatal(err)
			}
			pass(tt.lasts)
			// gocron releases with the context of the job, which ends with the scheduler.
			ctx, cancel := context.WithCancel(t.Context())
			if err := run.Unlock(ctx); err != nil {
				t.Error(err)
			}
			cancel()
			if tt.until > tt.lasts {
				pass(tt.until - tt.lasts - 1)
				if _, err := other.Lock(t.Context(), "report"); !errors.Is(err, holdfast.ErrHeld) {
					t.Errorf("%+v: before the end: %v", tt, err)
				}
				pass(1)
			}
			next, err := other.Lock(t.Context(), "report")
			if err != nil {
				t.Fatalf("%+v: %v", tt, err)
			}
			if err := next.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
		_, err := holdfastcron.NewLocker(locks, holdfastcron.Least(-1)).Lock(t.Context(), "report")
		if !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a time of less than 0: %v", err)
		}
	})
}
