package grantor

import (
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

func probes() probe.Probes {
	p := authority.Probes()
	p.Draw, p.Costs, p.TransferProbe = draw, costs, transfers{}
	p.Known = func(o protocol.Options) probe.Known { return probe.Known{HoldOn: o.(*Options).HoldOn} }
	p.Tables = func(space protocol.Machine, now protocol.Time) []probe.Table {
		return space.(*Machine).part.Tables(now)
	}
	p.Decides = func(space protocol.Machine) (uint64, bool) { return space.(*Machine).Reign() }
	// An elder asks whether one view follows another directly, so that of their numbers the difference matters as well.
	p.Timed = []probe.Field{
		{In: elderhood{}, Name: "number", Kind: probe.ViewOf},
		{In: Place{}, Name: "Since", Kind: probe.ViewOf},
		{In: InquiryAnswer{}, Name: "Since", Kind: probe.ViewOf},
	}
	return p
}

// draw draws the options of a space whose authority moves.
func draw(r *probe.Run) {
	between := func(least, most time.Duration) time.Duration {
		drawn := r.IntN(3) == 0
		if d := least + time.Duration(r.Int64N(int64(most-least))); drawn {
			return d
		}
		return 0
	}
	if placement := between(time.Second, 6*time.Second); placement > 0 {
		r.Set("placement", placement)
		r.Often, r.Reigns = true, true
	}
	if holdOn := between(time.Second, 20*time.Second); holdOn > 0 {
		r.Set("hold_on", holdOn)
	}
}

// costs are those of Geode's message flows (its section 9) with the table handed over by its holder: central's, with
// the grantor in the coordinator's place, and 6 for a transfer between two members neither of which is the elder, for
// any number of members.
func costs(members int) []probe.Cost {
	return append(authority.Probes().Costs(members), probe.Cost{
		Deed: probe.Become, Least: 6, Most: 6, Formula: "BECOME, Depose, Deposed, Info, TransferRequest, TransferTable",
	})
}

// transfers reads grantors for coverage.
type transfers struct{}

// Step reads off a message which step of a transfer it is.
func (transfers) Step(m any) probe.TransferStep {
	switch m := m.(type) {
	case Invite:
		return probe.StepInvite
	case Question:
		if m.Kind == Become {
			return probe.StepBecome
		}
	case Depose:
		return probe.StepDepose
	case Deposed:
		return probe.StepDeposed
	case Info:
		if m.Beginning == Inheriting {
			return probe.StepNamed
		}
	case TransferRequest:
		return probe.StepRequest
	case TransferTable:
		switch {
		case m.Last:
			return probe.StepLast
		case !m.None:
			return probe.StepTable
		}
	}
	return 0
}

// Becoming reports whether a space's member has asked the elder to be named, or was named, and does not have the
// previous grantor's table yet.
func (transfers) Becoming(space protocol.Machine) bool {
	m := space.(*Machine)
	if m.successor != nil {
		return !m.successor.lost
	}
	return m.seek != nil && m.seek.question.Kind == Become
}

// Unused returns how many of a member's kept grants no client uses.
func (transfers) Unused(space protocol.Machine) int { return space.(*Machine).part.Unused() }

// RecallIn reports whether a grantor's message recalls a kept grant: it repeats a grant that is known there, without
// the permission to keep it.
func (transfers) RecallIn(space protocol.Machine, m any) probe.Keeping {
	decided, is := m.(authority.Decided)
	if !is || decided.Kind != lock.Granted || decided.Keep {
		return probe.KeepsNothing
	}
	switch may, unused := space.(*Machine).part.KeepsOn(&decided); {
	case unused:
		return probe.KeepsUnused
	case may:
		return probe.KeepsUsed
	}
	return probe.KeepsNothing
}

// Places reports whether a note says that a grantor lets another member become it.
func (transfers) Places(note protocol.Note) bool {
	_, is := note.(Placing)
	return is
}
