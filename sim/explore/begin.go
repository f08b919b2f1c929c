package explore

import "fmt"

// beginning makes the initial state of a run, with one fast clock or (-1) none.
func (e *engine) beginning(fastAt int) (*world, error) {
	c := e.config
	w := &world{now: e.late}
	w.Left = budgets{uint8(c.Crashes), uint8(c.Restarts), uint8(c.Pauses), uint8(c.Losses), uint8(c.Duplicates), uint8(c.Delays), uint8(c.Dawdles), uint8(c.Transfers)}
	w.Highest = make([]uint64, c.Names)
	for i := range c.Users {
		w.Users = append(w.Users, user{Member: i % c.Members})
	}
	for place := range c.Members {
		w.members = append(w.members, &member{
			place: place, id: idOf(place), name: fmt.Sprintf("m%d", place+1), address: address(place), fast: place == fastAt,
		})
	}
	for _, m := range w.members {
		e.say("%s starts", m.name)
		if err := e.start(w, m); err != nil {
			return nil, err
		}
		if m.id != idOf(m.place) {
			return nil, fmt.Errorf("explore: %s has drawn the id %d, and not its first number", m.name, uint64(m.id))
		}
	}
	if c.Formed {
		var err error
		if w, err = e.formed(w); err != nil {
			return nil, err
		}
	}
	for i := range w.Users { // until now they have nothing to do
		w.Users[i].Calls = uint8(c.Calls)
	}
	return w, nil
}

// formingSteps is the maximum number of steps in which a cluster must form.
const formingSteps = 100_000

// formed runs the default schedule until the cluster has settled and its view is open, and time is about to pass.
func (e *engine) formed(w *world) (*world, error) {
	for range formingSteps {
		n := e.upcoming(w)
		if n.what == timeNext && w.settled() && w.opened() {
			return w, nil
		}
		if n.what == nothing {
			break
		}
		after, err := e.take(w, n, action{kind: goOn})
		if err != nil {
			return nil, err
		}
		if e.broken != nil {
			return nil, fmt.Errorf("explore: %v, while the cluster forms", e.broken)
		}
		w = after
	}
	return nil, fmt.Errorf("explore: the cluster does not form in %d steps", formingSteps)
}

// opened reports whether all members know that their view is open.
func (w *world) opened() bool {
	for _, m := range w.members {
		if m.soul.View == nil || !m.soul.View.Open {
			return false
		}
	}
	return true
}
