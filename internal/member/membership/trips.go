package membership

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The time a phase waits for answers must follow the latency of messages. Answers that take longer than T would arrive
// after their phase has ended, again and again, and no view would ever form. So a member measures round trips by its
// own clock: from the beginning of phase 1 to each answer, even if phase 1 has ended without it.
//
// A phase then waits for 1.25 round trips, and at least T. No promise depends on it: an answer that comes too late does
// not count, and promises are counted as always. It only affects whether survivors keep their leases through an
// election. So a single answer, which may be late because a connection had to be made, is believed only as far as that
// allows. If two answers show a longer round trip, no shorter phase would help.

const (
	// mostPatience is the largest part of the lease that a phase waits, as a divisor. If that is not enough, a
	// coordinator is not well in its own eyes: no quorum has answered its polls within S.
	mostPatience = 4
	// lateSurveys is the number of latest surveys whose answers are still measured.
	lateSurveys = 4
)

// trips records round trips.
type trips struct {
	began []round         // the latest surveys; empty once a coordinator is found
	of    map[string]trip // by address; once a coordinator is found, only those that T is too short for
	noted time.Duration   // wait of a phase when slow links were last noted; 0 if they are not slow
}

// trip holds the latencies of the answers to two surveys, those within T included.
type trip struct {
	survey        uint64        // the latest answered
	latest, other time.Duration // other is 0 if there is only one
}

// begin records the start of a survey, and forgets addresses that are no longer asked.
func (t *trips) begin(now protocol.Time, survey *election.Survey) {
	t.began = append(t.began, round{survey.Number, now})
	t.began = t.began[max(0, len(t.began)-lateSurveys):]
	//tidy:unordered each is kept or not by itself
	maps.DeleteFunc(t.of, func(address string, _ trip) bool { return !slices.Contains(survey.Polled, address) })
}

// end records that a coordinator is found, and forgets irrelevant data.
func (t *trips) end(enough time.Duration) {
	if len(t.began) == 0 {
		return
	}
	t.began = nil
	//tidy:unordered each is kept or not by itself
	maps.DeleteFunc(t.of, func(_ string, known trip) bool { return known.least() <= enough })
	if len(t.of) == 0 {
		t.of = nil
	}
}

// take records the arrival of an answer, the first to its survey.
func (t *trips) take(now protocol.Time, a election.StatusAnswer, enough time.Duration) {
	i := slices.IndexFunc(t.began, func(r round) bool { return r.seq == a.Number })
	known := t.of[a.Self.Address]
	if i < 0 || known.survey >= a.Number {
		return
	}
	if t.of == nil {
		t.of = map[string]trip{}
	}
	t.of[a.Self.Address] = trip{survey: a.Number, latest: max(now-t.began[i].at, enough), other: known.latest}
}

// least returns the shorter of the two, or the only one.
func (t *trip) least() time.Duration {
	if t.other == 0 {
		return t.latest
	}
	return min(t.latest, t.other)
}

// longest returns the longest round trip by a single answer, where there are no two, and by the shorter of two. Either
// is 0 if there is none.
func (t *trips) longest() (once, twice time.Duration) {
	//tidy:unordered the greatest is the same in any order
	for _, known := range t.of {
		if known.other == 0 {
			once = max(once, known.least())
		} else {
			twice = max(twice, known.least())
		}
	}
	return once, twice
}

// measure records the latency of an answer.
func (m *Machine) measure(now protocol.Time, a election.StatusAnswer, out *protocol.Effects) {
	if !m.isPlace(m.cell.Accepted, a.Self.Address) ||
		protocol.Mutated("patience below a round trip") || protocol.Mutated("patience follows round trips") {
		return
	}
	m.trips.take(now, a, m.enough())
	trip, patience := m.believedTrip(), m.patience()
	switch {
	case patience == m.config.Patience:
		m.trips.noted = 0
	case patience > m.trips.noted*3/2 && trip > m.enough():
		m.trips.noted = patience
		out.Note(Slow{Trip: trip, Configured: m.config.Patience, Patience: patience})
	}
}

// believedTrip returns the longest round trip: one known from a single answer counts only as far as the lease allows.
func (m *Machine) believedTrip() time.Duration {
	once, twice := m.trips.longest()
	if waited(once) <= m.config.lasting() {
		return max(once, twice)
	}
	return twice
}

// enough returns the longest round trip that T suffices for.
func (m *Machine) enough() time.Duration { return m.config.Patience * 4 / 5 }

// waited returns how long a phase waits for a given round trip.
func waited(trip time.Duration) time.Duration { return trip + trip/4 }

// patience returns how long to wait for an answer: T, or longer if round trips are.
func (m *Machine) patience() time.Duration {
	once, twice := m.trips.longest()
	return max(m.config.Patience, min(waited(once), m.config.lasting()), min(waited(twice), m.config.Lease/mostPatience))
}

// waitsOn reports whether a ballot continues after its time. A member that preempts, or merges sides, begins with phase
// 2, so it may have measured no round trip. While no other member has answered it waits as long as a round trip may
// ever take: in partition mode any it would otherwise lead alone while the promises are under way.
func (m *Machine) waitsOn(now protocol.Time) bool {
	most := m.ballot.Sent + m.config.Lease/mostPatience
	if !m.ballot.Preempts && !m.ballot.Merge || !m.ballot.Unheard() || now >= most || protocol.Mutated("who preempts has measured nothing") {
		return false
	}
	m.until = most
	return true
}

// Slow notes that links are too slow for the configuration, so that the member waits longer for answers; again when the
// wait is half as long again.
type Slow struct{ Trip, Configured, Patience time.Duration }

func (n Slow) String() string {
	return fmt.Sprintf("links are slow: a round trip takes %v, so an answer is waited for %v, and not %v; raise lease",
		n.Trip.Round(time.Millisecond), n.Patience.Round(time.Millisecond), n.Configured)
}
