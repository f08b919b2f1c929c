package session

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Pauses between rounds of trying all addresses.
const (
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// RaceDelay is how long to wait for an address before trying the next one as well (RFC 8305 §5 recommends 250 ms):
// longer than nearly any round trip, so that the first address serves if it can, and short enough that a call through a
// stopped member takes well under a second.
const RaceDelay = 250 * time.Millisecond

// phase is the phase of a search.
type phase uint8

const (
	resting phase = iota // there is a working stream, as far as known
	asking               // the next address is tried when this one has failed, or is slow
	pausing              // before another round
	ended
)

// search looks for a member that serves the client, and again when the stream breaks. It tries the addresses in turn:
// the next one as soon as one has failed, or has not answered for RaceDelay. The first that welcomes the client serves
// it, and the others are dropped.
type search struct {
	phase  phase
	under  []*Contact    // contacts under way
	left   []api.Address // remaining addresses of this round
	before *Session      // the session at the start of the round
	any    bool          // an address was tried in this round
	pause  time.Duration // before the next round
	next   clock.Alarm   // for the next address, or the next round
	rounds int           // rounds started
}

// leave removes a contact that has ended, and reports whether it was under way.
func (q *search) leave(a *Contact) bool {
	at := slices.Index(q.under, a)
	if at < 0 {
		return false
	}
	q.under = slices.Delete(q.under, at, at+1)
	return true
}

// isAsked reports whether an address is being tried.
func (q *search) isAsked(place api.Address) bool {
	return slices.ContainsFunc(q.under, func(a *Contact) bool { return a.Place == place })
}

// answering reports whether there is a working stream, as far as known.
func (m *Machine) answering() bool { return m.stream != nil && !m.doubted }

// seek starts another round, if a stream is needed.
func (m *Machine) seek() {
	q := &m.search
	m.alarms.Stop(&q.next)
	switch {
	case m.abandoned, m.finished && m.stream == nil:
		q.phase = ended
	case m.answering():
		q.phase, q.pause = resting, minPause
	default:
		q.left, q.before, q.any = m.Places(), m.session, false
		q.rounds++
		m.askNext()
	}
}

// askNext tries the next address of the round, or pauses after its last one.
func (m *Machine) askNext() {
	q := &m.search
	if m.answering() { // working again: no further one is needed, but those under way may still serve
		m.seek()
		return
	}
	for len(q.left) > 0 {
		place := q.left[0]
		q.left = q.left[1:]
		if q.isAsked(place) {
			continue
		}
		a := &Contact{Place: place}
		q.under, q.phase, q.any = append(q.under, a), asking, true
		m.alarms.Set(&q.next, m.now+RaceDelay)
		m.out.add(Effect{Kind: Ask, Detail: a.about()})
		return
	}
	if q.phase = pausing; q.any { // otherwise all are being tried, and it continues when one of them has failed
		m.rest()
		q.pause = min(2*q.pause, maxPause)
	}
}

// rest starts the pause before the next round.
func (m *Machine) rest() {
	q := &m.search
	q.phase = pausing
	m.alarms.Set(&q.next, m.now+q.pause/2+m.config.Jitter(q.pause/2))
}

// onNext runs when an address has been tried for long enough, and when a pause is over.
func (m *Machine) onNext() {
	if m.search.phase == asking {
		m.askNext()
	} else {
		m.seek()
	}
}

// onAsked handles a failed address. Decided means that no further address is to be tried for the purpose of the round.
func (m *Machine) onAsked(decided bool) {
	switch q := &m.search; {
	case q.phase == asking && !decided:
		m.askNext()
	case q.phase == asking, q.phase == pausing && decided:
		m.seek()
	case q.phase == pausing && !q.next.IsSet():
		m.rest()
	}
}

// hasten ends the pause before the next round. A round under way continues if its purpose is unchanged.
func (m *Machine) hasten() {
	q := &m.search
	if q.phase == ended || q.phase == asking && m.session == q.before && !m.finished && !m.answering() {
		return
	}
	m.seek()
}

// letGoOthers drops all contacts but the one that was welcomed. One that may still open a session gets the time to end
// it; a contact that resumes a session now resumed elsewhere changes nothing there.
func (m *Machine) letGoOthers(welcomed *Contact) {
	for _, a := range m.search.under {
		if a == welcomed {
			continue
		}
		a.over = true
		m.alarms.Stop(&a.limit)
		e := Effect{Kind: LetGo, Detail: a.about()}
		if a.opens() {
			e.At = CloseLimit
		}
		m.out.add(e)
	}
	m.search.under = nil
}

// Unneeded drops a contact that has not sent anything yet, and reports that it did, if the current stream works again.
func (m *Machine) Unneeded(a *Contact) bool {
	if !a.over && m.answering() {
		a.over = true
		m.search.leave(a)
	}
	return a.over
}
