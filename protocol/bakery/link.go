package bakery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// Messages under a term must arrive, once and in the order in which they were sent: the published protocol relies on
// TCP for that, and a ticket's steps make no sense in another order. The contract between members promises less, so
// each pair of members keeps a link: envelopes are numbered, processed in order only, and resent until the other end
// confirms them. The confirmation rides on envelopes in the other direction; if there are none, it is sent by itself
// after a while. A link ends with the term: both ends start over.

// link is this member's end of one.
type link struct {
	to      local.Place
	sent    uint64 // the number of the newest envelope
	queue   []Body // unacknowledged messages, the newest last: its number is sent
	seen    uint64 // up to which number the other end's envelopes were taken
	due     protocol.Time
	pause   protocol.Time
	heard   bool          // nothing that was taken is still to be confirmed
	hearBy  protocol.Time // when it is confirmed, if no envelope goes before
	copies  int           // in a row that were not heard
	again   uint64        // if the other end is behind: the number up to which envelopes were sent; else 0
	batch   int           // how many are sent at a time then
	acked   uint64        // up to which number the other end's envelopes were confirmed
	ackedAt protocol.Time // and when they were confirmed last

	timed   uint64        // the envelope whose round trip is measured; 0 for none
	timedAt protocol.Time // when it was first sent
	latest  protocol.Time // duration of the latest two round trips; 0 if there were none
	other   protocol.Time
}

// mostWaited is the maximum wait before an envelope is first resent, in units of patience. A round trip takes up to a
// fifth of the lease, which is 2.4 times patience; the other end confirms an envelope half of patience later.
const mostWaited = 4

const (
	// maxCopies is the maximum number of unacknowledged envelopes that are resent: the oldest ones. When these are
	// acknowledged twice as many follow at once, up to maxBatch, until the other end has caught up.
	maxCopies = 64
	maxBatch  = 4096
	// maxQueue is the maximum number of unacknowledged envelopes on one link before its leader accepts no further
	// tickets.
	maxQueue = 1 << 16
)

// linkTo returns this member's end of the link to another one of the view. A member without a place there has
// no link: kept under no id, it would put the links out of order, and the next one to a member that has a link
// already would count its envelopes from 1 again.
func (m *Machine) linkTo(to protocol.ID) *link {
	i, found := slices.BinarySearchFunc(m.links, to, func(l *link, id protocol.ID) int { return cmp.Compare(l.to.ID, id) })
	if !found {
		place := m.placeOf(to)
		if place.ID == 0 {
			panic(fmt.Sprintf("bakery: a link to member %d, which has no place in view %d", to, m.standing.View.Number))
		}
		m.links = slices.Insert(m.links, i, &link{to: place, due: protocol.Never, hearBy: protocol.Never, heard: true})
	}
	return m.links[i]
}

// say sends a message to a member under the term: at once if that is this one, and not at all if it has left.
func (m *Machine) say(now protocol.Time, to protocol.ID, body Body, out *protocol.Effects) {
	if to == m.config.Self {
		m.hearSelf = append(m.hearSelf, body)
		return
	}
	if _, listed := m.standing.View.Of(to); !listed {
		return
	}
	l := m.linkTo(to)
	l.queue = append(l.queue, body)
	l.sent++
	if l.due == protocol.Never {
		l.pause = l.patience(m.config.Patience)
		l.due = now + l.pause
	}
	if l.timed == 0 && l.again == 0 {
		l.timed, l.timedAt = l.sent, now
	}
	if l.again != 0 && !protocol.Mutated("a link catches up") {
		return // it follows in its turn: the other end takes nothing before that
	}
	m.post(now, l, l.sent, body, out)
}

// post sends an envelope, with a confirmation.
func (m *Machine) post(now protocol.Time, l *link, seq uint64, body Body, out *protocol.Effects) {
	l.heard, l.hearBy, l.acked, l.ackedAt = true, protocol.Never, l.seen, now
	out.Send(l.to.ID, Envelope{Term: m.term.Term, From: m.standing.Place, To: l.to, Seq: seq, Seen: l.seen, Body: body})
}

// onEnvelope handles a message under the term, in order.
func (m *Machine) onEnvelope(now protocol.Time, ev protocol.Event, msg *Envelope, out *protocol.Effects) {
	switch {
	case m.term.Term.Before(msg.Term):
		m.keepEarly(ev)
		return
	case msg.Term != m.term.Term || !m.standing.Admitted():
		return // of a term that is over
	case msg.To != m.standing.Place || ev.From != msg.From.ID || !m.present(msg.From):
		return // one of the two has lost its place, or has not got it yet: then it is sent again
	}
	l := m.linkTo(ev.From)
	if l.take(now, msg.Seen, m.config.Patience) && !protocol.Mutated("a link catches up") {
		l.batch = min(2*l.batch, maxBatch)
		m.sayAgain(now, l, out)
	}
	m.recount = m.recount || l.copies > maxUnheard
	l.copies = 0
	_, nothing := msg.Body.(Heard)
	switch {
	case nothing:
		return
	case msg.Seq != l.seen+1:
		if msg.Seq <= l.seen { // a copy: it has not heard that it was taken
			m.hearCopy(now, l, out)
		}
		return
	case m.leads && !m.serves && len(m.parked) >= maxQueue:
		return // it will be sent again
	}
	l.seen++
	if l.heard {
		l.heard, l.hearBy = false, now+m.config.Patience/2
	}
	// A malformed message also counts as processed: otherwise it would be resent forever, with all that follows it.
	if err := malformed(msg.Body); err != nil {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d: %v", msg, ev.From, err)})
		return
	}
	m.onBody(now, ev.From, msg.Body, out)
}

// hearCopy repeats a confirmation, because a copy has come: at once, or some time after a very recent confirmation. Of
// many copies that arrive together, over a slow link, one is answered.
func (m *Machine) hearCopy(now protocol.Time, l *link, out *protocol.Effects) {
	again := l.ackedAt + m.config.Patience/4
	if l.acked < l.seen || now >= again {
		m.post(now, l, 0, Heard{}, out)
		return
	}
	l.heard, l.hearBy = false, min(l.hearBy, again)
}

// take records the number up to which the other end has processed envelopes. It reports whether the other end is still
// behind, and has processed all resent ones.
func (l *link) take(now protocol.Time, seen uint64, patience protocol.Time) (more bool) {
	first := l.sent - uint64(len(l.queue)) + 1
	if seen < first || seen > l.sent {
		return false
	}
	l.queue = slices.Delete(l.queue, 0, int(seen-first+1))
	if l.timed != 0 && seen >= l.timed {
		l.latest, l.other, l.timed = now-l.timedAt, l.latest, 0
	}
	l.pause, l.due = l.patience(patience), protocol.Never
	if len(l.queue) > 0 {
		l.due = now + l.pause
	}
	return l.again != 0 && seen >= l.again
}

// patience returns the wait before an envelope is first resent: a round trip and a quarter of it, and at least the
// configured patience. An envelope that is resent before its confirmation can arrive is wasted, and the other end would
// never be sent more than maxCopies at a time. A round trip counts from the first sending of an envelope, so one whose
// envelope was lost seems to take longer, and the shorter one of two counts.
func (l *link) patience(configured protocol.Time) protocol.Time {
	if protocol.Mutated("a link waits for a round trip") {
		return configured
	}
	trip := l.latest
	if l.other != 0 {
		trip = min(trip, l.other)
	}
	return max(configured, min(trip+trip/4, mostWaited*configured))
}

// sayAgain resends the oldest unacknowledged envelopes. If there are more, they are not sent until these are
// acknowledged.
func (m *Machine) sayAgain(now protocol.Time, l *link, out *protocol.Effects) {
	first := l.sent - uint64(len(l.queue)) + 1
	some := l.queue[:min(len(l.queue), l.batch)]
	for i := range some {
		m.post(now, l, first+uint64(i), some[i], out)
	}
	l.again = 0
	if len(some) < len(l.queue) {
		l.again = first + uint64(len(some)) - 1
	}
}

// mindLinks resends unacknowledged envelopes, and confirms processed ones.
func (m *Machine) mindLinks(now protocol.Time, out *protocol.Effects) {
	for _, l := range m.links {
		if l.due <= now {
			l.pause = protocol.Longer(l.pause, l.patience(m.config.Patience))
			l.due = now + l.pause
			l.copies++
			m.recount = m.recount || l.copies > maxUnheard
			l.batch = maxCopies
			m.sayAgain(now, l, out)
		}
		if l.hearBy <= now {
			m.post(now, l, 0, Heard{}, out)
		}
	}
}

// linksWake returns when there is something to do for links.
func (m *Machine) linksWake() protocol.Time {
	at := protocol.Never
	for _, l := range m.links {
		at = min(at, l.due, l.hearBy)
	}
	return at
}

// cut ends the links to members that have lost their places: no member waits for their acknowledgements, and a member
// that comes back starts over.
func (m *Machine) cut() {
	m.links = slices.DeleteFunc(m.links, func(l *link) bool { return !m.present(l.to) })
}

// congested reports whether one of the leaders leaves so much unheard that no further tickets are taken.
func (m *Machine) congested() bool {
	return slices.ContainsFunc(m.links, func(l *link) bool {
		return len(l.queue) >= maxQueue && slices.Contains(m.others, l.to.ID)
	})
}
