package soak

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Sample is one look at everything.
type Sample struct {
	At        time.Duration // since the soak began
	Processes []Process     // the servers', and this one last

	Sessions, Locks, Waiters int // of the lockspace

	Turns              uint64 // of all kinds so far, complete ones
	Violations, Errors uint64 // so far
}

// Result is what a soak has found out.
type Result struct {
	Samples     []Sample
	Counts      map[Kind]uint64 // complete turns
	Violations  uint64
	Errors      uint64
	FirstError  error
	Took        time.Duration
	Interrupted bool // it was ended before its time
}

// sampleLimit is how long a look may take.
const sampleLimit = 10 * time.Second

// look takes samples until the load ends, and one then: what it has by then is complete, for
// a look is not given up with the load.
func (r *run) look(loading context.Context, result *Result) {
	ticks := time.NewTicker(r.Every)
	defer ticks.Stop()
	for running := true; running; {
		select {
		case <-ticks.C:
		case <-loading.Done():
			running = false
		}
		sample, err := r.sample(context.WithoutCancel(loading))
		if err != nil {
			r.fail(fmt.Errorf("look at the servers: %w", err))
			continue
		}
		result.Samples = append(result.Samples, sample)
		r.Told(sample)
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
			s.Sessions, s.Locks, s.Waiters = space.Sessions, space.Locks, space.Waiters
		}
	}
	for _, count := range r.counted() {
		s.Turns += count
	}
	s.At, s.Violations, s.Errors = time.Since(r.begun), r.violations.Load(), r.errors.Load()
	return s, nil
}

func joined(addresses []string) string { return strings.Join(addresses, ",") }
