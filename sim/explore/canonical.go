package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// digest names a state: 128 bits of what it is in canonical form.
type digest [16]byte

// gap is the greatest difference between neighbouring numbers that is told from a
// greater one.
const gap = 4

// Numbers of this size are two in one, as tokens (reign, count) and those of sessions
// (incarnation, number) are: each half is a number of its own. Greater ones are names of
// members, and what is drawn.
const (
	pairFrom  = 1 << 32
	pairUntil = 1 << 60
)

// ranking renames the numbers and the times of one state.
type ranking struct {
	numbers []uint64
	ranks   []uint64
	far     []int64 // instants of which the order alone matters
	text    []byte
	forms   []*snapshot.Form
}

// digest returns the name of a state.
func (e *engine) digest(w *world) (digest, error) {
	public, err := e.copier.Form(&w.public)
	if err != nil {
		return digest{}, err
	}
	r := &e.rank
	r.forms, r.text = append(r.forms[:0], &public), r.text[:0]
	for _, m := range w.members {
		r.text = append(r.text, flag(m.up), flag(m.paused), flag(m.fast))
		r.forms = append(r.forms, &m.cellForm, &m.form)
		r.packets(m.inbox)
	}
	r.packets(w.flying)
	r.packets(w.held)
	if e.config.Exact {
		r.exact(w)
	} else {
		r.collect(w, int64(e.config.longest()))
		for _, form := range r.forms {
			r.rename(w, form, int64(e.config.longest()))
		}
	}
	sum := sha256.Sum256(r.text)
	return digest(sum[:16]), nil
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func (r *ranking) packets(packets []*packet) {
	r.count(uint64(len(packets)))
	for _, p := range packets {
		r.forms = append(r.forms, &p.form)
	}
}

func (r *ranking) count(n uint64) { r.text = binary.AppendUvarint(r.text, n) }

// exact writes everything as it is.
func (r *ranking) exact(w *world) {
	r.text = binary.BigEndian.AppendUint64(r.text, uint64(w.now))
	for _, form := range r.forms {
		r.text = append(r.text, form.Shape[:]...)
		for _, n := range form.Numbers {
			r.text = binary.BigEndian.AppendUint64(r.text, n)
		}
		for _, t := range form.Times {
			r.text = binary.BigEndian.AppendUint64(r.text, uint64(t))
		}
	}
}

// collect puts all numbers of a state in order, and gives each its new name: as far above
// its neighbour as before, but by no more than gap.
func (r *ranking) collect(w *world, longest int64) {
	r.numbers, r.far = append(r.numbers[:0], 0), r.far[:0]
	for _, form := range r.forms {
		for _, n := range form.Numbers {
			if n >= pairFrom && n < pairUntil {
				r.numbers = append(r.numbers, n>>32, n&(pairFrom-1))
			} else {
				r.numbers = append(r.numbers, n)
			}
		}
		for _, t := range form.Times {
			if _, _, exact := w.relative(t, longest); !exact {
				r.far = append(r.far, t)
			}
		}
	}
	slices.Sort(r.numbers)
	r.numbers = slices.Compact(r.numbers)
	slices.Sort(r.far)
	r.far = slices.Compact(r.far)
	r.ranks = append(r.ranks[:0], 0)
	for i := 1; i < len(r.numbers); i++ {
		r.ranks = append(r.ranks, r.ranks[i-1]+min(gap, r.numbers[i]-r.numbers[i-1]))
	}
}

func (r *ranking) rankOf(n uint64) uint64 {
	place, _ := slices.BinarySearch(r.numbers, n)
	return r.ranks[place]
}

// rename writes a form with its numbers and times renamed.
func (r *ranking) rename(w *world, form *snapshot.Form, longest int64) {
	r.text = append(r.text, form.Shape[:]...)
	for _, n := range form.Numbers {
		if n >= pairFrom && n < pairUntil {
			r.text = append(r.text, 'p')
			r.count(r.rankOf(n >> 32))
			r.count(r.rankOf(n & (pairFrom - 1)))
			continue
		}
		r.text = append(r.text, 'n')
		r.count(r.rankOf(n))
	}
	for _, t := range form.Times {
		owner, value, exact := w.relative(t, longest)
		r.count(uint64(owner))
		if exact {
			r.text = append(r.text, 't')
			r.text = binary.BigEndian.AppendUint64(r.text, uint64(value))
			continue
		}
		r.text = append(r.text, 'f')
		r.count(uint64(r.order(w, t, longest)))
	}
}

// order returns how many instants of the same owner lie after t, of those of which the
// order alone matters.
func (r *ranking) order(w *world, t int64, longest int64) (after int) {
	owner, _, _ := w.relative(t, longest)
	at, _ := slices.BinarySearch(r.far, t)
	for _, later := range r.far[at+1:] {
		if other, _, _ := w.relative(later, longest); other != owner {
			break
		}
		after++
	}
	return after
}

// relative tells instants from lengths of time, and whose clock showed them. What matters
// of an instant of a life that goes on is how far from now it lies, unless that is longer
// ago than any timer runs; of another life, only which was before which. Of everything else
// its value does.
func (w *world) relative(t int64, longest int64) (owner int, value int64, exact bool) {
	if t >= 1<<62 || t <= lifeSpan/2 {
		return 0, t, true
	}
	life := (t + lifeSpan/2) / lifeSpan
	const lives = memberSpan / lifeSpan
	place := int((life+lives-1)/lives) - 1
	if place >= len(w.members) {
		return 0, t, true
	}
	m := w.members[place]
	age := m.lives - int((int64(place)+1)*lives-life)
	owner = 1 + place + len(w.members)*max(0, age)
	if age != 0 || !m.up {
		return owner, 0, false
	}
	value = t - int64(m.clock(w.now))
	return owner, value, value >= -longest
}
