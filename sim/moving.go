package sim

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Coverage for a protocol whose authority can be handed over: what a crash of a member interrupts, how many members are
// to become the authority at once, how many a table passes through, and what becomes of grants that members keep. It
// draws nothing and changes nothing: a run is the same with and without it.

var stepNames = [probe.Steps]string{
	probe.StepInvite: "invite", probe.StepBecome: "become", probe.StepDepose: "depose", probe.StepDeposed: "deposed", probe.StepNamed: "named",
	probe.StepRequest: "table request", probe.StepTable: "table", probe.StepLast: "table",
}

// Outcomes of grants that members keep.
var (
	heldLent    = mark{"held on", "lent"}               // to a client by its member
	heldUnused  = mark{"held on", "asked back, unused"} // and given back at once
	heldUsed    = mark{"held on", "asked back, in use"}
	heldTooLong = mark{"held on", "given back after its time"}
	heldLost    = mark{"held on", "crash of who keeps something"}
)

// elderCrash is the crash of an elder that has deposed a member, and has no answer yet.
var elderCrash = mark{"transfer", "crash of an elder between depose and deposed"}

// transferCrash is the crash of the sender or the receiver of a step in flight.
func transferCrash(who string, step probe.TransferStep) mark {
	return mark{"transfer", "crash of the " + who + " of " + stepNames[step]}
}

// The words for a number of members; numbers above mostSuccessors count as mostSuccessors.
var amounts = [mostSuccessors + 1]string{1: "one", 2: "two", 3: "three", 4: "four"}

// atOnce is the mark of so many members that are to become the authority at the same time.
func atOnce(n int) mark {
	return mark{"transfer", amounts[min(n, mostSuccessors)] + " becoming at once"}
}

// chain is the mark of a table that passes through so many members.
func chain(n int) mark {
	return mark{"transfer", "a table through " + amounts[min(n, mostSuccessors)] + " successors"}
}

// mover is the world's record of transfers.
type mover struct {
	becoming int       // members that are to become the authority
	hops     [][]uint8 // members that had the table that one place has sent to another
	taking   *process  // the member that is just taking the last part of a table
}

func newMover(places int) mover {
	m := mover{}
	for range places {
		m.hops = append(m.hops, make([]uint8, places))
	}
	return m
}

// space is the users' space, or nil.
func (m *process) space() protocol.Machine {
	if !m.up || len(m.spaces) == 0 {
		return nil
	}
	if w, is := m.spaces[0].(*watched); is {
		return w.Machine
	}
	return m.spaces[0]
}

// moved is called after each step of a member.
func (w *world) moved(m *process) {
	if w.protocol.LeaderProbe != nil {
		w.graced(m)
	}
	if w.protocol.TransferProbe == nil {
		return
	}
	space := m.space()
	becoming := space != nil && w.protocol.TransferProbe.Becoming(space)
	if becoming != m.becoming {
		m.becoming = becoming
		if !becoming {
			w.mover.becoming--
		} else if w.mover.becoming++; w.mover.becoming > 1 {
			w.count.hits[atOnce(w.mover.becoming)]++
		}
	}
	w.nemesis.kept(m)
	if m.hops > 0 && w.mover.taking != m {
		if _, decides := m.reigns(); decides {
			m.hops = 0 // the tables that it hands over from now on are its own
		}
	}
}

// sends is called when a member sends a message to another one.
func (w *world) sends(from, to *process, m protocol.Message) {
	if w.protocol.LeaderProbe != nil {
		w.sendsAsLeader(from, to, m)
	}
	if w.protocol.TransferProbe == nil {
		return
	}
	step := w.protocol.TransferProbe.Step(m)
	if step == probe.StepLast {
		w.mover.hops[from.place][to.place] = from.hops
	}
	if step != 0 {
		w.nemesis.interrupt(step, from, to)
	}
}

// takes is called before a message reaches a member, and returns a function to call afterwards.
func (w *world) takes(m *process, from protocol.ID, message any) (after func()) {
	switch {
	case w.protocol.PeerProbe != nil:
		return w.meets(m, from, message)
	case w.protocol.LeaderProbe != nil:
		return w.finds(m, from, message)
	case w.protocol.TransferProbe == nil:
		return nil
	}
	if w.settings.known.HoldOn > 0 {
		if after := w.recalls(m, message); after != nil {
			return after
		}
	}
	if !m.becoming || w.protocol.TransferProbe.Step(message) != probe.StepLast {
		return nil
	}
	sender := w.network.of[from]
	if sender == nil {
		return nil
	}
	w.mover.taking = m
	m.hops = w.mover.hops[sender.place][m.place] + 1
	return func() {
		w.mover.taking = nil
		if m.becoming { // it was not the part that the member waits for
			m.hops = 0
			return
		}
		if _, decides := m.reigns(); decides {
			w.count.hits[chain(int(m.hops))]++
			m.hops = 0
		}
	}
}

// recalls checks whether a member that is asked to give way does so.
func (w *world) recalls(m *process, message any) (after func()) {
	recall := func() probe.Keeping {
		if space := m.space(); space != nil {
			return w.protocol.TransferProbe.RecallIn(space, message)
		}
		return probe.KeepsNothing
	}
	before := recall()
	if before == probe.KeepsNothing {
		return nil
	}
	return func() {
		switch now := recall(); {
		case now != probe.KeepsNothing: // it was void
		case before == probe.KeepsUnused:
			w.count.hits[heldUnused]++
		default:
			w.count.hits[heldUsed]++
		}
	}
}

// unused is the number of grants that a member keeps without a client that uses them.
func (m *process) unused() int {
	if m.world.settings.known.HoldOn == 0 || m.world.protocol.TransferProbe == nil || m.space() == nil {
		return 0
	}
	return m.world.protocol.TransferProbe.Unused(m.space())
}

// woken counts grants that a member has returned because their time was over: it keeps fewer than before it was woken,
// and has its lease.
func (w *world) woken(m *process, before int) {
	if before > 0 && m.leased() {
		w.count.hits[heldTooLong] += max(0, before-m.unused())
	}
}

// strikes is called when a member is about to crash: the crash may interrupt a transfer, or destroy what the member
// keeps.
func (w *world) strikes(m *process) {
	moving := w.protocol.TransferProbe
	if w.protocol.PeerProbe != nil {
		w.bereaves(m)
	}
	if w.protocol.LeaderProbe != nil {
		w.bereavesTickets(m)
	}
	if moving == nil {
		return
	}
	w.exercises(heldLost, m.unused() > 0)
	var struck [2][probe.Steps]bool
	for i := range w.slots {
		t := &w.slots[i]
		if t.kind != taskMessage || protocol.Port(t.port) == protocol.Below {
			continue
		}
		if step := min(moving.Step(t.fact), probe.StepTable); step != 0 { // the last part of a table is a part
			struck[0][step] = struck[0][step] || t.from == uint64(m.id)
			struck[1][step] = struck[1][step] || t.to == m.place && t.id == uint64(m.id)
		}
	}
	for step := range probe.Steps {
		w.exercises(transferCrash("sender", step), struck[0][step])
		w.exercises(transferCrash("receiver", step), struck[1][step])
	}
	w.exercises(elderCrash, struck[0][probe.StepDepose] || struck[1][probe.StepDeposed])
}

// ends is called when the process of a member has ended.
func (w *world) ends(m *process) {
	if m.becoming {
		w.mover.becoming--
	}
	m.becoming, m.hops = false, 0
}
