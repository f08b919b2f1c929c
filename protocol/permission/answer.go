package permission

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// onRequest answers a peer that wants a name: at once, or when nothing is before it here any more. A copy of a request
// gets the same answer as the first one, or a better one.
func (m *Machine) onRequest(now protocol.Time, from protocol.ID, msg *Request, out *protocol.Effects) {
	wanted := msg.Shape
	if err := m.malformed(msg, wanted); err != nil {
		// By value: the hot path's message must not outlive this step.
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d: %v", *msg, from, err)})
		return
	}
	m.see(msg.Clock)
	p := &m.peers[m.peerAt(from)]
	p.clock = max(p.clock, msg.Clock)
	p.harmless, p.unmet = false, false // answered here, or later
	nm := m.names[msg.Name]
	if nm == nil {
		out.Send(from, Reply{Tag: m.standing.Tag(), Number: msg.Number, Last: m.given})
		return
	}
	c := m.before(nm, Stamp{msg.Clock, from}, wanted)
	switch {
	case c.free():
		m.reply(nm, from, msg.Number, wanted, out)
		m.touch(nm)
	case c.otherCapacity != 0:
		out.Send(from, CapacityConflict{Tag: m.standing.Tag(), Number: msg.Number, Capacity: c.otherCapacity})
	default:
		m.postpone(now, nm, from, msg, wanted, &c, out)
	}
}

// malformed returns the error of a request that no honest member sends.
func (m *Machine) malformed(msg *Request, wanted holdfast.Shape) error {
	if err := lock.CheckKnown(msg.Name); err != nil {
		return err
	}
	switch {
	case msg.Number == 0:
		return fmt.Errorf("number 0")
	case !m.possible(msg.Clock):
		return fmt.Errorf("clock %s in epoch %d", clockText(msg.Clock), m.standing.View.Epoch.Counter)
	case wanted.Mode > holdfast.ModeSlots:
		return fmt.Errorf("unknown mode %v", wanted.Mode)
	case wanted.Mode == holdfast.ModeSlots && (wanted.Units < 1 || wanted.Capacity < wanted.Units || wanted.Capacity > holdfast.MaxCapacity):
		return fmt.Errorf("slots %d/%d", wanted.Units, wanted.Capacity)
	case wanted.Mode != holdfast.ModeSlots && (wanted.Units != 0 || wanted.Capacity != 0):
		return fmt.Errorf("units without slots")
	}
	return nil
}

// reply gives permission for a request, and with it for all earlier requests of its member: those have older stamps.
func (m *Machine) reply(nm *name, to protocol.ID, number uint64, wanted holdfast.Shape, out *protocol.Effects) {
	count, shares := 1, wanted.Mode == holdfast.ModeShared
	nm.debts = slices.DeleteFunc(nm.debts, func(d debt) bool {
		settled := d.peer == to && d.number <= number
		if settled && d.number < number {
			count++
		}
		shares = shares && (!settled || d.shape.Mode == holdfast.ModeShared)
		return settled
	})
	answer := Reply{Tag: m.standing.Tag(), Number: number, Last: m.given, Count: count}
	if count > 1 {
		answer.Name = nm.text
	}
	out.Send(to, answer)
	m.giveBack(nm, to, shares)
}

// postpone defers a request: its member is answered when nothing is before it any more. A request that does not wait is
// answered at once, and not remembered.
func (m *Machine) postpone(now protocol.Time, nm *name, from protocol.ID, msg *Request, wanted holdfast.Shape, c *claim, out *protocol.Effects) {
	fits, copied := c.fits(wanted), false
	if !msg.Try {
		copied = m.owe(nm, debt{peer: from, number: msg.Number, stamp: Stamp{msg.Clock, from}, shape: wanted, reported: everything}, c, fits)
	}
	if fits {
		out.Send(from, Free{Tag: m.standing.Tag(), Number: msg.Number, Last: m.given, Uses: c.uses, By: c.heldBy(now)})
		m.giveBack(nm, from, false) // it may be compatible with the use here
		return
	}
	if msg.Try || copied || m.config.Defer {
		out.Send(from, Defer{Tag: m.standing.Tag(), Number: msg.Number, By: c.heldBy(now)})
	}
}

// owe remembers a request that was deferred, and reports whether it was before.
func (m *Machine) owe(nm *name, d debt, c *claim, fits bool) (known bool) {
	if fits {
		d.reported = c.uses
	}
	of := 0
	for i := range nm.debts {
		if nm.debts[i].peer != d.peer {
			continue
		}
		if nm.debts[i].number == d.number || d.shape.Mode == holdfast.ModeSlots && protocol.Mutated("a debt is a flag") {
			nm.debts[i].reported = min(nm.debts[i].reported, d.reported)
			return true
		}
		of++
	}
	if of >= maxDebts {
		oldest := slices.IndexFunc(nm.debts, func(o debt) bool { return o.peer == d.peer })
		nm.debts = slices.Delete(nm.debts, oldest, oldest+1)
	}
	nm.debts = append(nm.debts, d)
	return false
}

// payDebts answers the deferred requests, as far as what was before them has ended. Several answers to one peer are
// combined.
func (m *Machine) payDebts(now protocol.Time, nm *name, out *protocol.Effects) {
	for i := 0; i < len(nm.debts); {
		d := &nm.debts[i]
		c := m.before(nm, d.stamp, d.shape)
		if c.free() {
			peer, number, wanted := d.peer, d.number, d.shape
			for _, later := range nm.debts[i+1:] {
				if later.peer != peer || later.number < number {
					continue
				}
				if c := m.before(nm, later.stamp, later.shape); c.free() {
					number, wanted = later.number, later.shape
				}
			}
			m.reply(nm, peer, number, wanted, out)
			i = 0
			continue
		}
		if c.fits(d.shape) && c.uses < d.reported {
			d.reported = c.uses
			out.Send(d.peer, Free{Tag: m.standing.Tag(), Number: d.number, Last: m.given, Uses: c.uses, By: c.heldBy(now)})
			m.giveBack(nm, d.peer, false)
		}
		i++
	}
}

// impossible returns the error of an answer that no honest member sends.
func (m *Machine) impossible(message any) error {
	var last holdfast.Token
	var by lock.HeldBy
	units, numbers := 1, 0
	switch msg := message.(type) {
	case Reply:
		last, numbers = msg.Last, msg.Count
	case Free:
		last, units, by = msg.Last, msg.Uses, msg.By
	case Defer:
		by = msg.By
	case CapacityConflict:
		units = msg.Capacity
	}
	switch {
	case !m.possible(uint64(last)):
		return fmt.Errorf("token %s in epoch %d", clockText(uint64(last)), m.standing.View.Epoch.Counter)
	case units < 1 || units > holdfast.MaxCapacity:
		return fmt.Errorf("%d units; 1 to %d are possible", units, holdfast.MaxCapacity)
	case numbers < 0:
		return fmt.Errorf("%d of them", numbers)
	case by.Others < 0:
		return fmt.Errorf("%d others", by.Others)
	case by.Age < 0:
		return fmt.Errorf("a hold that began %v from now", -by.Age)
	}
	return nil
}

// onReply handles a permission: for a request, and for all earlier ones.
func (m *Machine) onReply(now protocol.Time, from protocol.ID, msg *Reply, out *protocol.Effects) {
	nm := m.names[msg.Name]
	if r := m.active[msg.Number]; r != nil {
		nm = r.name
	}
	if nm == nil {
		return // no request wants it any more
	}
	var few [4]*request // mostly there is one, and a request that enters may change the list
	for _, earlier := range append(few[:0], nm.active()...) {
		later := earlier.number > msg.Number && !(m.config.Capacity != 0 && protocol.Mutated("one counter for replies"))
		if later || earlier.Held || earlier.Dropped {
			continue
		}
		m.take(earlier, from, 0, false, msg.Last)
		m.enterIfAllowed(now, earlier, out)
	}
}

// onFree handles a report of how much a peer uses before a request.
func (m *Machine) onFree(now protocol.Time, from protocol.ID, msg *Free, out *protocol.Effects) {
	r := m.active[msg.Number]
	if r == nil || r.Held || r.Shape.Mode != holdfast.ModeSlots || m.config.Capacity != 0 {
		return
	}
	m.take(r, from, msg.Uses, true, msg.Last)
	r.By = &msg.By
	m.enterIfAllowed(now, r, out)
	if !r.Held && m.answered(r) {
		m.clients.LetWait(r)
	}
}

// take records a peer's bound, with the highest token that it has given.
func (m *Machine) take(r *request, from protocol.ID, uses int, deferred bool, last holdfast.Token) {
	m.knows(from, r.clock)
	r.last = max(r.last, last)
	m.clock = max(m.clock, uint64(last))
	if r.bounds == nil {
		r.bounds = make([]bound, 0, len(m.peers))
	}
	r.learn(from, uses, deferred)
}

// onDefer handles a peer's notice that it will reply later. Requests that do not wait for it are refused.
func (m *Machine) onDefer(now protocol.Time, from protocol.ID, msg *Defer, out *protocol.Effects) {
	r := m.active[msg.Number]
	if r == nil || r.Held {
		return
	}
	r.learn(from, everything, true)
	m.clients.LetWait(r)
	r.By = &msg.By
	if !r.Try {
		return
	}
	deferred := 0
	for i := range r.bounds {
		if r.bounds[i].uses == everything {
			deferred++
		}
	}
	if deferred < max(m.config.Capacity, 1) {
		return // there may be an entry left
	}
	m.clients.Deny(now, r, r.By, out)
}

// onCapacityConflict refuses slots of another capacity than the live ones.
func (m *Machine) onCapacityConflict(now protocol.Time, from protocol.ID, msg *CapacityConflict, out *protocol.Effects) {
	r := m.active[msg.Number]
	if r == nil || r.Held || r.Shape.Mode != holdfast.ModeSlots {
		return
	}
	m.clients.Deny(now, r, fmt.Errorf("%w: capacity %d is asked for, and the name has capacity %d", holdfast.ErrConflict, r.Shape.Capacity, msg.Capacity), out)
}
