package bakery

import (
	"cmp"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Members' messages are checked before they have any effect.

// malformed returns the error of a message that no honest member sends.
func malformed(body Body) error {
	switch msg := body.(type) {
	case nil:
		return fmt.Errorf("an envelope without a message")
	case Entering:
		return msg.Ticket.malformed()
	case Lock:
		return msg.Ticket.malformed()
	case Entered:
		return beyond("number", msg.Max, maxNumber)
	case Max:
		return beyond("number", msg.Max, maxNumber)
	case Add:
		if msg.Number == 0 {
			return fmt.Errorf("number 0")
		}
		return cmp.Or(beyond("number", msg.Number, maxNumber), beyond("count", msg.Count, lock.MaxCount))
	case Added:
		return beyond("count", msg.Vote.Count, maxVote)
	case Exiting:
		return beyond("count", msg.Count, lock.MaxCount)
	case Activate:
		return beyond("count", msg.Count, lock.MaxCount)
	case Activated:
		return beyond("count", msg.Vote.Count, maxVote)
	case Locked:
		if msg.Token == 0 {
			return fmt.Errorf("no token")
		}
	case Unlocking:
		if msg.Left <= 0 {
			return fmt.Errorf("a grace of %v", msg.Left)
		}
	case Claim:
		for i := range msg.Claims {
			if err := msg.Claims[i].Ticket.malformed(); err != nil {
				return err
			}
		}
	case Tickets:
		return msg.malformed()
	}
	return nil
}

// The maximum values of numbers. A vote is above the highest count in its request, and the number of a ticket above all
// that were drawn one by one.
const (
	maxNumber = 1 << 62
	maxVote   = lock.MaxCount + 2*maxLeaders
)

// beyond returns an error if a number is above its maximum.
func beyond(what string, number, most uint64) error {
	if number > most {
		return fmt.Errorf("%s %d; at most %d is possible", what, number, most)
	}
	return nil
}

// malformed returns the error of a ticket that no honest member draws.
func (t *Ticket) malformed() error {
	if err := lock.CheckKnown(t.Name); err != nil {
		return err
	}
	slots := t.Mode == holdfast.ModeSlots
	switch {
	case t.Key.Number == 0 || t.Key.Member == 0:
		return fmt.Errorf("no key")
	case t.Mode > holdfast.ModeSlots:
		return fmt.Errorf("unknown mode %v", t.Mode)
	case slots && (t.Units < 1 || t.Capacity < t.Units || t.Capacity > maxCapacity):
		return fmt.Errorf("slots %d/%d", t.Units, t.Capacity)
	case !slots && (t.Units != 0 || t.Capacity != 0):
		return fmt.Errorf("units without slots")
	}
	return nil
}

// malformed returns the error of a handover that no honest leader sends.
func (m *Tickets) malformed() error {
	if err := beyond("floor", m.Floor, maxVote); err != nil {
		return err
	}
	for i := range m.Names {
		state := &m.Names[i]
		if err := beyond("count", state.Count, maxVote); err != nil {
			return err
		}
		for j := range state.Tickets {
			n := &state.Tickets[j]
			if err := cmp.Or(n.Ticket.malformed(), beyond("number", n.Number, maxNumber)); err != nil {
				return err
			}
			if n.Left < 0 {
				return fmt.Errorf("a grace of %v", n.Left)
			}
		}
	}
	return nil
}
