package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
)

// Model is a lock without time: it defines which operations may follow which.
type Model struct {
	name      string
	fenced    bool // tokens rise
	reentrant bool // owners enter their holds
	shared    bool // readers may hold together
	permits   bool // units of a capacity
	loose     bool // tokens of shared holds are unique, but not ordered
}

// Mutex is a lock with one holder at a time. Modes, owners and tokens are ignored.
func Mutex() Model { return Model{name: "mutex"} }

// FencedMutex is a mutex whose token rises with every grant.
func FencedMutex() Model { return Model{name: "fenced mutex", fenced: true} }

// ReentrantFencedMutex is a fenced mutex that a named owner may enter again under the same token, and that is free when
// the owner has left it as often.
func ReentrantFencedMutex() Model {
	return Model{name: "reentrant fenced mutex", fenced: true, reentrant: true}
}

// SharedExclusive is a reentrant fenced lock with many shared holders, or one exclusive holder.
func SharedExclusive() Model {
	return Model{name: "shared/exclusive", fenced: true, reentrant: true, shared: true}
}

// Permits is a reentrant fenced lock of units: at most its capacity is held, and all holders at a time have the same
// capacity. An exclusive holder has it alone.
func Permits() Model {
	return Model{name: "permits", fenced: true, reentrant: true, permits: true}
}

// Loose returns the model in which only the token of an exclusive grant exceeds all earlier ones: those of compatible
// grants come in any order, as in protocols without a coordinator.
func (m Model) Loose() Model {
	m.name, m.loose = "loose "+m.name, true
	return m
}

// String returns the name.
func (m Model) String() string { return m.name }

// holder is a holder in a state.
type holder struct {
	owner    int32
	token    holdfast.Token
	mode     holdfast.Mode
	units    int
	capacity int
	holds    int
}

// state is the state of a lock between two operations. It is immutable.
type state struct {
	holders []holder // by owner, then by token
	highest holdfast.Token
}

func (s *state) equal(o *state) bool {
	return s.highest == o.highest && slices.Equal(s.holders, o.holders)
}

// String is for people.
func (s *state) String() string {
	if len(s.holders) == 0 {
		return fmt.Sprintf("free, highest token %d", s.highest)
	}
	var parts []string
	for _, h := range s.holders {
		text := fmt.Sprintf("%v, token %d", h.mode, h.token)
		if h.mode == holdfast.ModeSlots {
			text += fmt.Sprintf(", %d of %d", h.units, h.capacity)
		}
		if h.holds > 1 {
			text += fmt.Sprintf(", entered %d times", h.holds)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// step is one operation: a granted or refused acquisition, or its end.
type step struct {
	of   *Acquisition
	ends bool
	kept bool // an unheard acquisition of its owner may have kept its grant
}

// take returns the state after an operation, or false if no lock could have done it.
func (m Model) take(s *state, do step) (*state, bool) {
	switch {
	case do.ends:
		return m.end(s, do.of)
	case do.of.Outcome == Refused:
		return s, len(s.holders) > 0
	}
	return m.grant(s, do)
}

// shape is an acquisition from the model's point of view.
func (m Model) shape(a *Acquisition) holder {
	h := holder{owner: -1 - int32(a.number), holds: 1}
	if m.reentrant {
		h.owner = a.owner
	}
	if m.fenced {
		h.token = a.Token
	}
	switch {
	case m.shared && a.Mode == holdfast.ModeShared:
		h.mode = a.Mode
	case m.permits && a.Mode == holdfast.ModeSlots:
		h.mode, h.units, h.capacity = a.Mode, a.Units, a.Capacity
	}
	return h
}

func byOwner(h, o holder) int {
	return cmp.Or(cmp.Compare(h.owner, o.owner), cmp.Compare(h.token, o.token))
}

// grant lets a user in: into its own hold, or as another holder.
func (m Model) grant(s *state, do step) (*state, bool) {
	wanted := m.shape(do.of)
	i, held := slices.BinarySearchFunc(s.holders, wanted, byOwner)
	if held {
		h := s.holders[i]
		h.holds++
		same := h.mode == wanted.mode && h.units == wanted.units && h.capacity == wanted.capacity
		return s.with(i, i+1, h), same
	}
	if !s.fits(wanted) {
		return s, false
	}
	next := s.with(i, i, wanted)
	if m.loose && wanted.mode != holdfast.ModeExclusive {
		next.highest = max(s.highest, wanted.token)
		return next, true
	}
	if m.fenced && wanted.token <= s.highest {
		return next, m.reentrant && do.kept
	}
	next.highest = wanted.token
	return next, true
}

// fits reports whether a user is compatible with all holders.
func (s *state) fits(wanted holder) bool {
	units := wanted.units
	for _, h := range s.holders {
		if h.mode != wanted.mode || h.mode == holdfast.ModeExclusive || h.capacity != wanted.capacity {
			return false
		}
		units += h.units
	}
	return wanted.mode != holdfast.ModeSlots || units <= wanted.capacity
}

// end removes a user, if it is in.
func (m Model) end(s *state, a *Acquisition) (*state, bool) {
	i, held := slices.BinarySearchFunc(s.holders, m.shape(a), byOwner)
	if !held {
		return s, false
	}
	h := s.holders[i]
	if h.holds--; h.holds == 0 {
		return s.with(i, i+1), true
	}
	return s.with(i, i+1, h), true
}

// with returns the state with a range of holders replaced.
func (s *state) with(from, to int, others ...holder) *state {
	next := *s
	next.holders = make([]holder, 0, len(s.holders)-(to-from)+len(others))
	next.holders = append(append(append(next.holders, s.holders[:from]...), others...), s.holders[to:]...)
	return &next
}
