package sim

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"math/rand/v2"
	"time"
)

// grantorProtocol is one space of protocol grantor over the membership.
func grantorProtocol() Protocol {
	return Protocol{
		Name: "grantor", Fewest: 3, Most: 7, Locks: true, Moves: true,
		Faults: Within &^ ofStores,
		Build:  OneSpace("grantor"), draw: drawGrantor,
		Decides:       func(space protocol.Machine) (uint64, bool) { return space.(*grantor.Machine).Reign() },
		Costs:         func(int) []Cost { return grantorCosts() },
		Position:      position,
		Routine:       routineOfHolders,
		Request:       requestOfHolders,
		TransferProbe: movingGrantor{},
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{
			authority.Acquire{}, authority.Release{}, authority.Extend{}, authority.EndSession{}, authority.Decided{},
			authority.InfoRequest{}, authority.InfoAnswer{}, authority.Acks{}, authority.Revalidate{}, authority.Query{}, authority.Answer{},
			grantor.Question{}, grantor.Info{}, grantor.Depose{}, grantor.Deposed{}, grantor.Inquiry{}, grantor.InquiryAnswer{},
			grantor.TransferRequest{}, grantor.TransferTable{}, grantor.Invite{}, grantor.Invited{}, grantor.NotGrantor{},
		}},
	}
}

// grantorCosts are those of Geode's message flows (its section 9) with the table handed over
// by its holder: what central's are, with the grantor in the coordinator's place, and 6 for a
// transfer between two members neither of which is the elder, for any number of members.
func grantorCosts() []Cost {
	return append(centralCosts(), Cost{
		Deed: Become, Least: 6, Most: 6, Formula: "BECOME, Depose, Deposed, Info, TransferRequest, TransferTable",
	})
}

// movingGrantor is what coverage knows of grantors.
type movingGrantor struct{}

// Step reads off a message which step of a transfer it is.
func (movingGrantor) Step(m any) TransferStep {
	switch m := m.(type) {
	case grantor.Invite:
		return StepInvite
	case grantor.Question:
		if m.Kind == grantor.Become {
			return StepBecome
		}
	case grantor.Depose:
		return StepDepose
	case grantor.Deposed:
		return StepDeposed
	case grantor.Info:
		if m.Beginning == grantor.Inheriting {
			return StepNamed
		}
	case grantor.TransferRequest:
		return StepRequest
	case grantor.TransferTable:
		switch {
		case m.Last:
			return StepLast
		case !m.None:
			return StepTable
		}
	}
	return 0
}

// Becoming reads off a space whether its member is to become the grantor.
func (movingGrantor) Becoming(space protocol.Machine) bool {
	return space.(*grantor.Machine).Becoming()
}

// Unused reads off a space how many grants its member keeps that no client uses.
func (movingGrantor) Unused(space protocol.Machine) int { return space.(*grantor.Machine).Unused() }

// RecallIn reads off a word of a grantor that it asks a member to give way: it tells a grant that
// is known there, and does not allow any more that it is kept.
func (movingGrantor) RecallIn(space protocol.Machine, m any) Keeping {
	decided, is := m.(authority.Decided)
	if !is || decided.Kind != lock.Granted || decided.Keep {
		return KeepsNothing
	}
	switch may, unused := space.(*grantor.Machine).KeepsOn(&decided); {
	case unused:
		return KeepsUnused
	case may:
		return KeepsUsed
	}
	return KeepsNothing
}

// drawGrantor draws the options of a space whose authority moves.
func drawGrantor(s *settings, r *rand.Rand) {
	between := func(least, most time.Duration) time.Duration {
		drawn := r.IntN(3) == 0
		if d := least + time.Duration(r.Int64N(int64(most-least))); drawn {
			return d.Round(time.Millisecond)
		}
		return 0
	}
	if placement := between(time.Second, 6*time.Second); placement > 0 {
		s.set("placement", placement)
		s.lockOften()
	}
	if holdOn := between(time.Second, 20*time.Second); holdOn > 0 {
		s.set("hold_on", holdOn)
	}
}

// Places reads off a note that a grantor lets another member become it.
func (movingGrantor) Places(note protocol.Note) bool {
	_, is := note.(grantor.Placing)
	return is
}
