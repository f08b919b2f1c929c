package sim

import (
	"fmt"
	"math/rand/v2"

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
	if s.Any {
		line += ", partition any"
	}
	if s.Preempt {
		line += ", preempt"
	}
	if s.Placement != 0 {
		line += ", placement " + s.Placement.String()
	}
	if s.HoldOn != 0 {
		line += ", hold_on " + s.HoldOn.String()
	}
	if s.Defer {
		line += ", defer"
	}
	if s.Retain {
		line += ", retain"
	}
	if s.Published {
		line += ", published"
	}
	if s.Grace != 0 {
		line += ", grace " + s.Grace.String()
	}
	if s.Shards != 0 {
		line += fmt.Sprintf(", shards %d", s.Shards)
	}
	if s.Autopilot != 0 {
		line += ", autopilot " + s.Autopilot.String()
	}
	if s.Capacity != 0 {
		line += fmt.Sprintf(", capacity %d", s.Capacity)
	}
	return line
}

// Nodes says how the spaces are made of members that run these protocols, for a caller that makes
// one from a trace.
func Nodes(protocols ...Protocol) []member.Protocol {
	all := member.Protocols()
	known := map[string]bool{}
	for _, p := range all {
		known[p.Name] = true
	}
	for i := range protocols {
		if p := &protocols[i]; !known[p.Name] {
			all = append(all, p.node())
		}
	}
	return all
}

// node is the protocol as that of a member's space.
func (p *Protocol) node() member.Protocol {
	made := member.Protocol{Name: p.Name, New: p.space}
	for _, message := range p.Universe.Above {
		made.Vocabulary = append(made.Vocabulary, message)
	}
	return made
}

// space makes one space of the member with that id: the one above a membership that is
// built beside it, remembers that id, and is thrown away.
func (p *Protocol) space(s *member.Config, space *member.Space, self protocol.ID) (protocol.Machine, error) {
	cell := membership.Cell{ID: self}
	built, err := p.Build(Node{
		Protocol: p.Name, Name: s.Name, Address: s.Address, Founder: s.Founder, Join: s.Founders, Kept: true, Cell: cell.Encode(),
		Wall: s.Wall, Rand: rand.New(rand.NewPCG(0, 0)), Lease: s.Lease, Drift: s.Drift, Any: s.Available, Preempt: s.Preempt, Table: s.Table,
		Placement: space.Placement, HoldOn: space.HoldOn, Defer: space.Defer, Retain: space.Retain, Capacity: space.Capacity,
		Published: space.Published, Grace: space.Grace, Random: space.Random, Claim: space.Claim, Store: space.Store,
		Shards: space.Shards, Autopilot: max(0, space.Autopilot), Logs: space.Logs, Sessions: s.Sessions,
	})
	if err != nil {
		return nil, err
	}
	if len(built.Spaces) != 1 {
		return nil, fmt.Errorf("sim: protocol %s has %d machines above the membership; one is recorded", p.Name, len(built.Spaces))
	}
	return built.Spaces[0], nil
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
