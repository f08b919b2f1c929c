package session

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Pauses between rounds of asking all addresses.
const (
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// RaceDelay is how long an address has been asked before the next one is asked as well
// (RFC 8305 §5 recommends 250 ms): longer than a round trip takes nearly everywhere, so that
// the first address serves as long as it can, and short enough that a call through a
// member that stands still takes well under a second.
const RaceDelay = 250 * time.Millisecond

// phase is what a search does.
type phase uint8

const (
	resting phase = iota // there is a stream that answers, as far as known
	asking               // the next address is asked when this one has failed, or is slow
	pausing              // before another round
	ended
)

// search looks for a member that serves the client, and looks again when the stream breaks.
// It asks the addresses in turn: the next one as soon as one has failed, or
// has not answered for RaceDelay. The first that welcomes the client serves it, and the
// others are let go.
type search struct {
	phase  phase
	under  []*Contact    // that are asked
	left   []api.Address // of this round
	before *Session      // the session, when the round began
	any    bool          // an address was asked in this round
	pause  time.Duration // before the next round
	next   clock.Alarm   // of the next address, or of the next round
	rounds int           // that have begun
}

// leave takes a contact out that has ended, and reports whether it was asked.
func (q *search) leave(a *Contact) bool {
	at := slices.Index(q.under, a)
	if at < 0 {
		return false
	}
	q.under = slices.Delete(q.under, at, at+1)
	return true
}

// isAsked reports whether an address is being asked.
func (q *search) isAsked(place api.Address) bool {
	return slices.ContainsFunc(q.under, func(a *Contact) bool { return a.Place == place })
}

// answering reports whether there is a stream that answers, as far as known.
func (m *Machine) answering() bool { return m.stream != nil && !m.doubted }

// seek begins another round, if a stream is needed.
func (m *Machine) seek() {
	q := &m.search
	m.alarms.Stop(&q.next)
	switch {
	case m.abandoned, m.finished && m.stream == nil:
		q.phase = ended
	case m.answering():
		q.phase, q.pause = resting, minPause
	default:
		q.left, q.before, q.any = m.places(), m.session, false
		q.rounds++
		m.askNext()
	}
}

// askNext asks the next address of the round, or makes a pause behind its last one.
func (m *Machine) askNext() {
	q := &m.search
	if m.answering() { // again: no further one is needed, and those that are asked may serve nevertheless
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
	if q.phase = pausing; q.any { // else all are being asked, and it goes on when one of them has failed
		m.rest()
		q.pause = min(2*q.pause, maxPause)
	}
}

// rest makes a pause before the next round.
func (m *Machine) rest() {
	q := &m.search
	q.phase = pausing
	m.alarms.Set(&q.next, m.now+q.pause/2+m.config.Jitter(q.pause/2))
}

// onNext is called when an address has been asked for long enough, and when a pause is over.
func (m *Machine) onNext() {
	if m.search.phase == asking {
		m.askNext()
	} else {
		m.seek()
	}
}

// onAsked takes note that an address has failed. Decided says that no further one is to be asked for what the round began with.
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

// hasten ends the pause before the next round. A round that is under way goes on, if it is still about the same.
func (m *Machine) hasten() {
	q := &m.search
	if q.phase == ended || q.phase == asking && m.session == q.before && !m.finished && !m.answering() {
		return
	}
	m.seek()
}

// letGoOthers lets all contacts go but the one that was welcomed. One that may open a session
// yet is given the time to end it; what a member hears of a session that is resumed
// elsewhere changes nothing there.
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

// Unneeded lets a contact go that has asked nothing yet, and reports that it did, if the stream that there is answers again.
func (m *Machine) Unneeded(a *Contact) bool {
	if !a.over && m.answering() {
		a.over = true
		m.search.leave(a)
	}
	return a.over
}
