package permission

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// name is the state of a name that this member's clients hold or want, for which others were deferred, or whose
// permissions are kept. Other names have none.
type name struct {
	text    string
	own     []*request // this member's own: in order of arrival, which is that of stamps; first those that have asked
	debts   []debt     // in order of arrival
	kept    []protocol.ID
	last    holdfast.Token // the highest that those had given who are kept
	touched bool
	links   links // among those whose permissions are kept
}

// debt is a peer's request that has not got this member's Reply.
type debt struct {
	peer     protocol.ID
	number   uint64
	stamp    Stamp
	shape    holdfast.Shape
	reported int // how many units it knows that this member uses; everything at first
}

// everything is the bound of a silent peer, for any capacity.
const everything = holdfast.MaxCapacity + 1

// maxDebts is the maximum number of remembered requests of one peer for one name. A peer with more has given up most of
// them; those it still wants it repeats.
const maxDebts = 64

// nameOf returns the state of a name, and creates it if needed.
func (m *Machine) nameOf(text string) *name {
	nm := m.names[text]
	if nm == nil {
		nm = &name{text: text}
		m.names[text] = nm
	}
	return nm
}

// touch marks a name to be settled before the step ends.
func (m *Machine) touch(nm *name) {
	if !nm.touched {
		nm.touched = true
		m.touched = append(m.touched, nm)
	}
}

// active lists the requests that ask or hold.
func (nm *name) active() []*request {
	for i, r := range nm.own {
		if r.number == 0 {
			return nm.own[:i]
		}
	}
	return nm.own
}

// settle processes the changes at names: it answers peers that can be answered now, and the request whose turn it is
// asks.
func (m *Machine) settle(now protocol.Time, out *protocol.Effects) {
	for i := 0; i < len(m.touched); i++ {
		nm := m.touched[i]
		nm.touched = false
		if protocol.Mutated("own clients before those deferred") {
			m.attend(now, nm, out)
		}
		m.payDebts(now, nm, out)
		m.attend(now, nm, out)
		if !nm.touched {
			m.forget(nm)
		}
	}
	clear(m.touched)
	m.touched = m.touched[:0]
	m.askAgain(now, out)
}

// forget drops the state of a name that is not needed any more.
func (m *Machine) forget(nm *name) {
	if len(nm.own) == 0 && len(nm.debts) == 0 && len(nm.kept) == 0 {
		delete(m.names, nm.text)
	}
}

// claim is this member's use of a name before a peer's request.
type claim struct {
	uses          int      // units that it uses, where both are slots and fit one capacity
	blocks        bool     // something that is compatible with nothing
	otherCapacity int      // slots of another capacity: which
	first         *request // the first of what is before it
	others        int      // how many more hold
}

// free reports whether there is none.
func (c *claim) free() bool { return c.first == nil }

// heldBy returns its owner.
func (c *claim) heldBy(now protocol.Time) lock.HeldBy {
	by := *c.first.HeldBy(now)
	by.Others = c.others
	return by
}

// fits reports whether a request may enter given the earlier ones here.
func (c *claim) fits(s holdfast.Shape) bool {
	return !c.blocks && c.otherCapacity == 0 && s.Mode == holdfast.ModeSlots && c.uses+s.Units <= s.Capacity
}

// before returns this member's use of a name before a peer's request of that stamp: its holds, regardless of stamp
// (E4), and its wanting requests with an older stamp.
func (m *Machine) before(nm *name, stamp Stamp, s holdfast.Shape) (c claim) {
	for _, r := range nm.own {
		older := r.clock != 0 && (Stamp{r.clock, m.self}).Before(stamp)
		switch {
		case r.Held && !protocol.Mutated("a holder replies to an older stamp"), older:
		case r.number == 0:
			return c // so are all behind it
		default:
			continue
		}
		if m.config.Capacity == 0 && r.Shape.Mode == holdfast.ModeShared && s.Mode == holdfast.ModeShared {
			continue
		}
		if c.first == nil {
			c.first = r
		} else if r.Held {
			c.others++
		}
		switch {
		case m.config.Capacity != 0 || r.Shape.Mode != holdfast.ModeSlots || s.Mode != holdfast.ModeSlots:
			c.blocks = true
		case r.Shape.Capacity != s.Capacity:
			c.otherCapacity = r.Shape.Capacity
		default:
			c.uses += r.Shape.Units
		}
	}
	return c
}

// admissible reports whether a request may ask together with the earlier ones here. One member's requests for a name do
// not compete in other members' queues: they have one here.
func (m *Machine) admissible(ahead []*request, s holdfast.Shape) bool {
	if len(ahead) == 0 {
		return true
	}
	if m.config.Capacity != 0 || s.Mode == holdfast.ModeExclusive {
		return false
	}
	units := s.Units
	for _, r := range ahead {
		if r.Shape.Mode != s.Mode || r.Shape.Capacity != s.Capacity {
			return false
		}
		units += r.Shape.Units
	}
	return units <= s.Capacity
}

// attend has those requests of a name ask whose turn it is, and those enter that have asked and
// have waited for one of this member's own since.
func (m *Machine) attend(now protocol.Time, nm *name, out *protocol.Effects) {
	if !m.ready() {
		return
	}
	for i := 0; i < len(nm.own); i++ {
		r := nm.own[i]
		switch {
		case r.Held:
		case r.number != 0:
			m.enterIfAllowed(now, r, out)
		case r.clock == 0:
			return
		case m.admissible(nm.own[:i], r.Shape):
			m.ask(now, r, out)
		default:
			m.denyTries(now, nm, i, out)
			return
		}
		if i >= len(nm.own) || nm.own[i] != r {
			return // it has been refused; the name is touched
		}
	}
}

// denyTries refuses those that do not wait and are behind others here, from an index on. They have come while no peer
// could be asked.
func (m *Machine) denyTries(now protocol.Time, nm *name, from int, out *protocol.Effects) {
	if m.clients.Tries() == 0 {
		return
	}
	for _, r := range slices.Clone(nm.own[from:]) {
		if r.Try {
			m.clients.Deny(now, r, nm.own[0].HeldBy(now), out)
		}
	}
}
