package soak

import (
	"context"
	"fmt"
	"time"
)

// Sample is one sample of everything.
type Sample struct {
	At        time.Duration // since the soak began
	Processes []Process     // the servers', followed by this one

	Sessions, Locks, Waiters int // of the lockspace: sessions with holds or waits

	Turns              uint64 // of all kinds so far, complete ones
	Violations, Errors uint64 // so far
	FirstError         error  // nil if there is none
}

// Result is the result of a soak.
type Result struct {
	Samples     []Sample
	Counts      map[Kind]uint64 // complete turns
	Violations  uint64
	Errors      uint64
	FirstError  error
	Took        time.Duration
	Interrupted bool // it ended early
}

// sampleLimit is the time limit of a sample.
const sampleLimit = 10 * time.Second

// look takes samples until the time is over or the load ends. If that is before the first was due, it still takes one.
func (r *run) look(loading context.Context, result *Result) {
	ticks, end := time.NewTicker(r.Every), time.NewTimer(r.Duration)
	defer ticks.Stop()
	defer end.Stop()
	for running := true; running; {
		select {
		case <-ticks.C:
		case <-end.C:
			running = false
		case <-loading.Done():
			running = false
		}
		if !running && len(result.Samples) > 0 {
			return
		}
		sample, err := r.sample(context.WithoutCancel(loading))
		if err != nil {
			r.fail(fmt.Errorf("look at the servers: %w", err))
			continue
		}
		result.Samples = append(result.Samples, sample)
		r.OnSample(sample)
	}
}

func (r *run) sample(ctx context.Context) (s Sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	if s.Processes, err = r.Cluster.Sample(ctx); err != nil {
		return s, err
	}
	s.Processes = append(s.Processes, r.Own())
	status, err := r.admin.Status(ctx)
	if err != nil {
		return s, err
	}
	for _, space := range status.Spaces {
		if space.Name == r.Space {
			s.Sessions, s.Locks, s.Waiters = int(space.Sessions), int(space.Locks), int(space.Waiters)
		}
	}
	for _, count := range r.counted() {
		s.Turns += count
	}
	s.At, s.Violations = time.Since(r.begun), r.violations.Load()
	s.Errors, s.FirstError = r.failures()
	return s, nil
}
