package claim

import (
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// reading is a reading of a clock: some instant between asked and got.
type reading struct {
	sentAt, got protocol.Time
	micros      int64 // 0: none yet
	under       uint64
	pause       protocol.Time
}

// good reports whether the reading is still accurate to half of the skew: its duration, plus the possible drift of our
// clock since.
func (r *reading) good(now protocol.Time, m *Machine) bool {
	age := now - r.got
	return r.micros != 0 && (r.got-r.sentAt)+(m.stretch(age)-age) <= m.config.Skew/2
}

// at returns the time by the reading: never ahead of the clock that was read, as long as ours does not run faster.
func (r *reading) at(now protocol.Time) int64 { return r.micros + (now - r.got).Microseconds() }

// askStoreClock requests the store's time, unless a request is pending, or was too slow just now.
func (m *Machine) askStoreClock(now protocol.Time, out *protocol.Effects) {
	if m.clock.under != 0 || m.clockDue != protocol.Never && m.clockDue > now {
		return
	}
	m.clock.under = m.inquire(now, inquiryStoreTime, nil, nil, 0)
	out.Send(protocol.Storage, storage.Clock{ID: m.clock.under})
}

// onClocked handles the time.
func (m *Machine) onClocked(now protocol.Time, a inquiry, fact storage.Clocked, out *protocol.Effects) {
	switch {
	case a.kind == inquiryStoreTime:
		m.clock.under = 0
		next := reading{sentAt: a.since, got: now, micros: fact.Time, pause: m.clock.pause}
		if fact.Err == nil && next.good(now, m) {
			next.pause = 0
			m.clock = next
			m.touchUndated()
			return
		}
		// The answer came too late, or not: any claim that waits for it waits on.
		m.clock.pause = protocol.Longer(m.clock.pause, m.config.Wait)
		m.clockDue = now + m.jitter(m.clock.pause)
	case a.claim.gone:
	case fact.Err != nil:
		m.fail(now, a.claim, fact.Err, out)
	case a.kind == inquiryTime:
		m.read(now, a.claim, fact.Time, out)
	case m.config.CAS:
		m.datedCell(now, a.claim, fact.Time, out)
	default:
		m.dated(now, a.claim, a.since, fact.Time, out)
	}
}

// touchUndated continues the bids that wait for the store's clock.
func (m *Machine) touchUndated() {
	var waiting []*name
	//tidy:unordered they are put in order
	for _, n := range m.names {
		if n.bid != nil && !n.bid.waits && n.bid.due == protocol.Never {
			waiting = append(waiting, n)
		}
	}
	slices.SortFunc(waiting, byText)
	for _, n := range waiting {
		n.bid.due = 0
		m.touch(n)
	}
}

// wall returns the wall clock in microseconds, for people: it counts from the process's start. 0 if it is not known.
func (m *Machine) wall(now protocol.Time) uint64 {
	if m.config.Wall <= 0 {
		return 0
	}
	return uint64((m.config.Wall + now).Microseconds())
}
