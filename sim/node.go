package sim

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/protocol"
)

// plain is the configuration as that of a real member.
func (s *Node) plain() (*member.Config, error) {
	var cell membership.Cell
	if s.Cell != nil {
		var err error
		if cell, err = membership.DecodeCell(s.Cell); err != nil {
			return nil, fmt.Errorf("read the cell: %w", err)
		}
	}
	if s.Newer {
		cell.Accepted = versionAs(cell.Accepted, -1)
	}
	return &member.Config{
		Name: s.Name, Address: s.Address, Founders: s.Join, Founder: s.Founder, Kept: s.Kept, Cell: cell, Serves: true,
		Spaces: []member.Space{s.space()}, Definitions: []string{s.definition()},
		Lease: s.Lease, Drift: s.Drift, Wall: s.Wall, Available: s.Any, Preempt: s.Preempt, Table: s.Table, Sessions: s.Sessions,
	}, nil
}

// definition is what all members must agree on about their one space.
func (s *Node) definition() string {
	line := "default " + s.Protocol
	d := protocol.Named(shipped(), s.Protocol)
	if d == nil { // the name says enough
		return line
	}
	options, err := d.Parse(s.space().Options)
	if err != nil {
		panic(fmt.Sprintf("sim: options %v: %v", s.Options, err))
	}
	for _, o := range options.List().Agreed() {
		line += ", " + o.Name + " " + o.Text()
	}
	return line
}

// shipped are the protocols that members run; they are read alone.
var shipped = sync.OnceValue(member.Protocols)

// Nodes says how the spaces are made of members that run these protocols, for a caller that makes
// one from a trace.
func Nodes(protocols ...Protocol) []protocol.Descriptor {
	all := member.Protocols()
	for i := range protocols {
		if p := &protocols[i]; protocol.Named(all, p.Name) == nil {
			all = append(all, p.Descriptor)
		}
	}
	return all
}

// tap stands between a member and its chance where what it does is written down. A member
// of a later version is not recorded: what makes it one is no part of its configuration.
func (w *world) tap(m *process, s *Node) *trace.Tap {
	if w.records == nil || w.records(m.name) == nil || s.Newer {
		return nil
	}
	tap := trace.NewTap(s.Rand)
	s.Rand = tap.Entropy().Rand
	return tap
}

// front makes the session machine in front of the machines of a life, and what records it, if that is
// wanted.
func (m *process) front(s *Node, built Built, tap *trace.Tap) (protocol.Machine, error) {
	plain, err := s.plain()
	if err != nil {
		return nil, err
	}
	plain.Spaces = nil
	for range m.spaces {
		space := s.space()
		space.Protocol = m.world.protocol.Name // regardless of what it says to the others
		plain.Spaces = append(plain.Spaces, space)
	}
	random, cell := member.Entropy{Rand: s.Rand}, membership.Cell{ID: built.ID, Incarnation: built.Incarnation}
	if tap != nil {
		random = tap.Entropy()
	}
	sessions, err := plain.NewSession(random, cell, Nodes(*m.world.protocol), protocol.Stack(m.below, m.spaces...))
	if err != nil || tap == nil {
		return sessions, err
	}
	return trace.New(trace.Config{
		Config: plain, Machine: sessions, Cell: cell, Tap: tap, Protocols: Nodes(*m.world.protocol), Store: trace.To(m.world.records(m.name)),
	})
}
