package membership

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// How long a phase waits for answers has to follow how long messages take. Answers that take longer than T would come
// when their phase has ended, again and again, and no view would ever form. So a member measures round trips by its
// own clock: from the beginning of phase 1 until an answer to it comes, also when phase 1 has ended without it.
//
// A phase waits for a round trip and a quarter then, and for T at least. Nothing of what is promised depends on it: an
// answer that comes too late counts for nothing, and promises are counted as ever. What follows from it is whether
// survivors keep their leases through an election; so one answer, which may be late for having waited until a connection
// was made, is believed as far as that allows. Where two say that a round trip takes longer, no shorter phase would help.

const (
	// mostPatience is the largest part of the lease that a phase waits. Where that is not enough a coordinator is not well in
	// its own eyes: no quorum has answered what it has sent within S.
	mostPatience = 4
	// lateSurveys is of how many surveys the answers still tell how long they took.
	lateSurveys = 4
)

// trips records round trips.
type trips struct {
	began []round         // of the latest surveys; none when a coordinator is found
	of    map[string]trip // by address; none that T is long enough for when a coordinator is found
	noted time.Duration   // what a phase waited when it was noted last that links are slow; 0 where they are not
}

// trip is how long the answers to two surveys took. One that came in time for T took that.
type trip struct {
	survey        uint64        // the latest that was answered
	latest, other time.Duration // other is 0 where there was none before
}

// begin notes that a survey begins, and forgets who is not asked any more.
func (t *trips) begin(now protocol.Time, survey *election.Survey) {
	t.began = append(t.began, round{survey.Number, now})
	t.began = t.began[max(0, len(t.began)-lateSurveys):]
	//tidy:unordered each is kept or not by itself
	maps.DeleteFunc(t.of, func(address string, _ trip) bool { return !slices.Contains(survey.Polled, address) })
}

// end notes that a coordinator is found, and forgets what is of no consequence.
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

// take notes when an answer has come, the first to its survey.
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

// least is the shorter of two, or the only one.
func (t *trip) least() time.Duration {
	if t.other == 0 {
		return t.latest
	}
	return min(t.latest, t.other)
}

// longest is the longest round trip by one answer, where there are no two, and by the shorter of two. Either is 0 where
// there is none.
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

// measure takes the time that an answer took.
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

// believedTrip is the longest round trip: one that a single answer tells only where it is no longer than the lease allows for.
func (m *Machine) believedTrip() time.Duration {
	once, twice := m.trips.longest()
	if waited(once) <= m.config.lasting() {
		return max(once, twice)
	}
	return twice
}

// enough is the longest round trip that T is long enough for.
func (m *Machine) enough() time.Duration { return m.config.Patience * 4 / 5 }

// waited is how long a phase waits for what takes a round trip.
func waited(trip time.Duration) time.Duration { return trip + trip/4 }

// patience is how long an answer is waited for: T, or longer where round trips are.
func (m *Machine) patience() time.Duration {
	once, twice := m.trips.longest()
	return max(m.config.Patience, min(waited(once), m.config.lasting()), min(waited(twice), m.config.Lease/mostPatience))
}

// waitsOn reports whether a ballot goes on though patience is at its end. A member that preempts, and one that merges sides,
// begins with phase 2, so it may have measured no round trip. While no other member has answered it waits for as long as a
// round trip may ever take: in partition any it would lead alone while their promises are under way.
func (m *Machine) waitsOn(now protocol.Time) bool {
	most := m.ballot.Sent + m.config.Lease/mostPatience
	if !m.ballot.Preempts && !m.ballot.Merge || !m.ballot.Unheard() || now >= most || protocol.Mutated("who preempts has measured nothing") {
		return false
	}
	m.until = most
	return true
}

// Slow notes that links are too slow for what is configured, so that answers are waited for longer; again, when that is
// half as long again.
type Slow struct{ Trip, Configured, Patience time.Duration }

func (n Slow) String() string {
	return fmt.Sprintf("links are slow: a round trip takes %v, so an answer is waited for %v, and not %v; raise lease",
		n.Trip.Round(time.Millisecond), n.Patience.Round(time.Millisecond), n.Configured)
}
