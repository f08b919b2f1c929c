package peer

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// started starts a target for the length of a test.
func started(t *testing.T, target *Target) *Target {
	t.Helper()
	if err := target.Start(limited(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Stop(); err != nil {
			t.Error(err)
		}
	})
	return target
}

func connect(t *testing.T, target *Target) load.Client {
	t.Helper()
	client, err := target.Connect(limited(t), load.Cell{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func workers(t *testing.T, client load.Client) (a, b load.Locker) {
	t.Helper()
	a, err := client.Worker(limited(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = client.Worker(limited(t), 1); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// patience is after what time a waiter of a test gives up.
const patience = 200 * time.Millisecond

// TestConforms: two workers exclude each other, on one name and not on two; the end of a
// context ends a wait, and leaves nothing that others would wait for; a release lets the
// next one in.
func TestConforms(t *testing.T) {
	each(t, func(t *testing.T, target *Target) {
		a, b := workers(t, connect(t, started(t, target)))
		ctx := limited(t)
		held, err := a.Lock(ctx, "one")
		if err != nil {
			t.Fatal(err)
		}
		other, err := b.Lock(ctx, "two")
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if _, err := b.Lock(short, "one"); err == nil || short.Err() == nil {
			t.Fatalf("a second worker's wait ends with %v, its context with %v", err, short.Err())
		}
		if lost := held.(interface{ Check() error }).Check(); lost != nil {
			t.Error(lost)
		}
		waited := make(chan error)
		go func() {
			next, err := b.Lock(ctx, "one")
			if err == nil {
				err = next.Unlock(ctx)
			}
			waited <- err
		}()
		if err := held.Unlock(ctx); err != nil {
			t.Error(err)
		}
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
		if held, err = a.Lock(ctx, "one"); err != nil {
			t.Fatal(err)
		}
		if err := held.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestMeasured: all workloads go through every service, exclusively, and with what its
// processes have used.
func TestMeasured(t *testing.T) {
	each(t, func(t *testing.T, target *Target) {
		result, err := load.Run(limited(t), load.Config{
			Targets: []load.Target{target}, Workers: []int{4}, Think: []time.Duration{0}, Rounds: 1,
			Duration: 400 * time.Millisecond, Waiters: 8, Locks: 2000, Patience: 10 * time.Second, HoldLimit: 5 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.FirstError != nil {
			// Some clients lose the waking of a waiter now and then. That is counted, and
			// a reader of the table sees it.
			t.Logf("%v errors, the first: %v", result.Sum(load.Errors), result.FirstError)
		}
		if len(result.Rows) != len(load.Workloads()) {
			t.Fatalf("%d rows", len(result.Rows))
		}
		for _, row := range result.Rows {
			if rate, _ := row.Figure(load.OpsPerS); rate <= 0 {
				t.Errorf("%v: %v locks/s", row.Cell, rate)
			}
			bytes, known := row.Figure(load.BytesPerLock)
			if runtime.GOOS == "linux" && row.Cell.Workload == load.Hold && (!known || bytes <= 0) {
				t.Errorf("%v bytes a lock", bytes)
			}
		}
		if n := result.Sum(load.Violations); n > 0 {
			t.Errorf("%v violations", n)
		}
	})
}

// lawless is a service that grants each lock to all.
type lawless struct{ *Target }

func (l lawless) Connect(ctx context.Context, c load.Cell) (load.Client, error) {
	client, err := l.Target.Connect(ctx, c)
	return lawlessClient{client}, err
}

type lawlessClient struct{ load.Client }

func (c lawlessClient) Worker(ctx context.Context, number int) (load.Locker, error) {
	locker, err := c.Client.Worker(ctx, number)
	return lawlessLocker{locker, number}, err
}

type lawlessLocker struct {
	load.Locker
	number int
}

// Lock locks another name for each worker.
func (l lawlessLocker) Lock(ctx context.Context, name string) (load.Held, error) {
	return l.Locker.Lock(ctx, name+strconv.Itoa(l.number))
}

// TestViolations: where workers do not exclude each other, that is seen through every
// service.
func TestViolations(t *testing.T) {
	each(t, func(t *testing.T, target *Target) {
		result, err := load.Run(limited(t), load.Config{
			Targets: []load.Target{lawless{target}}, Workloads: []string{load.Hot}, Workers: []int{4},
			Think: []time.Duration{time.Millisecond}, Rounds: 1, Duration: 50 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.Sum(load.Violations) == 0 {
			t.Error("no violation was seen")
		}
	})
}
