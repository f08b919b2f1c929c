package explore

import "slices"

// store has the visited states: eleven bytes each, and their names.
type store struct {
	number  map[digest]uint32
	parent  []uint32
	via     []uint16 // the action of the parent that has led here
	heals   []uint32 // the next state on the way without faults
	settled []bool
}

// none is no state.
const none = 1<<32 - 1

func newStore() store { return store{number: map[digest]uint32{}} }

func (s *store) add(name digest, parent uint32, via uint16, settled bool) uint32 {
	number := uint32(len(s.parent))
	s.number[name] = number
	s.parent = append(s.parent, parent)
	s.via = append(s.via, via)
	s.heals = append(s.heals, none)
	s.settled = append(s.settled, settled)
	return number
}

// path returns the actions that lead to a state. The first selects the initial state.
func (s *store) path(number uint32) (path []uint16) {
	for ; number != none; number = s.parent[number] {
		path = append(path, s.via[number])
	}
	slices.Reverse(path)
	return path
}

// unsettled looks for a state from which the way without faults does not lead to one where everything is answered (P4).
// If not all states were visited, a way that leaves the visited ones proves nothing.
func (s *store) unsettled(all bool) *Found {
	const (
		unknown = iota
		onWay
		ends
	)
	fate := make([]uint8, len(s.parent))
	var way []uint32
	for first := range s.parent {
		way = way[:0]
		at := uint32(first)
		for at != none && fate[at] == unknown && !s.settled[at] {
			fate[at] = onWay
			way = append(way, at)
			at = s.heals[at]
		}
		if at == none && all || at != none && fate[at] == onWay {
			return &Found{
				Violation: Violation{liveness, "without further faults, not all that was asked is answered, or no member may grant, or not all members take part"},
				Path:      s.path(uint32(first)), Healed: len(way),
			}
		}
		for _, passed := range way {
			fate[passed] = ends
		}
	}
	return nil
}
