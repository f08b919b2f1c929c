package bakery

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// A lock whose hold limit has passed ends twice: its holder is notified, and its name is free when a grace is over.
// The holder's member ends it then. If that member is lost meanwhile, the leaders know how long the grace
// lasts still.

// grace is a ticket whose hold limit has passed: it stays locked for a while.
type grace struct {
	request *request
	until   protocol.Time
}

// grace is how long a name stays taken after a request's hold limit.
func (m *Machine) grace(r *request) time.Duration {
	if m.config.Grace == GraceOfHold {
		return max(r.Hold, time.Minute)
	}
	return m.config.Grace
}

// beginGrace keeps a ticket, and informs its master for how long.
func (m *Machine) beginGrace(now protocol.Time, r *request, d time.Duration, out *protocol.Effects) {
	m.graces = append(m.graces, grace{r, now + d})
	if m.standing.Admitted() && m.present(r.master) {
		m.say(now, r.master.ID, Unlocking{Key: r.ticket.Key, Left: d}, out)
	}
}

// Graces lists those of this member's clients and, by the master of their tickets, those of members that
// have left.
func (p proxy) Graces(now protocol.Time) (list []local.Grace) {
	for _, g := range p.graces {
		list = append(list, g.request.InGrace(g.until))
	}
	if !p.serves || p.gracesDue == protocol.Never {
		return list
	}
	for _, t := range p.book.all() {
		if t.master == p.config.Self && t.until > now && !p.present(t.For) {
			list = append(list, local.Grace{Name: t.Name, Grant: lock.Grant{
				Session: t.Session, Attributes: holdfast.Attributes{Shape: t.Shape, Owner: t.Owner}, Token: t.token, Since: t.since,
				Until: t.until, Holds: 1, Grace: true,
			}})
		}
	}
	return list
}

// stopsInGrace handles the release of a hold that its hold limit has ended: its holder has stopped, and the name is
// free at once. It reports whether the call is one. It is answered like any other release.
func (m *Machine) stopsInGrace(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	release, is := ev.Fact.(*protocol.Release)
	if !is || len(m.graces) == 0 {
		return false
	}
	at := slices.IndexFunc(m.graces, func(g grace) bool {
		r := &g.request.Request
		return r.Key.Session == release.Session && r.Key.Name == release.Name &&
			(r.Token == release.Token || release.Token == 0 && r.Key.ID == release.Request)
	})
	if at < 0 {
		return false
	}
	r := m.graces[at].request
	m.graces = slices.Delete(m.graces, at, at+1)
	d := &lock.Decision{Kind: lock.Released, Session: release.Session, Request: release.Request, Name: release.Name, Token: r.Token}
	if r.notifyEnd = r.master.ID != 0; r.notifyEnd {
		m.clients.AnswerLater(r, ev.Call, d)
	} else {
		out.Decide(ev.Call, d)
	}
	m.unlock(now, r, out)
	return true
}

// endGraces ends the tickets whose grace is over.
func (m *Machine) endGraces(now protocol.Time, out *protocol.Effects) {
	for _, g := range m.graces {
		if g.until <= now {
			m.unlock(now, g.request, out)
		}
	}
	m.graces = slices.DeleteFunc(m.graces, func(g grace) bool { return g.until <= now })
	if m.serves && m.gracesDue <= now {
		m.dropLost(now, out)
	}
}

// gracesWake returns when the next grace ends: of a client of this member, or of a departed one.
func (m *Machine) gracesWake() protocol.Time {
	at := protocol.Never
	if m.serves {
		at = m.gracesDue
	}
	for _, g := range m.graces {
		at = min(at, g.until)
	}
	return at
}

// onUnlocking handles the maximum time for which a ticket stays locked. Its master informs the other leaders.
func (m *Machine) onUnlocking(now protocol.Time, from protocol.ID, msg *Unlocking, out *protocol.Effects) {
	t := m.book.tickets[msg.Key]
	switch {
	case t == nil:
	case t.master == m.config.Self && t.For.ID == from:
		m.extendGrace(now, t, msg.Left)
		m.sayAll(now, *msg, out)
	case t.master == from && from != m.config.Self:
		m.extendGrace(now, t, msg.Left)
	default:
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d", msg, from)})
	}
}

// extendGrace notes how long a ticket stays locked if its member is lost: by the slowest clock.
func (m *Machine) extendGrace(now protocol.Time, t *ticket, left time.Duration) {
	if left > 0 {
		t.until = max(t.until, lock.After(now, lock.Stretch(left, m.config.Table.Drift)))
	}
}
