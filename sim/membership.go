package sim

import (
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"slices"
)

// below lists the messages between the machines below the spaces. A member that passes on old news makes others wait.
func (p *Protocol) below() []any {
	return slices.DeleteFunc(wire.Values(election.Messages, membership.Messages), func(m any) bool {
		_, defers := m.(membership.JoinDeferred)
		return p.never(m) || defers && (!p.Peers || p.Stores)
	})
}

// routine reports whether a message only confirms that nothing has changed.
func (p *Protocol) routine(m protocol.Message) bool {
	switch m := m.(type) {
	case membership.Poll, election.StatusPoll, election.StatusAnswer:
		return true
	case membership.PollAnswer:
		return !m.Leaving
	}
	return p.Routine != nil && p.Routine(m)
}

// Build makes the machines of one life of a member: the membership, which knows the members present, the coordinator
// and the end of each member's lease, and one space above it.
func (p *Protocol) Build(s Node) (Built, error) {
	plain, err := s.plain()
	if err != nil {
		return Built{}, err
	}
	m, err := plain.Membership(member.Entropy{Rand: s.Rand})
	if err != nil {
		return Built{}, err
	}
	cell := m.Cell()
	built := Built{ID: cell.ID, Incarnation: cell.Incarnation, Below: m}
	if s.Newer {
		built.Below = &newer{m}
	}
	plain.Spaces[0].Protocol = p.Name // regardless of the name that it sends to the others
	space, err := plain.NewSpace(0, cell, []protocol.Descriptor{p.Descriptor})
	built.Spaces = []protocol.Machine{space}
	return built, err
}
