package sim

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/election"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// centralProtocol is one space of protocol central over the membership.
func centralProtocol() Protocol {
	return Protocol{
		Name: "central", Fewest: 3, Most: 7, Locks: true,
		Faults: Within.Without(StoreSlow).Without(StoreFail),
		Build: func(s Seat) (Built, error) {
			built, err := buildMembership(s)
			if err != nil {
				return built, err
			}
			space, err := central.New(central.Config{Self: built.ID, Table: s.Table, Any: s.Any})
			built.Spaces = []protocol.Machine{space}
			return built, err
		},
		Position: func(m protocol.Message) (Standing, bool) {
			decided, ok := m.(central.Decided)
			gone := decided.Kind == lock.Refused || decided.Kind == lock.Lost
			if !ok || decided.Kind != lock.Queued && !gone {
				return Standing{}, false
			}
			return Standing{Name: decided.Name, Session: decided.Session, Wish: decided.Wish, Reign: decided.Epoch, Tenure: decided.Tenure, Gone: gone}, true
		},
		Wish: func(m protocol.Message) (Standing, bool) {
			acquire, ok := m.(central.Acquire)
			return Standing{Name: acquire.Wish.Name, Session: acquire.Wish.Session, Wish: acquire.Wish.Request}, ok
		},
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{
			central.Acquire{}, central.Release{}, central.Extend{}, central.EndSession{}, central.Decided{},
			central.InfoRequest{}, central.InfoAnswer{}, central.Acks{}, central.Ask{}, central.Answer{},
		}},
	}
}

// membershipMessages are those between the machines below.
func membershipMessages() []protocol.Message {
	return []protocol.Message{
		election.StatusPoll{}, election.StatusAnswer{}, election.Election{}, election.Promise{}, election.Refuse{},
		membership.Poll{}, membership.NewView{}, membership.PollAnswer{}, membership.ViewAck{}, membership.Join{},
		membership.Unwelcome{}, membership.Dropped{}, membership.Resign{},
	}
}

// buildMembership makes the machine below every space.
func buildMembership(s Seat) (Built, error) {
	var cell membership.Cell
	if s.Cell != nil {
		var err error
		if cell, err = membership.DecodeCell(s.Cell); err != nil {
			return Built{}, fmt.Errorf("read the cell: %w", err)
		}
	}
	if s.Newer {
		cell.Accepted = versionAs(cell.Accepted, -1)
	}
	m, err := membership.New(membership.Config{
		Name: s.Name, Address: s.Address, Founders: s.Join, Founder: s.Founder, Kept: s.Kept, Cell: cell, Serves: true,
		Spaces: 1, Definitions: []string{s.definition()}, Lease: s.Lease, Drift: s.Drift, Wall: s.Wall, Rand: s.Rand,
		Available: s.Any, Preempt: s.Preempt,
	})
	if err != nil {
		return Built{}, err
	}
	built := Built{ID: m.Cell().ID, Incarnation: m.Cell().Incarnation, Below: m}
	if s.Newer {
		built.Below = &newer{m}
	}
	return built, nil
}

// definition is what all members must agree on about their one space.
func (s *Seat) definition() string {
	line := "default " + s.Protocol
	if s.Any {
		line += ", partition any"
	}
	if s.Preempt {
		line += ", preempt"
	}
	return line
}
