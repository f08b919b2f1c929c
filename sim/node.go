package sim

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/protocol"
)

// plain is the configuration in the form of a real member.
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

// definition describes the settings of the one space on which all members must agree.
func (s *Node) definition() string {
	line := "default " + s.Protocol
	d := protocol.Named(shipped(), s.Protocol)
	if d == nil { // the name is enough
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

// shipped are the protocols of real members; they are only read.
var shipped = sync.OnceValue(member.Protocols)

// Nodes returns how a space is made for each of these protocols, for a caller that makes members from a trace.
func Nodes(protocols ...Protocol) []protocol.Descriptor {
	all := member.Protocols()
	for i := range protocols {
		if p := &protocols[i]; protocol.Named(all, p.Name) == nil {
			all = append(all, p.Descriptor)
		}
	}
	return all
}

// tap records a member's inputs and its entropy, if its trace is wanted. A member of a later version is not recorded:
// its version is not part of its configuration.
func (w *world) tap(m *process, s *Node) *trace.Tap {
	if w.records == nil || w.records(m.name) == nil || s.Newer {
		return nil
	}
	tap := trace.NewTap(s.Rand)
	s.Rand = tap.Entropy().Rand
	return tap
}

// front makes the session machine in front of the machines of a life, and its recorder, if a trace is wanted.
func (m *process) front(s *Node, built Built, tap *trace.Tap) (protocol.Machine, error) {
	plain, err := s.plain()
	if err != nil {
		return nil, err
	}
	plain.Spaces = nil
	for range m.spaces {
		space := s.space()
		space.Protocol = m.world.protocol.Name // regardless of the name that it sends to the others
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
