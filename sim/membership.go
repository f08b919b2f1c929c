package sim

import (
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// below are the messages between the machines below the spaces. Who tells what it has not heard of lets others wait.
func (p *Protocol) below() []protocol.Message {
	all := []protocol.Message{
		election.StatusPoll{}, election.StatusAnswer{}, election.Election{}, election.Promise{}, election.Refuse{},
		membership.Poll{}, membership.NewView{}, membership.PollAnswer{}, membership.ViewAck{}, membership.Join{},
		membership.Unwelcome{}, membership.Dropped{}, membership.Resign{},
	}
	if p.Peers && !p.Stores {
		all = append(all, membership.JoinDeferred{})
	}
	return all
}

// routine reports whether a message says only that nothing has changed.
func (p *Protocol) routine(m protocol.Message) bool {
	switch m := m.(type) {
	case membership.Poll, election.StatusPoll, election.StatusAnswer:
		return true
	case membership.PollAnswer:
		return !m.Leaving
	}
	return p.Routine != nil && p.Routine(m)
}

// Above builds members of the membership and one space above it, made by space for the
// member of that id.
func Above(space func(protocol.ID) protocol.Machine) func(Node) (Built, error) {
	return func(s Node) (Built, error) {
		built, err := Membership(s)
		built.Spaces = []protocol.Machine{space(built.ID)}
		return built, err
	}
}

// Membership makes the machine below every space: Built without spaces. It knows which members are here,
// which one coordinates, and until when each may hold, as in every member that ships.
func Membership(s Node) (Built, error) {
	plain, err := s.plain()
	if err != nil {
		return Built{}, err
	}
	built, _, err := s.membership(plain)
	return built, err
}

// membership makes that machine from the configuration of the member, and returns its cell.
func (s *Node) membership(plain *member.Config) (Built, membership.Cell, error) {
	m, err := plain.Membership(member.Entropy{Rand: s.Rand})
	if err != nil {
		return Built{}, membership.Cell{}, err
	}
	cell := m.Cell()
	built := Built{ID: cell.ID, Incarnation: cell.Incarnation, Below: m}
	if s.Newer {
		built.Below = &newer{m}
	}
	return built, cell, nil
}
