package grantor

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// successor is a member that was named grantor and waits for the previous one's table (the original's young turk).
type successor struct {
	place    Place // its own, with which this ends
	version  authority.Version
	previous Place
	reign    uint64 // in which the one before counts
	chunk    uint32 // that is wanted next
	handover authority.Handover
	since    protocol.Time // when it was named
	lost     bool          // there is no table: it recovers, if it is not deposed
	due      protocol.Time
	pause    protocol.Time

	// younger is the member named in its place in the meantime: then it will never serve.
	younger recipient
	wanted  bool // the younger one has asked for the table
}

// recipient is the member that continues with a table.
type recipient struct {
	place   Place
	version authority.Version
	elder   Place // who has named it
}

// pendingHandover is a table that waits for its recipient, or the knowledge that there is none.
type pendingHandover struct {
	since     protocol.Time
	recipient recipient
	handover  *authority.Handover // nil: none
	cuts      []cut
	requested bool
	sent      bool // all of it; only the last part is kept
}

// cut is the end of a part of a handover.
type cut struct{ entries, unacked int }

// maxPartBytes is the maximum size of one part's texts.
const maxPartBytes = 1 << 20

// requestTable asks the predecessor for the next part of its table.
func (m *Machine) requestTable(now protocol.Time, out *protocol.Effects) {
	t := m.successor
	if !m.present(t.previous) {
		m.loseTable(now, out)
		return
	}
	t.pause = protocol.Longer(t.pause, m.config.Patience)
	t.due = now + t.pause
	out.Send(t.previous.ID, TransferRequest{Version: t.version, Chunk: t.chunk})
}

// loseTable continues without a table: the newest successor recovers from all members, under an epoch in which no reign
// has counted; a deposed one reports that there is no table.
func (m *Machine) loseTable(now protocol.Time, out *protocol.Effects) {
	t := m.successor
	t.lost, t.due, t.handover = true, protocol.Never, authority.Handover{}
	if t.younger.place.ID != 0 {
		m.pass(nil, out)
		return
	}
	m.ask(now, Count, out)
}

// viewSuccessor checks for departed members.
func (m *Machine) viewSuccessor(now protocol.Time, out *protocol.Effects) {
	if b := m.handover; b != nil && (!m.present(b.recipient.place) || !b.requested && !m.present(b.recipient.elder)) {
		m.handover = nil
	}
	t := m.successor
	if t == nil {
		return
	}
	if t.place != m.own() {
		m.successor = nil
		return
	}
	if t.younger.place.ID != 0 && !m.present(t.younger.place) {
		m.successor = nil // it gives up for good: others may have followed
		return
	}
	if !t.lost && !m.present(t.previous) {
		m.loseTable(now, out)
	}
}

// onTransferTable handles a part of the table.
func (m *Machine) onTransferTable(now protocol.Time, from protocol.ID, msg *TransferTable, out *protocol.Effects) {
	t := m.successor
	if t == nil || t.lost || msg.Version != t.version || from != t.previous.ID {
		return
	}
	if msg.None {
		m.loseTable(now, out)
		return
	}
	if msg.Chunk != t.chunk || now >= m.view.Lease.Member {
		return // without a lease no member takes a grant, not even by a table: it asks again
	}
	part := msg.Handover
	part.Entries, part.Unacked = append(t.handover.Entries, part.Entries...), append(t.handover.Unacked, part.Unacked...)
	t.handover = part
	t.chunk, t.pause = t.chunk+1, 0
	switch {
	case !msg.Last:
		m.requestTable(now, out)
	case t.younger.place.ID != 0:
		m.pass(&t.handover, out)
	default:
		m.inherit(now, out)
	}
}

// inherit continues with the received table.
func (m *Machine) inherit(now protocol.Time, out *protocol.Effects) {
	t := m.successor
	reign := authority.Reign{Authority: m.self, Version: t.version, Number: t.handover.Reign, Count: t.handover.Count}
	m.part.SetAbout(authority.About{Elder: m.elderPlace().ID}) // a caller that waits to hear how the space is hears it now
	if !m.part.Inherit(now, reign, &t.handover, out) {
		m.loseTable(now, out)
		return
	}
	m.outlive(t.version)
	m.successor, m.becoming = nil, false
	m.reign, m.place = reign, m.own()
	m.beginPlacement(now, windowsToRest-1)
	m.unpark(now, out)
}

// outlive drops a table that waits for its recipient, when the recipient's reign or a later one has begun: the
// recipient has the table, or continues without it.
func (m *Machine) outlive(begun authority.Version) {
	b := m.handover
	if b != nil && (b.recipient.version == begun || b.recipient.version.Before(begun) && !protocol.Mutated("a table is kept for no reign of before")) {
		m.handover = nil
	}
}

// pass turns a deposed successor into one that has a table, or none, for the younger one.
func (m *Machine) pass(handover *authority.Handover, out *protocol.Effects) {
	t := m.successor
	m.successor = nil
	m.handover = m.cutHandover(t.since, t.younger, handover)
	if t.wanted {
		m.sendTable(0, out)
	}
}

// cutHandover cuts a table into parts.
func (m *Machine) cutHandover(now protocol.Time, to recipient, handover *authority.Handover) *pendingHandover {
	b := &pendingHandover{since: now, recipient: to, handover: handover}
	if handover == nil {
		return b
	}
	items, bytes := 0, 0
	at := cut{}
	grow := func(size int) {
		if items > 0 && (items == m.config.Config.Chunk || bytes+size > maxPartBytes) {
			b.cuts = append(b.cuts, at)
			items, bytes = 0, 0
		}
		items, bytes = items+1, bytes+size
	}
	for i := range handover.Entries {
		grow(entryBytes(&handover.Entries[i]))
		at.entries++
	}
	for i := range handover.Unacked {
		grow(len(handover.Unacked[i].Name))
		at.unacked++
	}
	b.cuts = append(b.cuts, at)
	return b
}

func entryBytes(s *lock.Entry) int { return len(s.Name) + s.TextBytes() + len(s.Client) }

// onTransferRequest sends a recipient a part of the table, and answers all others that there is none. A request that
// arrives before the table is remembered.
func (m *Machine) onTransferRequest(from protocol.ID, msg *TransferRequest, out *protocol.Effects) {
	if b := m.handover; b != nil && b.recipient.place.ID == from && b.recipient.version == msg.Version {
		b.requested = true
		m.sendTable(msg.Chunk, out)
		return
	}
	if t := m.successor; t != nil && t.younger.place.ID == from && t.younger.version == msg.Version {
		t.wanted = true
		return
	}
	out.Send(from, TransferTable{Version: msg.Version, None: true})
}

// sendTable sends a part. When the last one has been sent, the others are never requested again.
func (m *Machine) sendTable(chunk uint32, out *protocol.Effects) {
	b := m.handover
	msg := TransferTable{Version: b.recipient.version, Chunk: chunk}
	last := len(b.cuts) - 1
	switch {
	case b.handover == nil:
		msg.None = true
	case int64(chunk) > int64(last) || b.sent && int(chunk) != last:
		return
	default:
		from := cut{}
		if chunk > 0 && !b.sent {
			from = b.cuts[chunk-1]
		}
		to := b.cuts[chunk]
		if b.sent {
			to = cut{len(b.handover.Entries), len(b.handover.Unacked)}
		}
		msg.Last = int(chunk) == last
		msg.Handover = *b.handover
		msg.Handover.Entries = b.handover.Entries[from.entries:to.entries:to.entries]
		msg.Handover.Unacked = b.handover.Unacked[from.unacked:to.unacked:to.unacked]
		if msg.Last && !b.sent {
			rest := msg.Handover
			rest.Entries, rest.Unacked = slices.Clone(rest.Entries), slices.Clone(rest.Unacked)
			b.handover, b.sent = &rest, true
		}
	}
	out.Send(b.recipient.place.ID, msg)
}

func (m *Machine) transferWake() protocol.Time {
	if m.successor == nil || m.successor.lost {
		return protocol.Never
	}
	return m.successor.due
}

func (m *Machine) transferTick(now protocol.Time, out *protocol.Effects) {
	if t := m.successor; t != nil && !t.lost && t.due <= now && m.admitted() {
		m.requestTable(now, out)
	}
}

// handovers returns this member's transfers.
func (m *Machine) handovers() (under []protocol.Handover) {
	if t := m.successor; t != nil {
		under = append(under, protocol.Handover{From: t.previous.ID, To: m.self, Since: t.since})
	}
	if b := m.handover; b != nil && b.handover != nil && !b.sent {
		under = append(under, protocol.Handover{From: m.self, To: b.recipient.place.ID, Since: b.since})
	}
	if e := m.elder; e != nil && e.deposing != nil {
		under = append(under, protocol.Handover{From: e.deposing.place.ID, To: e.entry.grantor.ID, Since: e.deposing.since})
	}
	return under
}
