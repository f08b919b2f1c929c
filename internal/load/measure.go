package load

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// thinkCycles is the minimum length of a measurement in think times.
const thinkCycles = 20

// measure makes one measurement in one round.
func (b *bench) measure(ctx context.Context, t Target, cell Cell, round uint64) (err error) {
	if b.Machine != nil && cell.alone() {
		restore, err := b.Machine.Share(ctx, t)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, restore()) }()
	}
	duration := max(b.Duration, thinkCycles*cell.Think)
	ping, err := b.ping(ctx, t, duration/10)
	if err != nil {
		return err
	}
	there := cell
	there.Workers = bound(t, cell.Workload, cell.Workers)
	client, err := t.Connect(ctx, there)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, duration+b.Patience)
	defer cancel()
	var f Figures
	var kept time.Duration
	var first error
	if cell.Workload == Drain {
		f, first, err = b.drain(ctx, t, client, there.Workers)
	} else {
		f, kept, first, err = b.timed(ctx, t, client, there, duration, b.Seed+round)
	}
	if err != nil {
		return err
	}
	if there != cell {
		f[Count] = float64(there.Workers)
	}
	if ping > 0 {
		f[PingMicros] = micros(ping)
	}
	if predicted, ok := b.predict(t, cell, ping, kept); ok {
		f.addPrediction(predicted, kept)
	}
	b.note(t, cell, f, first)
	return nil
}

// ping returns the time of a ping-pong with the target's location.
func (b *bench) ping(ctx context.Context, t Target, d time.Duration) (time.Duration, error) {
	switch away, ok := t.(Pinger); {
	case ok:
		return away.Ping(ctx, d)
	case b.Machine == nil:
		return 0, nil
	}
	return b.Machine.Ping(ctx, d)
}

// predict is Predict if it applies to the target.
func (b *bench) predict(t Target, cell Cell, ping, kept time.Duration) (Prediction, bool) {
	sends := Centralized
	if m, known := t.(Messenger); known {
		sends = m.Messages()
	}
	if ping == 0 && sends != NoMessages {
		return Prediction{}, false
	}
	return Predict(cell, sends, ping, kept)
}

// spent is the resource usage up to a moment.
type spent struct {
	client, servers time.Duration
	allocated       uint64 // objects, by the workers' process
	counts          bool   // messages are counted
	messages        uint64
	countsRequests  bool // requests to a store are counted
	requests        Requests
	cycles          int64
}

func (b *bench) spent(ctx context.Context, t Target, cycles func() int64) (spent, error) {
	usage, err := t.Usage(ctx, false)
	s := spent{servers: usage.CPU}
	if b.Machine != nil {
		s.client = b.Machine.CPU()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	s.allocated, s.cycles = memory.Mallocs, cycles()
	if counter, counts := t.(Counter); counts {
		s.counts, s.messages = true, counter.Counted()
	}
	if counter, is := t.(RequestCounter); is {
		s.countsRequests, s.requests = true, counter.CountedRequests()
	}
	return s, err
}

// since adds the cost of each cycle since an earlier moment.
func (f Figures) since(before, after spent) {
	cycles := float64(after.cycles - before.cycles)
	if cycles <= 0 {
		return
	}
	if d := after.client - before.client; d > 0 {
		f[ClientCPU] = micros(d) / cycles
	}
	if d := after.servers - before.servers; d > 0 {
		f[ServerCPU] = micros(d) / cycles
	}
	f[ClientAllocs] = float64(after.allocated-before.allocated) / cycles
	if after.counts {
		f[MessagesPerLock] = float64(after.messages-before.messages) / cycles
	}
	if after.countsRequests {
		f.addRequests(after.requests.minus(before.requests), cycles)
	}
}

// timed measures Uncontended and Hot.
func (b *bench) timed(ctx context.Context, t Target, client Client, cell Cell, duration time.Duration, seed uint64) (f Figures, kept time.Duration, first, err error) {
	m, err := newTimed(ctx, client, cell, seed)
	if err != nil {
		return nil, 0, nil, err
	}
	defer m.finish() // in every case, before the client is closed
	if err := m.start(ctx, duration/10); err != nil {
		return nil, 0, nil, err
	}
	before, err := b.spent(ctx, t, m.total)
	if err != nil {
		return nil, 0, nil, err
	}
	handoffs := m.handoffs()
	begun := time.Now()
	m.phase.Store(measuring)
	err = backoff.Sleep(ctx, duration)
	m.phase.Store(over)
	window := time.Since(begun)
	handoffs = m.handoffs() - handoffs
	if err != nil {
		return nil, 0, nil, err
	}
	after, err := b.spent(ctx, t, m.total)
	if err != nil {
		return nil, 0, nil, err
	}
	m.finish()
	f, kept, first = m.figures(window, handoffs)
	f.since(before, after)
	return f, kept, first, nil
}

// drain measures Drain.
func (b *bench) drain(ctx context.Context, t Target, client Client, waiters int) (f Figures, first, err error) {
	var before spent
	cycles := int64(0)
	d, err := drain(ctx, client, waiters, func() (err error) {
		before, err = b.spent(ctx, t, func() int64 { return cycles })
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	cycles = int64(d.got)
	after, err := b.spent(ctx, t, func() int64 { return cycles })
	if err != nil {
		return nil, nil, err
	}
	f = d.figures()
	f.since(before, after)
	return f, d.first, nil
}
