package explore

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// group is a group of numbers that are compared.
type group struct {
	class uint8
	of    uint64
}

// stranger makes another state that machines cannot distinguish from the original if the rules are right: moot fields
// have other values, past instants are in the past by another distance, numbers of a class are others in the same
// order, and tables lack the entries that no machine looks up.
type stranger struct {
	t       *testing.T
	engine  *engine
	r       *rand.Rand
	world   *world
	numbers map[group]map[uint64]uint64
}

func (s *stranger) each(visit func(m *member, f snapshot.Ruled)) {
	s.t.Helper()
	show := func(m *member, root any, scope uint64) {
		if err := s.engine.copier.Ruled(root, scope, func(f snapshot.Ruled) { visit(m, f) }); err != nil {
			s.t.Fatal(err)
		}
	}
	packets := func(all []*packet) {
		for _, p := range all {
			if p.saved != nil {
				form := savingForm{p.From, p.To, p.Port, p.saved.ID, p.saved.Cell}
				show(s.world.members[p.To], &form, p.scope())
				p.saved.ID, p.saved.Cell, p.saved.data = form.ID, form.Cell, form.Cell.Encode()
				continue
			}
			show(s.world.members[p.From], p, p.scope())
		}
	}
	for _, m := range s.world.members {
		if m.soul != nil {
			show(m, m.soul, uint64(m.place))
		}
		packets(m.inbox)
		if m.cell != nil {
			cell, err := membership.DecodeCell(m.cell)
			if err != nil {
				s.t.Fatal(err)
			}
			show(m, &cell, uint64(m.place))
			if err := s.engine.sync(m, &saving{data: cell.Encode(), Cell: cell}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	packets(s.world.flying)
	packets(s.world.held)
}

// apart replaces a state's members by copies that share nothing with it.
func (s *stranger) apart(w *world) {
	s.t.Helper()
	s.world = w.clone()
	packets := func(all []*packet) []*packet {
		fresh := slices.Clone(all)
		for i, p := range fresh {
			q := *p
			q.formed, q.form = false, snapshot.Form{}
			if p.saved != nil {
				saved := *p.saved
				cell, err := membership.DecodeCell(saved.data)
				if err != nil {
					s.t.Fatal(err)
				}
				saved.Cell = cell
				q.saved = &saved
			} else {
				message, err := snapshot.Copy(s.engine.copier, &p.Message)
				if err != nil {
					s.t.Fatal(err)
				}
				q.Message = *message
			}
			fresh[i] = &q
		}
		return fresh
	}
	for place := range s.world.members {
		m, err := s.engine.change(s.world, place)
		if err != nil {
			s.t.Fatal(err)
		}
		m.owned, m.inbox = false, packets(m.inbox)
	}
	s.world.flying, s.world.held = packets(s.world.flying), packets(s.world.held)
}

// rename draws other numbers in the same order: consecutive numbers stay consecutive.
func (s *stranger) rename() {
	s.t.Helper()
	s.numbers = map[group]map[uint64]uint64{}
	// Each member counts its own lapses, which share one order with those of others: two states that are alike may
	// differ later, though they are alike then. Queries differ from each other by up to gap.
	number := func(f snapshot.Ruled) bool {
		return f.Class != 0 && f.Class != lapses && f.Class != queries && !(f.Class == views && s.engine.rank.chained) && f.Value.Kind() == reflect.Uint64
	}
	all := map[group][]uint64{}
	s.each(func(_ *member, f snapshot.Ruled) {
		if at := (group{f.Class, f.Group}); number(f) && !f.Moot && f.Value.Uint() != 0 {
			all[at] = append(all[at], f.Value.Uint())
		}
	})
	for _, at := range slices.SortedFunc(maps.Keys(all), func(a, b group) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.of, b.of)) }) {
		names, last, name := map[uint64]uint64{}, uint64(0), s.r.Uint64N(20)
		for _, n := range slices.Compact(slices.Sorted(slices.Values(all[at]))) {
			if name++; n != last+1 {
				name += 1 + s.r.Uint64N(20)
			}
			names[n], last = name, n
		}
		s.numbers[at] = names
	}
	s.each(func(_ *member, f snapshot.Ruled) {
		if named, known := s.numbers[group{f.Class, f.Group}][orZero(f)]; number(f) && !f.Moot && known {
			f.Value.SetUint(named)
		}
	})
}

func orZero(f snapshot.Ruled) uint64 {
	if f.Value.Kind() != reflect.Uint64 {
		return 0
	}
	return f.Value.Uint()
}

// of changes a state.
func (s *stranger) of(w *world) *world {
	s.t.Helper()
	s.apart(w)
	s.rename()
	s.each(func(m *member, f snapshot.Ruled) {
		switch {
		case f.Moot:
			s.garble(m, f.Value)
		case f.Table:
			s.thin(f)
		case f.Value.Type() == reflect.TypeFor[time.Duration]():
			s.age(m, f.Value, f.Class)
		case f.Value.Kind() == reflect.Slice:
			for i := range f.Value.Len() {
				s.age(m, f.Value.Index(i), f.Class)
			}
		}
	})
	for _, m := range s.world.members {
		m.formed = false
	}
	return s.world
}

// age moves a past instant of a member to another distance in the past. A member that was last heard before the silence
// began stays so long before every passed deadline, and moot instants are older than both: this decides whether a look
// for missing members is moot.
func (s *stranger) age(m *member, v reflect.Value, class uint8) {
	horizon := s.engine.rank.horizons[class]
	if class == freed && horizon == 0 {
		return // a forgettable tenure is dropped sooner or later, and looks alike only after that
	}
	if owner, _, is := s.world.relative(v.Int(), horizon); is == far && owner == 1+m.place {
		back := s.r.Int64N(int64(20 * time.Second))
		if class == heard {
			back += int64(40 * time.Second)
		}
		v.SetInt(int64(m.clock(s.world.now)) - horizon - back)
	}
}

// garble overwrites moot fields: a passed instant with another passed one, as all such instants have passed.
func (s *stranger) garble(m *member, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(m.clock(s.world.now)) - int64(70*time.Second) - s.r.Int64N(int64(20*time.Second)))
	case v.Kind() == reflect.Uint64:
		v.SetUint(s.r.Uint64N(50))
	default:
		v.SetZero()
	}
}

// thin removes from a table the entries that no machine looks up, and renames the rest.
func (s *stranger) thin(f snapshot.Ruled) {
	kept := reflect.MakeSlice(f.Value.Type(), 0, f.Value.Len())
	for i := range f.Value.Len() {
		entry := reflect.New(f.Value.Type().Elem())
		entry.Elem().Set(f.Value.Index(i))
		first := reflect.NewAt(reflect.TypeFor[uint64](), entry.UnsafePointer()).Elem()
		if name, sought := s.numbers[group{f.Class, f.Group}][first.Uint()]; sought {
			first.SetUint(name)
			kept = reflect.Append(kept, entry.Elem())
		}
	}
	f.Value.Set(kept)
}

// TestRulesAreRight checks that two states that are equal by the rules continue through equal states, under the same
// actions.
func TestRulesAreRight(t *testing.T) {
	for _, name := range []string{"election", "central", "grantor", "permission"} {
		c := busy(t, name)
		e := engineOf(t, &c)
		for seed := range seeds(6) {
			s := &stranger{t: t, engine: e, r: rand.New(rand.NewPCG(seed, 2))}
			strange := (*world)(nil)
			before := action{}
			step := 0
			walkBoth(t, e, seed, 300, func(w *world, n next, taken action, first bool) {
				if step++; first || step%20 == 0 {
					named(t, e, w)
					strange = s.of(w)
				} else {
					after, err := e.take(strange, e.upcoming(strange), taken)
					if err != nil {
						t.Fatal(err)
					}
					strange = after
				}
				if named(t, e, w) != named(t, e, strange) {
					t.Fatalf("%s, seed %d, step %d, after %+v (%+v): they differ", name, seed, step, taken, before)
				}
				before = taken
			})
		}
	}
}

// walkBoth takes random actions, and shows every state with the action that led to it.
func walkBoth(t *testing.T, e *engine, seed uint64, steps int, look func(w *world, n next, taken action, first bool)) {
	t.Helper()
	w := beginning(t, e)
	r := rand.New(rand.NewPCG(seed, 3))
	taken := action{}
	for i := range steps {
		n := e.upcoming(w)
		look(w, n, taken, i == 0)
		all := e.actions(w, n, nil)
		if len(all) == 0 {
			return
		}
		if taken = all[0]; r.IntN(6) == 0 {
			taken = all[r.IntN(len(all))]
		}
		after, err := e.take(w, n, taken)
		if err != nil {
			t.Fatal(err)
		}
		if e.broken != nil {
			t.Fatal(e.broken)
		}
		w = after
	}
}
