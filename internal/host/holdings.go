package host

import (
	"iter"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// holding is a lock, the port of its space, and the alarm that ends it at its hold limit.
type holding struct {
	lock  *holdfast.Lock
	port  protocol.Port
	alarm *clock.Alarm // nil without a hold limit
}

// holdings are the locks of a session by request. Requests are numbered consecutively, so the low bits of a number are
// as good as any hash: the table is probed from there, and is never more than half full.
type holdings struct {
	slots []slot // a power of two of them, or none
	used  int
}

type slot struct {
	request uint64 // 0: free
	holding holding
}

// minSlots is the size of the smallest table.
const minSlots = 16

// at returns the slot of request, or the free slot where it would be.
func (t *holdings) at(request uint64) int {
	mask := len(t.slots) - 1
	i := int(request) & mask
	for t.slots[i].request != request && t.slots[i].request != 0 {
		i = (i + 1) & mask
	}
	return i
}

func (t *holdings) get(request uint64) (holding, bool) {
	if t.used == 0 {
		return holding{}, false
	}
	s := &t.slots[t.at(request)]
	return s.holding, s.request != 0
}

func (t *holdings) put(request uint64, h holding) {
	if 2*t.used >= len(t.slots) {
		t.resize(max(minSlots, 2*len(t.slots)))
	}
	s := &t.slots[t.at(request)]
	if s.request == 0 {
		s.request = request
		t.used++
	}
	s.holding = h
}

// remove removes a holding. Later ones in its probe sequence move up, so that no probe ends too early.
func (t *holdings) remove(request uint64) (holding, bool) {
	if t.used == 0 {
		return holding{}, false
	}
	i := t.at(request)
	if t.slots[i].request == 0 {
		return holding{}, false
	}
	removed := t.slots[i].holding
	mask := len(t.slots) - 1
	for j := (i + 1) & mask; t.slots[j].request != 0; j = (j + 1) & mask {
		if home := int(t.slots[j].request) & mask; (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
	t.used--
	if len(t.slots) > minSlots && 8*t.used < len(t.slots) {
		t.resize(len(t.slots) / 2)
	}
	return removed, true
}

func (t *holdings) resize(size int) {
	old := t.slots
	t.slots, t.used = make([]slot, size), 0
	for i := range old {
		if old[i].request != 0 {
			s := &t.slots[t.at(old[i].request)]
			*s = old[i]
			t.used++
		}
	}
}

// all yields every holding. The table must not be changed meanwhile.
func (t *holdings) all() iter.Seq2[uint64, holding] {
	return func(yield func(uint64, holding) bool) {
		for i := range t.slots {
			if s := &t.slots[i]; s.request != 0 && !yield(s.request, s.holding) {
				return
			}
		}
	}
}
