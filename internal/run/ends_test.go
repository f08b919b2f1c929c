package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// attender is a store that reports the ends of processes: "dead" has ended, and "lives" ends when the test says so.
type attender struct {
	*memory.Store
	ends  chan func()
	given chan struct{} // closed when the wait for "lives" is given up
}

func (a *attender) Attend(_ context.Context, rid string) error {
	if rid == "taken" {
		return fmt.Errorf("attend: %w", storage.ErrInvalid)
	}
	return nil
}

func (a *attender) Await(ctx context.Context, rid string, ended func()) (bool, error) {
	if rid == "lives" {
		a.ends <- ended
		context.AfterFunc(ctx, func() { close(a.given) })
	}
	return rid == "dead", nil
}

// TestEndsOfProcesses: a machine hears whether a process has ended, at once and when it does; and of a store that
// reports no ends, that none is known.
func TestEndsOfProcesses(t *testing.T) {
	plain := memory.New(memory.Config{})
	store := &attender{memory.New(memory.Config{}), make(chan func(), 1), make(chan struct{})}
	heard := make(chan any, 8)
	m := &scripted{wake: protocol.Never}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		switch ev.Kind {
		case protocol.Receive:
			heard <- ev.Fact
		case protocol.Raised:
			out.Send(protocol.Storage, ev.Fact.(protocol.Message))
		}
	}
	ask := func(d *run.Driver, fact any) { d.Step(protocol.Event{Kind: protocol.Raised, Fact: fact}) }
	for _, s := range []storage.Store{plain, store} {
		d, err := run.New(run.Config{Machine: m, Stores: map[protocol.Port]storage.Store{0: s}})
		if err != nil {
			t.Fatal(err)
		}
		_, reports := s.(storage.Attender)
		ask(d, storage.Attend{RID: "taken"})
		if got := (<-heard).(storage.Attended); got.RID != "taken" || !errors.Is(got.Err, storage.ErrInvalid) {
			t.Errorf("%v: %v", reports, got)
		}
		ask(d, storage.Await{RID: "dead"})
		if got := <-heard; got != (storage.Awaited{RID: "dead", Ended: reports}) {
			t.Errorf("%v: %v", reports, got)
		}
		if reports {
			ask(d, storage.Attend{RID: "mine"})
			if got := <-heard; got != (storage.Attended{RID: "mine"}) {
				t.Error(got)
			}
			ask(d, storage.Await{RID: "lives"})
			if got := <-heard; got != (storage.Awaited{RID: "lives"}) {
				t.Error(got)
			}
			(<-store.ends)()
			if got := <-heard; got != (storage.Awaited{RID: "lives", Ended: true}) {
				t.Error(got)
			}
			ask(d, storage.Unawait{RID: "lives"})
			<-store.given
		}
		if err := errors.Join(d.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}
