package stored

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/sim"
)

// Config describes an exploration.
type Config struct {
	// Protocol is the protocol of the processes: one over a store, with the options of package claim. Without a name it
	// is the first production protocol of that kind.
	Protocol sim.Protocol
	// CAS takes locks by conditional writes.
	CAS bool
	// HoldOn is how long a process keeps a released lock, with CAS: 1 ms to 6 ms, a tenth of the expiry. Zero means not
	// at all.
	HoldOn time.Duration
	// Watch makes the store report changes. Otherwise waiting claims read their row again and again.
	Watch bool
	// Values lets each request have a value, which its user replaces once when it has the lock.
	Values bool
	// Calls is how often each of the two users locks. Zero means 2.
	Calls int
	// Slow is the number of requests in a run that are not executed and answered at once: 0 to 2.
	Slow int
	// Crashes is the number of processes that crash in a run, at any of their steps, and start again under another
	// name: 0 to 2. Their requests to the store take effect, and their data there remains.
	Crashes int
	// Spread is the maximum number of quanta between the first locks of the two. Zero means 10.
	Spread int
}

// Check fills in defaults. The error names the wrong value and the allowed ones.
func (c *Config) Check() error {
	if c.Protocol.Name == "" {
		all := sim.Protocols()
		c.Protocol = all[slices.IndexFunc(all, func(p sim.Protocol) bool { return p.Stores })]
	}
	c.Calls, c.Spread = cmp.Or(c.Calls, 2), cmp.Or(c.Spread, 10)
	switch {
	case !c.Protocol.Stores:
		return fmt.Errorf("stored: protocol %s asks no store; one that does is allowed", c.Protocol.Name)
	case c.Calls < 1 || c.Calls > 4:
		return fmt.Errorf("stored: Calls is %d; 1 to 4 is allowed", c.Calls)
	case c.Slow < 0 || c.Slow > 2:
		return fmt.Errorf("stored: Slow is %d; 0 to 2 is allowed", c.Slow)
	case c.Crashes < 0 || c.Crashes > 2:
		return fmt.Errorf("stored: Crashes is %d; 0 to 2 is allowed", c.Crashes)
	case c.HoldOn != 0 && (!c.CAS || c.HoldOn < quantum || c.HoldOn > expiry/10):
		return fmt.Errorf("stored: HoldOn is %v with CAS %v; 0 is allowed, and with CAS %v to %v", c.HoldOn, c.CAS, quantum, expiry/10)
	case c.Spread < 1 || c.Spread > 100:
		return fmt.Errorf("stored: Spread is %d; 1 to 100 is allowed", c.Spread)
	}
	return nil
}

// String lists the bounds.
func (c *Config) String() string {
	keeps, values := "", ""
	if c.Values {
		values = " values"
	}
	if c.HoldOn != 0 {
		keeps = fmt.Sprintf(" hold_on=%v", c.HoldOn)
	}
	return fmt.Sprintf("2 processes x %d locks, cas=%v%s%s watch=%v slow=%d crashes=%d spread=%d; W is %d quanta, the skew %d",
		c.Calls, c.CAS, keeps, values, c.Watch, c.Slow, c.Crashes, c.Spread, wait/quantum, skew/quantum)
}

// Report is the result of an exploration.
type Report struct {
	Config  Config
	Runs    int
	Steps   int    // of machines
	Stopped bool   // ended before all runs were played
	Found   *Found // nil if no promise is broken
	Elapsed time.Duration
}

// Found is a run that breaks a promise.
type Found struct {
	Promise, Detail string
	Choices         []int // the choices that lead to it: see Play
}

// Explore plays all runs, on a number of processors, until a promise is broken or ctx ends.
func Explore(ctx context.Context, c Config, jobs int) (Report, error) {
	if err := c.Check(); err != nil {
		return Report{}, err
	}
	r := Report{Config: c}
	began := time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	var stop atomic.Bool
	// The first choices are distributed: each is a part of the search.
	parts := make(chan int)
	for range max(1, jobs) {
		group.Go(func() {
			for first := range parts {
				runs, steps, found := search(ctx, &c, first, &stop)
				mu.Lock()
				r.Runs, r.Steps = r.Runs+runs, r.Steps+steps
				if found != nil && r.Found == nil {
					r.Found = found
				}
				mu.Unlock()
			}
		})
	}
	for first := range c.starts() {
		parts <- first
	}
	close(parts)
	group.Wait()
	r.Stopped = ctx.Err() != nil
	r.Elapsed = time.Since(began)
	return r, nil
}

// starts is the number of possible offsets between the first locks.
func (c *Config) starts() int { return 2*c.Spread + 1 }

// search plays all runs that begin with a choice, like an odometer: it raises the last choice that is not at its end,
// and resets those after it.
func search(ctx context.Context, c *Config, first int, stop *atomic.Bool) (runs, steps int, found *Found) {
	path := []int{first}
	for ctx.Err() == nil && !stop.Load() {
		w, err := play(c, path)
		runs, steps = runs+1, steps+w.steps
		if err != nil {
			stop.Store(true)
			return runs, steps, &Found{Promise: err.promise, Detail: err.detail, Choices: w.chosen()}
		}
		if path = w.next(); path == nil {
			break
		}
	}
	return runs, steps, nil
}

// next returns the choices of the next run of the same part, or nil.
func (w *world) next() []int {
	at := len(w.choices) - 1
	for at > 0 && w.choices[at].value+1 == w.choices[at].of {
		at--
	}
	if at == 0 {
		return nil
	}
	path := w.chosen()[:at+1]
	path[at]++
	return path
}

// Play plays one run, and returns its events, for people.
func Play(c Config, choices []int) ([]string, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	w, broken := tellingly(&c, choices)
	if broken != nil {
		w.say("%s: %s", broken.promise, broken.detail)
	}
	return w.lines, nil
}
