package membership

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// keeping tracks the cell on disk, and the messages that must wait for it. One write is in flight at a time; later
// changes go into the next.
type keeping struct {
	starting bool // the first write is not yet acknowledged
	written  Cell // the known content of the disk
	sure     bool // the content of the disk is certain: no write has failed since
	wanted   bool // a write of the current cell is needed
	saving   bool // a write is in flight
	inflight Cell
	carries  list // the newest list in it
	lastSave uint64
	queue    []waiting
	covers   int           // number of queued messages covered by the write in flight
	failed   error         // of the latest write
	sentAt   protocol.Time // when the latest write was sent
	trying   bool          // a write was sent, and none has succeeded since
	tryingAt protocol.Time // with trying: when the first of those was sent
	failures int           // failed writes among those
	stale    bool          // noted that none has succeeded for a lease
	pause    time.Duration // between a failed write and the next; zero after a success
	urgent   bool          // a machine above waits for the next write
}

// list identifies a list of pledges.
type list struct {
	epoch  protocol.Epoch
	number uint64
}

// waiting is a message that depends on the cell. It is sent once the cell is written; if the write fails it is lost,
// and the member that waits for it asks again.
type waiting struct {
	to  protocol.ID
	msg protocol.Message
}

// sendSaved sends a message once the disk has the current cell. A message to this member itself is handled within the
// same step. A later message replaces an earlier one of its kind, so a disk that does not answer costs no memory.
func (m *Machine) sendSaved(to protocol.ID, msg protocol.Message) {
	m.wanted = true
	if m.saving || m.pause > 0 {
		for i := m.covers; i < len(m.queue); i++ {
			if m.queue[i].to == to && isPromise(m.queue[i].msg) == isPromise(msg) {
				m.queue[i].msg = msg
				return
			}
		}
	}
	m.queue = append(m.queue, waiting{to, msg})
}

func isPromise(msg protocol.Message) bool { _, is := msg.(election.Promise); return is }

// remember requests a write of the cell without a message that waits for it.
func (m *Machine) remember() { m.wanted = true }

// settle brings the disk in line with the cell, and applies the consequences, until this step has nothing left to do.
func (m *Machine) settle(now protocol.Time, out *protocol.Effects) {
	for {
		switch {
		case m.wanted && !m.saving && now >= m.writeAt():
			m.wanted = false
			m.write(now, out)
		case len(m.inner) > 0:
			msg := m.inner[0]
			m.inner = m.inner[1:]
			m.onMessage(now, m.self, msg, out)
		default:
			m.inner = nil
			m.publish(now, out)
			m.answerHorizon(out)
			m.answerLeave(out)
			m.answerForce(now, out)
			return
		}
	}
}

// write starts a write, unless the disk already has these bytes. Without a stable cell it completes at once.
func (m *Machine) write(now protocol.Time, out *protocol.Effects) {
	m.inflight, m.covers, m.carries = m.cell, len(m.queue), list{m.roundOf, m.listed}
	m.sentAt, m.urgent = now, false
	if !m.config.Kept || m.sure && m.cell == m.written {
		m.onWritten(now, nil, out)
		return
	}
	m.saving = true
	if !m.trying {
		m.trying, m.tryingAt = true, now
	}
	m.lastSave++
	out.Send(protocol.Storage, storage.Save{ID: m.lastSave, Data: m.inflight.Encode()})
}

// onSaved handles the storage's answer.
func (m *Machine) onSaved(now protocol.Time, saved storage.Saved, out *protocol.Effects) {
	if !m.saving || saved.ID != m.lastSave {
		return // of an abandoned write, or a duplicate
	}
	m.saving = false
	m.onWritten(now, saved.Err, out)
}

// onWritten applies the consequences of a completed write.
func (m *Machine) onWritten(now protocol.Time, err error, out *protocol.Effects) {
	m.failed, m.sure = err, err == nil
	if err != nil {
		m.onUnwritten(now, err, out)
		return
	}
	m.written, m.pause = m.inflight, 0
	if m.failures > 0 || m.stale {
		out.Note(Resaved{After: now - m.tryingAt, Failures: m.failures})
	}
	m.trying, m.failures, m.stale = false, 0, false
	if m.carries.epoch == m.roundOf {
		m.stored = max(m.stored, m.carries.number)
	}
	m.noteRecorded(0)
	if m.starting {
		m.starting = false
		m.started(now, out)
	}
	said := m.queue[:m.covers]
	m.queue = append([]waiting(nil), m.queue[m.covers:]...)
	for _, w := range said {
		w.msg = m.remembering(w.msg)
		if w.to == m.self {
			m.inner = append(m.inner, w.msg)
		} else {
			out.Send(w.to, w.msg)
		}
	}
}

// remembering adds to an answer which pledges the disk has now.
func (m *Machine) remembering(msg protocol.Message) protocol.Message {
	switch answer := msg.(type) {
	case PollAnswer:
		answer.Stored = m.storedIn(answer.Epoch)
		return answer
	case ViewAck:
		answer.Answer.Stored = m.storedIn(answer.Answer.Epoch)
		return answer
	}
	return msg
}

// writeAt returns when the cell may be written next. A failed write is retried after a pause that doubles up to T/2,
// counted from when the write was sent: a candidate that asks for a promise waits longer than that. A request of a
// machine above, and a member's last write, are tried at once.
func (m *Machine) writeAt() protocol.Time {
	if m.urgent {
		return m.sentAt
	}
	return m.sentAt + m.pause
}

// keepWake returns when a delayed write may be sent.
func (m *Machine) keepWake() protocol.Time {
	if !m.wanted || m.saving {
		return protocol.Never
	}
	return m.writeAt()
}

// onUnwritten drops all messages that depend on a failed write. The disk may have the old bytes or the new ones, so the
// cell is written again even without a request.
func (m *Machine) onUnwritten(_ protocol.Time, err error, out *protocol.Effects) {
	m.queue, m.covers = append([]waiting(nil), m.queue[m.covers:]...), 0
	m.pause = min(max(2*m.pause, m.config.Patience/16, 1), max(m.config.Patience/2, 1))
	m.wanted, m.urgent = true, false
	if m.starting {
		m.refuse(err, out)
		return
	}
	m.withdraw()
	out.Note(Unsaved{Err: err, First: m.failures == 0})
	m.failures++
}

// blocked reports whether the disk has been failing for so long, by errors or silence, that it may not recover soon:
// actions that depend on this member's own write cannot happen.
func (m *Machine) blocked(now protocol.Time) bool {
	return m.failed != nil && m.pause >= m.config.Patience/2 || m.saving && !m.starting && now >= m.sentAt+m.config.Patience
}

// unsaved reports whether no write has succeeded for a lease. A coordinator then gives up its role, if others can take
// it, and notes [Stale] for the log.
func (m *Machine) unsaved(now protocol.Time) bool {
	return m.trying && !m.starting && now >= m.tryingAt+m.config.Lease
}

// noteStale notes once that no write has succeeded for a lease.
func (m *Machine) noteStale(now protocol.Time, out *protocol.Effects) {
	if !m.stale && m.unsaved(now) {
		m.stale = true
		out.Note(Stale{For: m.config.Lease, Err: m.failed})
	}
}

// staleWake returns when a failing disk will have failed for a lease.
func (m *Machine) staleWake() protocol.Time {
	if !m.trying || m.stale || m.starting {
		return protocol.Never
	}
	return m.tryingAt + m.config.Lease
}

// refuse makes the member unfit: it cannot run at all.
func (m *Machine) refuse(err error, out *protocol.Effects) {
	m.unfit = true
	out.Raise(&Unfit{Err: err})
}

// Unsaved notes a failed write of the cell; First reports that the one before it succeeded.
type Unsaved struct {
	Err   error
	First bool
}

func (n Unsaved) String() string { return "writing the stable cell: " + n.Err.Error() }

// Stale notes that no write of the cell has succeeded for a lease. Err is the error of the latest answered write; nil
// if none was answered.
type Stale struct {
	For time.Duration
	Err error
}

// Why returns the reason as a sentence.
func (n Stale) Why() string { return whyUnsaved(n.Err) }

func (n Stale) String() string {
	return fmt.Sprintf("the stable cell could not be written for %v: %s", n.For, n.Why())
}

// whyUnsaved explains why writes do not succeed.
func whyUnsaved(err error) string {
	if err == nil {
		return "the disk does not answer"
	}
	return err.Error()
}

// Resaved notes that the cell is written again, after a number of failed writes.
type Resaved struct {
	After    time.Duration // since the first unsuccessful write
	Failures int
}

func (n Resaved) String() string {
	return fmt.Sprintf("the stable cell is written again, after %v", n.After)
}

// must ends a member whose invariant is broken: it may die, it may not lie
// (docs/design/membership.md §10).
func must(holds bool, format string, args ...any) {
	if !holds {
		panic("membership: " + fmt.Sprintf(format, args...))
	}
}
