package run_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// disk is a storage whose writes take until they are let go.
type disk struct {
	begun chan uint64
	goOn  chan error

	mu    sync.Mutex
	ended []uint64
}

func newDisk() *disk { return &disk{begun: make(chan uint64, 8), goOn: make(chan error)} }

func (d *disk) Save(s storage.Save) storage.Saved {
	d.begun <- s.ID
	err := <-d.goOn
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, s.ID)
	return storage.Saved{ID: s.ID, Err: err}
}

func (d *disk) endedWrites() []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]uint64(nil), d.ended...)
}

// saver is a machine that writes what it is asked to, and keeps the answers.
func saver(answers *[]string) *scripted {
	m := &scripted{wake: protocol.Never}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		switch fact := ev.Fact.(type) {
		case storage.Saved:
			*answers = append(*answers, fmt.Sprintf("%v from=%d port=%d", fact, ev.From, ev.Port))
		case storage.Save:
			out.Send(protocol.Storage, fact)
		}
	}
	return m
}

func write(ids ...uint64) (events []protocol.Event) {
	for _, id := range ids {
		events = append(events, protocol.Event{Kind: protocol.Raised, Fact: storage.Save{ID: id}})
	}
	return events
}

// TestWritesOneAfterAnother: a write begins when the one before has ended, and each
// is answered, while the machine is stepped as ever.
func TestWritesOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []string
		d := newDisk()
		driver := start(t, run.Config{Machine: saver(&answers), Clock: clocktest.NewManual(), Storage: d})
		driver.Step(write(1, 2)...)
		driver.Step(write(3)...)
		for id := uint64(1); id <= 3; id++ {
			synctest.Wait()
			if begun := <-d.begun; begun != id || len(d.begun) != 0 {
				t.Fatalf("write %d has begun, and %d more, want write %d alone", begun, len(d.begun), id)
			}
			if len(answers) != int(id)-1 {
				t.Fatalf("answers before write %d has ended: %q", id, answers)
			}
			driver.Step(protocol.Event{Kind: protocol.Receive, From: 5}) // no write holds this up
			var err error
			if id == 2 {
				err = fmt.Errorf("disk full")
			}
			d.goOn <- err
		}
		synctest.Wait()
		same(t, "answers", answers, []string{
			"saved #1 from=0 port=0", "save #2: disk full from=0 port=0", "saved #3 from=0 port=0",
		})
	})
}

// TestNoStorageRefuses every write, after the step that wished for it.
func TestNoStorageRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []string
		driver := start(t, run.Config{Machine: saver(&answers), Clock: clocktest.NewManual()})
		driver.Step(write(1, 2)...)
		synctest.Wait()
		same(t, "answers", answers, []string{
			"save #1: this member keeps no state from=0 port=0", "save #2: this member keeps no state from=0 port=0",
		})
	})
}

// TestCloseWaitsForWrites: when any call of Close returns, the writes that
// were wished for before have ended, and no machine has heard of them.
func TestCloseWaitsForWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []string
		d := newDisk()
		driver := start(t, run.Config{Machine: saver(&answers), Clock: clocktest.NewManual(), Storage: d})
		driver.Step(write(1, 2)...)
		<-d.begun
		closed := make(chan []uint64, 2)
		for range cap(closed) {
			go func() {
				if err := driver.Close(); err != nil {
					t.Error(err)
				}
				closed <- d.endedWrites()
			}()
			synctest.Wait()
			if len(closed) != 0 {
				t.Error("Close returned while a write was under way")
			}
		}
		driver.Step(write(3)...) // after Close nothing is written
		d.goOn <- nil
		<-d.begun
		d.goOn <- nil
		for range cap(closed) {
			same(t, "writes that had ended", <-closed, []uint64{1, 2})
		}
		same(t, "answers", answers, []string(nil))
	})
}
