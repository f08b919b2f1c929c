package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// hotName is the name that all workers of Hot want.
const hotName = "bench/hot"

// nameCount is the number of names of Uncontended.
const nameCount = 10_000

// The phases of a timed measurement.
const (
	warming int32 = iota
	measuring
	over
)

// timed is one timed measurement: workloads Uncontended and Hot.
type timed struct {
	cell    Cell
	checker *Checker // of Hot; nil if no two workers share a name
	phase   atomic.Int32
	every   atomic.Int64 // the clock is read in one cycle of this many
	workers []*worker
	work    sync.WaitGroup
}

// worker takes one lock after the other.
type worker struct {
	number int
	locker Locker
	names  []string
	random *rand.Rand

	turn  int64
	total atomic.Int64 // cycles so far

	// While measured:
	cycles int64
	cycle  Histogram // whole; with Hot, the wait
	lock   Histogram // Lock alone
	kept   Histogram // from the grant to the release
	errors int64
	first  error // first of them
	_      [64]byte
}

// newTimed gives the workers their lockers and names.
func newTimed(ctx context.Context, client Client, cell Cell, seed uint64) (*timed, error) {
	t := &timed{cell: cell}
	t.every.Store(1)
	if cell.Workload == Hot {
		t.checker = &Checker{}
	}
	for number := range cell.Workers {
		locker, err := client.Worker(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("prepare worker %d: %w", number, err)
		}
		w := &worker{number: number, locker: locker, random: rand.New(rand.NewPCG(seed, uint64(number))), names: []string{hotName}}
		if cell.Workload == Uncontended {
			w.names = nil
			for name := number; name < max(nameCount, cell.Workers); name += cell.Workers {
				w.names = append(w.names, "bench/"+strconv.Itoa(name))
			}
		}
		t.workers = append(t.workers, w)
	}
	return t, nil
}

// start starts the workers, for warm, unmeasured.
func (t *timed) start(ctx context.Context, warm time.Duration) error {
	for _, w := range t.workers {
		t.work.Go(func() { w.work(ctx, t) })
	}
	err := backoff.Sleep(ctx, warm)
	// If a cycle takes less than a few microseconds of all CPUs, reading the clock would be a large part of it.
	if rate := float64(t.total()) / warm.Seconds(); rate > fastRate {
		t.every.Store(sparse)
	}
	return err
}

const (
	fastRate = 200_000 // cycles per second, of all workers
	sparse   = 16
)

func (t *timed) total() (cycles int64) {
	for _, w := range t.workers {
		cycles += w.total.Load()
	}
	return cycles
}

// work takes one lock after the other until the measurement is over.
func (w *worker) work(ctx context.Context, t *timed) {
	for failed := 0; failed < maxFailures && t.phase.Load() != over; {
		if err := w.once(ctx, t); err != nil {
			failed++
			w.errors++
			if w.first == nil {
				w.first = err
			}
			continue
		}
		failed = 0
	}
}

// maxFailures is the number of successive errors after which a worker gives up.
const maxFailures = 100

// once takes one lock and releases it.
func (w *worker) once(ctx context.Context, t *timed) error {
	w.turn++
	clocked := w.turn%t.every.Load() == 0
	var begun, granted, released, ended time.Time
	if clocked {
		begun = time.Now()
	}
	held, err := w.locker.Lock(ctx, w.names[w.random.IntN(len(w.names))])
	if err != nil {
		return err
	}
	if clocked {
		granted = time.Now()
	}
	if t.checker != nil {
		t.checker.Enter(w.number, held)
	}
	released = granted
	if t.cell.Think > 0 {
		time.Sleep(t.cell.Think)
		released = time.Now()
	}
	if t.checker != nil {
		t.checker.Leave(w.number)
	}
	if err := held.Unlock(ctx); err != nil {
		return err
	}
	if clocked && t.checker == nil {
		ended = time.Now()
	}
	w.total.Add(1)
	if t.phase.Load() != measuring {
		return nil
	}
	w.cycles++
	if !clocked {
		return nil
	}
	w.lock.Record(granted.Sub(begun))
	if t.checker == nil {
		w.cycle.Record(ended.Sub(begun))
	} else {
		w.cycle.Record(granted.Sub(begun))
	}
	if t.cell.Think > 0 {
		w.kept.Record(released.Sub(granted))
	}
	return nil
}

// figures returns the results of a window of time. The workers have ended.
func (t *timed) figures(window time.Duration, handoffs uint64) (f Figures, kept time.Duration, first error) {
	var cycle, lock, keeping Histogram
	var cycles, failures int64
	busiest, idlest := int64(0), t.workers[0].cycles
	for _, w := range t.workers {
		cycle.Add(&w.cycle)
		lock.Add(&w.lock)
		keeping.Add(&w.kept)
		cycles, failures = cycles+w.cycles, failures+w.errors
		busiest, idlest = max(busiest, w.cycles), min(idlest, w.cycles)
		if first == nil {
			first = w.first
		}
	}
	f = Figures{OpsPerS: float64(cycles) / window.Seconds(), Errors: float64(failures)}
	f.times(&cycle)
	if t.checker == nil {
		f[LockP50] = micros(lock.Quantile(0.5))
		return f, keeping.Mean(), first
	}
	_, violations := t.checker.Counts()
	f[Violations] = float64(violations)
	f[HandoffsPerS] = float64(handoffs) / window.Seconds()
	if cycles > 0 && len(t.workers) > 1 {
		f[Fairness] = fairness(busiest, idlest)
		f.possible(t.cell.Think)
	}
	return f, keeping.Mean(), first
}

// fairness returns the ratio of locks of the busiest worker to the idlest. However fair the service, the edges of the
// measurement can give one worker an extra lock: that one is not counted. An idlest with none counts as one, so that
// the ratio is finite.
func fairness(busiest, idlest int64) float64 {
	return float64(max(busiest-1, idlest, 1)) / float64(max(idlest, 1))
}

// times adds the quantiles of a nonempty histogram.
func (f Figures) times(h *Histogram) {
	if h.Count() > 0 {
		f[P50], f[P99], f[Max] = micros(h.Quantile(0.5)), micros(h.Quantile(0.99)), micros(h.Max())
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// handoffs returns how often the hot name has changed hands.
func (t *timed) handoffs() uint64 {
	if t.checker == nil {
		return 0
	}
	handoffs, _ := t.checker.Counts()
	return handoffs
}

// finish ends the measurement and waits for the workers: those that wait for the hot name still get it, one after the
// other.
func (t *timed) finish() {
	t.phase.Store(over)
	t.work.Wait()
}
