package bakery

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What an observer can read off a member: it changes nothing.

// Step is how far a ticket is at its master.
type Step uint8

// The steps of a ticket. In the merged set no ticket is StepCounting.
const (
	StepEntering = Step(entering)
	StepCounting = Step(counting)
	StepAdding   = Step(adding)
	StepWaiting  = Step(waiting)
	StepReady    = Step(ready)
	StepLocked   = Step(locked)
)

// Drawn is a ticket that a leader is the master of.
type Drawn struct {
	Key   Key
	For   protocol.ID // whose client's it is
	Step  Step
	First protocol.ID   // which other leader has answered first in this term; 0 where none has
	Slow  []protocol.ID // which have not, where one has
}

// Drawn lists the tickets that this member is the master of, as a leader that serves.
func (m *Machine) Drawn() (list []Drawn) {
	if !m.serves {
		return nil
	}
	for _, t := range m.book.all() {
		if t.master != m.config.Self {
			continue
		}
		d := Drawn{Key: t.Key, For: t.For.ID, Step: Step(t.step)}
		if len(t.heard) > 0 {
			d.First = t.heard[0]
			d.Slow = slices.DeleteFunc(slices.Clone(m.others), func(id protocol.ID) bool { return slices.Contains(t.heard, id) })
		}
		list = append(list, d)
	}
	return list
}

// TakenOver reports whether this member is the master of a ticket that had another one in the term before.
func (m *Machine) TakenOver(key Key) bool {
	if !m.serves {
		return false
	}
	t := m.own(key)
	return t != nil && t.formerly != 0 && t.formerly != m.config.Self
}

// Placed reports whether this member is the master of a ticket whose number a majority of the leaders knows,
// and in which epoch: any ticket that enters from now on gets a higher number.
func (m *Machine) Placed(key Key) (name string, epoch uint64, placed bool) {
	if !m.serves {
		return "", 0, false
	}
	t := m.own(key)
	if t == nil || t.step < waiting {
		return "", 0, false
	}
	return t.Name, m.term.Term.Epoch, true
}

// Request returns which request of this member's clients waits by a ticket. None does that has ended, or holds.
func (m *Machine) Request(key Key) (session lock.SessionID, request uint64, waits bool) {
	r := m.mine[key]
	if r == nil || r.Held || r.Dropped {
		return lock.SessionID{}, 0, false
	}
	return r.Request.Key.Session, r.Request.Key.ID, true
}

// Serves reports whether this member is a leader that has all tickets.
func (m *Machine) Serves() bool { return m.serves }

// Term returns the newest term whose leaders this member knows, and the newest one to which it has agreed;
// they are zero where there was none.
func (m *Machine) Term() (term, promised Term) { return m.term.Term, m.promised }

// Rebuilds reports whether this member is a leader that follows no earlier leaders and does not serve yet: it
// waits for what members claim.
func (m *Machine) Rebuilds() bool { return m.leads && !m.serves && m.term.After == (Term{}) }

// ID returns this member's id.
func (m *Machine) ID() protocol.ID { return m.config.Self }

// Graces is how many names stay taken through this member though the hold limits have passed.
func (m *Machine) Graces() int { return len(m.graces) }

// Behind returns how many other members are behind: more envelopes to each are unheard than were sent again.
func (m *Machine) Behind() (links int) {
	for _, l := range m.links {
		if l.again != 0 {
			links++
		}
	}
	return links
}

// TooLate reports whether an envelope, which is the next on its link, answers for a ticket that has ended: the
// faster answer was enough.
func (m *Machine) TooLate(from protocol.ID, envelope *Envelope) bool {
	if !m.serves || envelope.Term != m.term.Term || envelope.To != m.standing.Place || envelope.From.ID != from || !m.present(envelope.From) {
		return false
	}
	i := slices.IndexFunc(m.links, func(l *link) bool { return l.to.ID == from })
	if i < 0 || envelope.Seq != m.links[i].seen+1 {
		return false
	}
	switch body := envelope.Body.(type) {
	case Entered:
		return m.own(body.Key) == nil
	case Max:
		return m.own(body.Key) == nil
	case Added:
		return m.own(body.Key) == nil
	}
	return false
}
