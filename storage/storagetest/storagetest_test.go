package storagetest

import (
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// opener makes handles on one store in memory.
func opener(remember bool) func(testing.TB) storage.Store {
	config := memory.Config{}
	if remember {
		config.Remember = 1 << 40
	}
	first := memory.New(config)
	return func(testing.TB) storage.Store { return first.Share() }
}

// TestReference: the store in memory passes, whether or not it remembers deletions.
func TestReference(t *testing.T) {
	t.Run("forgets", func(t *testing.T) { t.Parallel(); Run(t, opener(false)) })
	t.Run("remembers", func(t *testing.T) { t.Parallel(); Run(t, opener(true)) })
}

// TestSlow: nothing but time is changed by a store whose requests take effect in any order.
func TestSlow(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	open, handles := fleet(opener(false), 11, Odds{Slow: 8, While: 2e6})
	Run(t, open)
	if f := handles.faults(); f.Slow == 0 || f.Reordered == 0 || f.Refused+f.Never+f.Done+f.Later > 0 {
		t.Errorf("it was slow, and nothing else: %+v", f)
	}
}

// TestFaulty: what holds in every store holds in one that fails in every way.
func TestFaulty(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		open, handles := fleet(opener(seed%2 == 0), seed, Odds{Slow: 3, Refused: 12, Never: 12, Done: 12, Later: 12, While: 2e6})
		RunFaulty(t, open)
		if f := handles.faults(); min(f.Slow, f.Refused, f.Never, f.Done, f.Later, f.Reordered) == 0 {
			t.Errorf("seed %d: a fault has befallen no request: %+v", seed, f)
		}
	}
}

// handles are the Faulty ones that a run has opened.
type handles struct {
	mu  sync.Mutex
	all []*Faulty
}

func fleet(open func(testing.TB) storage.Store, seed uint64, odds Odds) (func(testing.TB) storage.Store, *handles) {
	h := &handles{}
	return func(tb testing.TB) storage.Store {
		h.mu.Lock()
		defer h.mu.Unlock()
		f := NewFaulty(open(tb), seed<<32+uint64(len(h.all)), odds)
		h.all = append(h.all, f)
		return f
	}, h
}

func (h *handles) faults() (sum Faults) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range h.all {
		f := handle.Faults()
		sum.Slow += f.Slow
		sum.Refused += f.Refused
		sum.Never += f.Never
		sum.Done += f.Done
		sum.Later += f.Later
		sum.Reordered += f.Reordered
	}
	return sum
}
