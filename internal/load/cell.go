package load

import (
	"fmt"
	"slices"
	"time"
)

// The workloads.
const (
	Uncontended = "uncontended" // each worker on its own names
	Hot         = "hot"         // all workers on one name
	Drain       = "drain"       // many wait for a held name, which is then released
	Hold        = "hold"        // many locks are taken and kept
)

// Workloads lists them in the order in which they are run.
func Workloads() []string { return []string{Uncontended, Hot, Drain, Hold} }

// Cell is one measurement to make of each target.
type Cell struct {
	Workload string
	Workers  int           // with Drain, the waiters
	Think    time.Duration // how long a worker keeps each lock
}

// alone reports whether there is one worker, which shares its CPU with the servers.
func (c Cell) alone() bool { return c.Workers == 1 }

// String returns the cell in the form for progress.
func (c Cell) String() string {
	text := fmt.Sprintf("%s, %d workers", c.Workload, c.Workers)
	switch {
	case c.Workload == Drain:
		text = fmt.Sprintf("%s, %d waiters", c.Workload, c.Workers)
	case c.alone():
		text = c.Workload + ", 1 worker"
	}
	if c.Think > 0 {
		text += fmt.Sprintf(", each lock kept for %v", c.Think)
	}
	return text
}

// cells lists the cells of a configuration: first the timed ones, with think times last, then hold, which needs fresh
// servers.
func (c *Config) cells() (timed, held []Cell) {
	idle := slices.Contains(c.Think, 0)
	for _, workload := range Workloads() {
		switch {
		case !slices.Contains(c.Workloads, workload):
		case workload == Drain:
			timed = append(timed, Cell{Drain, c.Waiters, 0})
		case workload == Hold:
			held = append(held, Cell{Hold, holders, 0})
		case idle:
			for _, workers := range c.workersOf(workload) {
				timed = append(timed, Cell{workload, workers, 0})
			}
		}
	}
	for _, think := range c.Think {
		for _, workload := range []string{Uncontended, Hot} {
			if think > 0 && slices.Contains(c.Workloads, workload) {
				timed = append(timed, Cell{workload, c.thinkers(workload), think})
			}
		}
	}
	return timed, held
}

// workersOf returns the numbers of workers for a workload.
func (c *Config) workersOf(workload string) []int {
	switch {
	case len(c.Workers) > 0:
		return c.Workers
	case workload == Hot:
		return []int{1, 8, 64}
	}
	return []int{1, 64, 512}
}

// thinkers returns the number of workers with think times: the smallest, but on a hot name more than one if possible,
// or no worker would wait.
func (c *Config) thinkers(workload string) int {
	workers := slices.Sorted(slices.Values(c.workersOf(workload)))
	if i := slices.IndexFunc(workers, func(n int) bool { return n > 1 }); workload == Hot && i >= 0 {
		return workers[i]
	}
	return workers[0]
}
