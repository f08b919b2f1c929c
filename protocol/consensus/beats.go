package consensus

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// mostBeaten is the maximum number of sessions in one message.
const mostBeaten = 4096

// onBeat reports a beat to all shards that know its session.
func (m *Machine) onBeat(call protocol.CallID, f *protocol.Beat, out *protocol.Effects) {
	c := m.clientOf(f.Session)
	b := &beat{call: call, at: m.now, attached: f.Attached, tied: f.Tied}
	if c != nil && !c.enrolled.Own && m.removed() {
		return // its client must continue elsewhere
	}
	if c != nil {
		c.enrolled.Attached = c.enrolled.Attached.Join(f.Attached)
		c.enrolled.Tied = c.enrolled.Tied || f.Tied
		m.findElsewhere(c)
		b.missing = len(c.presences)
		for _, presence := range c.presences {
			m.hear(&hearing{c, presence, b}, out)
		}
	}
	if c == nil || len(c.presences) == 0 {
		out.Reply(call, &protocol.Beaten{})
	}
}

// findElsewhere finds the shards that know a session through another member.
func (m *Machine) findElsewhere(c *client) {
	if len(c.presences) == len(m.parts) {
		return
	}
	for _, p := range m.parts {
		if p.shard == nil || c.presenceAt(p) != nil {
			continue
		}
		if _, lives := p.shard.Replica().Session(c.id); lives {
			c.presences = append(c.presences, &presence{part: p, state: open, heard: -lock.Never})
		}
	}
}

// hear queues a beat for its shard.
func (m *Machine) hear(h *hearing, out *protocol.Effects) {
	switch p := h.presence.part; h.presence.state {
	case opening:
		h.presence.waits = append(h.presence.waits, h)
	case gone:
		h.of.err = holdfast.SessionExpired
		m.counted(h, out)
	case open:
		if m.isFormer(h) || m.isTiedElsewhere(h) {
			m.counted(h, out)
		} else if !m.attach(h, out) {
			p.behind = append(p.behind, h)
			m.flush(p)
		}
	}
}

// mostBatches is the maximum number of batches of beats in flight to the leader. Beats that arrive while there are that
// many go together in the next.
const mostBatches = 4

// batch is the sessions in one message, until it is answered.
type batch struct {
	id     uint64
	at     protocol.Time
	inside []*hearing
}

// flush sends the sessions that were heard, in a separate batch if few are in flight.
func (m *Machine) flush(p *part) {
	if p.shard == nil {
		return
	}
	for len(p.batches) < mostBatches {
		if p.behind = slices.DeleteFunc(p.behind, func(h *hearing) bool { return !m.counts(h) }); len(p.behind) == 0 {
			return
		}
		m.lastNumber++
		count := min(len(p.behind), mostBeaten)
		p.batches = append(p.batches, batch{id: m.lastNumber, inside: p.behind[:count:count]})
		p.behind = p.behind[count:]
		m.sayBatch(p, &p.batches[len(p.batches)-1])
	}
}

// sayBatch sends a batch to the shard's leader.
func (m *Machine) sayBatch(p *part, b *batch) {
	b.at = m.now
	said := shard.Beat{ID: b.id}
	for _, h := range b.inside {
		said.Sessions = append(said.Sessions, h.client.id)
	}
	p.shard.Beat(m.now, said, &p.output)
	m.touch(p)
	m.awaitBeat(p)
}

// awaitBeat checks for the answer to the first batch when it should have come.
func (m *Machine) awaitBeat(p *part) {
	if !p.awaited && len(p.batches) > 0 {
		p.awaited = true
		m.reminders.Push(p.batches[0].at+m.election(), due{what: dueBeat, number: uint64(p.index)})
	}
}

// beatAgain resends an unanswered batch.
func (m *Machine) beatAgain(p *part) {
	p.awaited = false
	if len(p.batches) > 0 && m.now >= p.batches[0].at+m.election() {
		m.resay(p)
		return
	}
	m.awaitBeat(p)
}

// resay resends all unanswered batches, to the current leader. A batch keeps its id and contents, so an answer to the
// first copy also counts: otherwise answers slower than the wait would never count.
func (m *Machine) resay(p *part) {
	for i := range p.batches {
		if protocol.Mutated("late answers to beats count") {
			m.lastNumber++
			p.batches[i].id = m.lastNumber
		}
		m.sayBatch(p, &p.batches[i])
	}
}

// beaten handles the answer.
func (m *Machine) beaten(p *part, b *shard.Beaten, out *protocol.Effects) {
	at := slices.IndexFunc(p.batches, func(said batch) bool { return said.id == b.ID })
	if at < 0 {
		return
	}
	inside := p.batches[at].inside
	p.batches = slices.Delete(p.batches, at, at+1)
	for _, h := range inside {
		if !m.counts(h) {
			continue
		}
		if slices.Contains(b.Gone, h.client.id) {
			h.presence.state = gone
			h.of.err = holdfast.SessionExpired
		} else if !m.isFormer(h) && !h.wasTaken(b.Taken) {
			h.presence.heard = max(h.presence.heard, h.of.at)
			m.reportGrants(h.client, p, out)
		}
		m.counted(h, out)
	}
	m.flush(p)
}

// counted answers a beat when all shards have.
func (m *Machine) counted(h *hearing, out *protocol.Effects) {
	h.of.missing--
	switch {
	case h.client.enrolled.Own:
		if h.of.err != nil {
			m.restart(h.client, out) // it has ended there
		}
	case h.of.missing == 0:
		out.Reply(h.of.call, &protocol.Beaten{Err: h.of.err, Attached: h.of.later})
	}
}

// beatOwn reports a beat of a session of this process, which is heard as long as the process lives.
func (m *Machine) beatOwn(id lock.SessionID, out *protocol.Effects) {
	c := m.owns[id]
	if c == nil || c.beatDue > m.now {
		return
	}
	c.beatDue = m.now + c.enrolled.TTL/3
	m.reminders.Push(c.beatDue, due{what: dueOwn, session: id})
	for _, presence := range c.presences {
		if presence.state == open {
			m.hear(&hearing{c, presence, &beat{at: m.now, missing: 1}}, out)
		}
	}
}
