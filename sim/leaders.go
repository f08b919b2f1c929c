package sim

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Coverage for a protocol whose leaders number tickets, and the time from which a ticket has its place: the step of a
// ticket at which its master, the first leader to answer, or its owner crashes; the outcome of the ticket; the members
// that learn the leader; and late messages. It draws nothing and changes nothing.

// Rows of coverage for leaders.
var (
	leadTakenOver = mark{"leaders", "a ticket taken over, then locked"} // by who has followed its master
	leadEmpty     = mark{"leaders", "a leader comes back empty while others have tickets"}
	leadSender    = mark{"leaders", "crash of the sender of tickets"} // on their way to the next term
	leadReceiver  = mark{"leaders", "crash of the receiver of tickets"}
	leadHold      = mark{"leaders", "a lock is claimed of leaders that follow no other"}
	leadRequest   = mark{"leaders", "a wish is claimed of leaders that follow no other"}
	leadAgain     = mark{"leaders", "who leads, lost and sent again"}
	leadOlder     = mark{"leaders", "an older election comes late"}
	leadNewcomer  = mark{"leaders", "a newcomer learns who leads"}
	leadGrace     = mark{"leaders", "a grace ends"}
	leadEnded     = mark{"leaders", "an answer comes when its ticket has ended"} // the slower one
	leadSilent    = mark{"leaders", "crash of who has not answered for a ticket that goes on"}
	leadRefused   = mark{"leaders", "an election refused for want of an epoch, then held"}
	leadStopped   = mark{"leaders", "a holder says in its grace that it has stopped"}
	leadBehind    = mark{"leaders", "a link is behind"} // by more envelopes than are sent again at a time
	leadCaughtUp  = mark{"leaders", "a link has caught up"}
)

var ticketNames = [probe.TicketSteps]string{"choosing", "added", "waiting", "ready", "locked"}

// Roles of members in a ticket.
const (
	ticketMaster = iota
	ticketFirst
	ticketOwner
	ticketParts
)

var partNames = [ticketParts]string{"the master of a ticket that is ", "who has answered first for a ticket that is ", "the owner of a ticket that is "}

// ticketCrash is the crash of a member with a role in a ticket.
func ticketCrash(part int, step probe.TicketStep) mark {
	return mark{"ticket", "crash of " + partNames[part] + ticketNames[step]}
}

// led is the world's record of a member in such a protocol.
type led struct {
	served  bool // it served when it crashed last
	missed  bool // the message that names the leader was lost
	refused bool // it has heard that leaders cannot be elected yet
	graces  int
	behind  int // members that lag behind this one's messages
}

// bereavesTickets is called when a member is about to crash.
func (w *world) bereavesTickets(m *process) {
	if m.space() == nil {
		return
	}
	var struck [ticketParts][probe.TicketSteps]bool
	silent := false
	for _, leader := range w.members {
		if leader.space() == nil {
			continue
		}
		for _, t := range w.protocol.LeaderProbe.Drawn(leader.space()) {
			struck[ticketMaster][t.Step] = struck[ticketMaster][t.Step] || leader == m
			struck[ticketFirst][t.Step] = struck[ticketFirst][t.Step] || t.First == m.id
			struck[ticketOwner][t.Step] = struck[ticketOwner][t.Step] || t.Owner == m.id
			silent = silent || t.Step > probe.TicketChoosing && slices.Contains(t.Slow, m.id)
		}
	}
	for part := range struck {
		for step, is := range struck[part] {
			w.exercises(ticketCrash(part, probe.TicketStep(step)), is)
		}
	}
	sends, gets := false, false
	for i := range w.slots {
		t := &w.slots[i]
		if t.kind != taskMessage || protocol.Port(t.port) == protocol.Below || w.protocol.LeaderProbe.TopicOf(nil, t.fact) != probe.TopicTickets {
			continue
		}
		sends = sends || t.from == uint64(m.id)
		gets = gets || t.to == m.place && t.id == uint64(m.id)
	}
	w.exercises(leadSilent, silent)
	w.exercises(leadSender, sends)
	w.exercises(leadReceiver, gets)
	m.led = led{served: m.led.served || w.protocol.LeaderProbe.Serves(m.space())}
}

// returns is called when a member has a view that lists it: if it had served before a crash, it has no state left.
func (w *world) returns(m *process) {
	if !m.led.served {
		return
	}
	m.led.served = false
	for _, other := range w.members {
		if other != m && other.space() != nil && len(w.protocol.LeaderProbe.Drawn(other.space())) > 0 {
			w.exercises(leadEmpty, true)
			return
		}
	}
}

// sendsAsLeader is called when a member sends a message to another one.
func (w *world) sendsAsLeader(from, to *process, m protocol.Message) {
	switch w.protocol.LeaderProbe.TopicOf(from.space(), m) {
	case probe.TopicTakenOver:
		w.exercises(leadTakenOver, true)
	case probe.TopicTickets:
		w.nemesis.strikeEither(2, from, to)
	}
}

// misses is called when a message to a member is lost.
func (w *world) misses(m *process, message protocol.Message) {
	if w.protocol.LeaderProbe != nil && w.protocol.LeaderProbe.TopicOf(nil, message) == probe.TopicLeaders {
		m.led.missed = true
	}
}

// finds is called before a message reaches a member, and returns a function to call afterwards.
func (w *world) finds(m *process, from protocol.ID, message any) (after func()) {
	space := m.space()
	if space == nil || m.view == nil {
		return nil
	}
	switch found := w.protocol.LeaderProbe.Finds(space, m.view, from, message); found {
	case probe.FindsNothing:
	case probe.FindsEnded:
		w.exercises(leadEnded, true)
	case probe.FindsOlder:
		w.exercises(leadOlder, true)
	case probe.FindsHold:
		w.exercises(leadHold, true)
	case probe.FindsRequest:
		w.exercises(leadRequest, true)
	case probe.FindsLeaders, probe.FindsNewcomer:
		w.exercises(leadNewcomer, found == probe.FindsNewcomer)
		w.exercises(leadAgain, m.led.missed)
		w.exercises(leadRefused, m.led.refused)
		m.led.missed, m.led.refused = false, false
	case probe.FindsRefused:
		m.led.refused = true
	}
	return func() {
		if m.space() == space {
			w.places(m, message)
		}
	}
}

// places tells the judge that a ticket has its place: later requests come after it (P5).
func (w *world) places(master *process, message any) {
	ticket, placed := w.protocol.LeaderProbe.Placed(master.space(), message)
	owner := w.network.of[ticket.Owner]
	if !placed || owner == nil || owner.space() == nil || owner.view == nil || owner.id != ticket.Owner {
		return
	}
	session, request, waits := w.protocol.LeaderProbe.Request(owner.space(), ticket)
	if !waits {
		return
	}
	key := requestKey{lock.SessionID{Member: uint64(ticket.Owner)}, ticket.Number}
	w.judge.requestsOf(ticket.Name, key, requestKey{session, request})
	w.judge.stands(ticket.Name, key, ticket.Reign)
}

// graced is called after each step of a member.
func (w *world) graced(m *process) {
	before := m.led.graces
	if m.led.graces = 0; m.space() != nil {
		m.led.graces = w.protocol.LeaderProbe.Graces(m.space())
	}
	w.exercises(leadGrace, m.led.graces < before && m.leased())
	behind := 0
	if m.space() != nil {
		behind = w.protocol.LeaderProbe.Behind(m.space())
	}
	w.exercises(leadBehind, behind > m.led.behind)
	w.exercises(leadCaughtUp, behind < m.led.behind && m.leased())
	m.led.behind = behind
}
