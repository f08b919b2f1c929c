package membership

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Spaces closed at a member, for the status of the others.
//
// A space reports this to its own member (protocol.SpaceState). The member's poll answers report it to the coordinator
// (PollAnswer.Closed), and the coordinator's polls to all members (Poll.Closed). No rule depends on it. A newly elected
// coordinator learns of a member's spaces with its first poll answer.

// Closed lists the spaces that are closed at a member: their ports, sorted.
type Closed struct {
	Member protocol.ID
	Ports  []protocol.Port
}

// closedSpaces records which spaces are closed at which members.
type closedSpaces struct {
	here      []protocol.Port // sorted; replaced and never modified, since it is sent
	elsewhere []Closed        // as sent by the coordinator
}

// onSpaceState records that a space was closed or opened at this member.
func (m *Machine) onSpaceState(port protocol.Port, fact *protocol.SpaceState) {
	i, was := slices.BinarySearch(m.closed.here, port)
	switch {
	case was == fact.Closed:
		return
	case was:
		m.closed.here = slices.Delete(slices.Clone(m.closed.here), i, i+1)
	default:
		m.closed.here = slices.Insert(slices.Clone(m.closed.here), i, port)
	}
	m.hasten()
}

// closedAnywhere lists, for a coordinator's polls, the members with closed spaces.
func (m *Machine) closedAnywhere() (list []Closed) {
	for _, member := range m.reign.current().Members {
		if ports := m.closedAt(member); len(ports) > 0 {
			list = append(list, Closed{Member: member.ID, Ports: ports})
		}
	}
	slices.SortFunc(list, func(a, b Closed) int { return cmp.Compare(a.Member, b.Member) })
	return list
}

// closedAt lists the spaces closed at a member of the view, as far as is known here.
func (m *Machine) closedAt(member election.Member) []protocol.Port {
	if member.ID == m.self {
		return m.closed.here
	}
	if m.reign != nil {
		if t := m.reign.tracks[member.ID]; t != nil && t.tenure == member.Tenure {
			return t.closed
		}
		return nil
	}
	if i, known := slices.BinarySearchFunc(m.closed.elsewhere, member.ID, func(c Closed, id protocol.ID) int { return cmp.Compare(c.Member, id) }); known {
		return m.closed.elsewhere[i].Ports
	}
	return nil
}
