package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// digest names a state: 128 bits of its canonical form.
type digest [16]byte

// gap is the maximum difference between neighbouring numbers that is kept; greater ones count as equal.
const gap = 4

// Numbers of this size are pairs, as tokens (reign, count) and session ids (incarnation, number) are: each half is a
// separate number. Greater ones are ids of members, and drawn numbers.
const (
	pairFrom  = 1 << 32
	pairUntil = 1 << 60
)

// ranking renames the numbers and the times of one state.
type ranking struct {
	horizons [classes]int64
	chained  bool // whether it matters that one view directly follows another
	counted  bool // numbers without a class keep their exact differences
	numbers  []snapshot.Number
	ranks    []uint64
	far      []int64 // instants of which only the order matters
	text     []byte
	forms    []*snapshot.Form
}

// digest returns the name of a state.
func (e *engine) digest(w *world) (digest, error) {
	public, err := e.copier.Form(&w.public, 0)
	if err != nil {
		return digest{}, err
	}
	if err := e.form(w); err != nil {
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
		r.horizons[freed] = int64(2*e.config.Lease + 1)
		if w.forgettable() {
			r.horizons[freed] = 0
		}
		r.collect(w)
		for _, form := range r.forms {
			r.rename(w, form)
		}
	}
	sum := sha256.Sum256(r.text)
	return digest(sum[:16]), nil
}

// form computes the forms of members that have none yet: no other state shares those.
func (e *engine) form(w *world) (err error) {
	for _, m := range w.members {
		if !m.formed {
			m.form = snapshot.Form{}
			if m.soul != nil {
				if m.form, err = e.copier.Form(m.soul, uint64(m.place)); err != nil {
					return fmt.Errorf("tell the state of %s: %w", m.name, err)
				}
			}
			m.formed = true
		}
		if err := e.formPackets(m.inbox); err != nil {
			return err
		}
	}
	return errors.Join(e.formPackets(w.flying), e.formPackets(w.held))
}

func (e *engine) formPackets(packets []*packet) (err error) {
	for _, p := range packets {
		if p.formed {
			continue
		}
		if p.saved != nil {
			p.form, err = e.copier.Form(&savingForm{p.From, p.To, p.Port, p.saved.ID, p.saved.Cell}, p.scope())
		} else {
			p.form, err = e.copier.Form(p, p.scope())
		}
		if err != nil {
			return fmt.Errorf("tell a message: %w", err)
		}
		p.formed = true
	}
	return nil
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

// exact writes everything unchanged.
func (r *ranking) exact(w *world) {
	r.text = binary.BigEndian.AppendUint64(r.text, uint64(w.now))
	for _, form := range r.forms {
		r.text = append(r.text, form.Shape[:]...)
		for _, n := range form.Numbers {
			r.text = binary.BigEndian.AppendUint64(r.text, n.Value)
		}
		for _, t := range form.Times {
			r.text = binary.BigEndian.AppendUint64(r.text, uint64(t))
		}
	}
}

// isPair reports whether a number is a pair.
func isPair(n snapshot.Number) bool {
	return n.Class == 0 && n.Value >= pairFrom && n.Value < pairUntil
}

// halves are the two numbers of a pair.
func halves(n snapshot.Number) (high, low snapshot.Number) {
	return snapshot.Number{Value: n.Value >> 32}, snapshot.Number{Value: n.Value & (pairFrom - 1)}
}

// collect sorts all numbers of a state, and gives each its new name. A number without a class keeps its difference from
// its lower neighbour, up to gap; a number of a class becomes its rank in its group. Zero, which mostly means "none",
// stays zero.
func (r *ranking) collect(w *world) {
	r.numbers, r.far = append(r.numbers[:0], snapshot.Number{}), r.far[:0]
	for _, form := range r.forms {
		for _, n := range form.Numbers {
			if isPair(n) {
				high, low := halves(n)
				r.numbers = append(r.numbers, high, low)
			} else {
				r.numbers = append(r.numbers, n)
			}
		}
		for _, t := range form.Times {
			if _, _, is := w.relative(t, r.horizons[0]); is != near {
				r.far = append(r.far, t)
			}
		}
		for _, t := range form.Classed {
			if _, _, is := w.relative(t.Value, 0); is == bygone {
				r.far = append(r.far, t.Value)
			}
		}
	}
	slices.SortFunc(r.numbers, snapshot.Number.Compare)
	r.numbers = slices.Compact(r.numbers)
	slices.Sort(r.far)
	r.far = slices.Compact(r.far)
	r.ranks = r.ranks[:0]
	for i, n := range r.numbers {
		rank, before := uint64(0), snapshot.Number{}
		if i > 0 && r.numbers[i-1].Class == n.Class && r.numbers[i-1].Group == n.Group {
			rank, before = r.ranks[i-1], r.numbers[i-1]
		}
		step := n.Value - before.Value
		if n.Class != 0 && n.Class != queries && !(n.Class == views && r.chained) {
			step = min(1, step)
		}
		if !r.counted || n.Class != 0 {
			step = min(gap, step)
		}
		r.ranks = append(r.ranks, rank+step)
	}
}

func (r *ranking) rankOf(n snapshot.Number) (rank uint64, known bool) {
	place, known := slices.BinarySearchFunc(r.numbers, n, snapshot.Number.Compare)
	if !known {
		return 0, false
	}
	return r.ranks[place], true
}

// rename writes a form with its numbers and times renamed, and from its tables only the entries that may still be
// looked up.
func (r *ranking) rename(w *world, form *snapshot.Form) {
	r.text = append(r.text, form.Shape[:]...)
	for _, n := range form.Numbers {
		if isPair(n) {
			high, low := halves(n)
			r.text = append(r.text, 'p')
			r.number(high)
			r.number(low)
			continue
		}
		r.text = append(r.text, 'n')
		r.number(n)
	}
	for _, t := range form.Times {
		r.time(w, t, 0)
	}
	for _, t := range form.Classed {
		r.time(w, t.Value, t.Class)
	}
	for _, row := range form.Rows {
		if _, sought := r.rankOf(row.Number); sought {
			r.text = append(r.text, 'r')
			r.number(row.Number)
			r.time(w, row.Time, lent)
		}
	}
}

func (r *ranking) number(n snapshot.Number) {
	rank, _ := r.rankOf(n)
	r.count(rank)
}

func (r *ranking) time(w *world, t int64, class uint8) {
	owner, value, is := w.relative(t, r.horizons[class])
	r.count(uint64(owner))
	switch {
	case is == near:
		r.text = append(r.text, 't')
		r.text = binary.BigEndian.AppendUint64(r.text, uint64(value))
	case is == far && class != 0:
		r.text = append(r.text, 'o')
	default:
		r.text = append(r.text, 'f')
		r.count(uint64(r.order(w, t)))
	}
}

// order returns how many instants of the same owner are after t, among those of which only the order matters.
func (r *ranking) order(w *world, t int64) (after int) {
	owner, _, _ := w.relative(t, 0)
	at, _ := slices.BinarySearch(r.far, t)
	for _, later := range r.far[at+1:] {
		if other, _, _ := w.relative(later, 0); other != owner {
			break
		}
		after++
	}
	return after
}

// remoteness is the relevant property of a time.
type remoteness uint8

const (
	near   remoteness = iota // its distance from now, or its length
	far                      // that it is in the past
	bygone                   // its order: it is of another life
)

// relative separates instants from durations, and finds the owner of the clock. Of an instant of a current life, the
// distance from now matters, unless it is further back than the horizon of its class; of an instant of another life,
// only the order. Of everything else the value matters.
func (w *world) relative(t, horizon int64) (owner int, value int64, is remoteness) {
	if t >= 1<<62 || t <= lifeSpan/2 {
		return 0, t, near
	}
	life := (t + lifeSpan/2) / lifeSpan
	const lives = memberSpan / lifeSpan
	place := int((life+lives-1)/lives) - 1
	if place >= len(w.members) {
		return 0, t, near
	}
	m := w.members[place]
	age := m.lives - int((int64(place)+1)*lives-life)
	owner = 1 + place + len(w.members)*max(0, age)
	if age != 0 || !m.up {
		return owner, 0, bygone
	}
	value = t - int64(m.clock(w.now))
	if value <= -horizon {
		return owner, 0, far
	}
	return owner, value, near
}
