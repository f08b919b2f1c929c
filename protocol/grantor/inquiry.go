package grantor

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// inquiry is a new elder's question to a member: which one grants.
type inquiry struct {
	place    Place
	answered bool
	due      protocol.Time
	pause    protocol.Time
}

// becomeElder begins the role. The first member ever knows that no member can have been
// named before; every other elder asks (the original's elder initialisation).
func (m *Machine) becomeElder(now protocol.Time, out *protocol.Effects) {
	m.elder = &elder{}
	e := m.elder
	e.entry.spent = m.view.Epoch.Counter - 1 // in earlier ones others may have been elder
	if m.elderhood.first {
		e.known = true
		return
	}
	e.entry.left = true // until a member says that it grants
	grants, version, reign := m.grantState()
	m.credit(m.own(), &InquiryAnswer{Grants: grants, Version: version, Reign: reign})
	m.inquire(now, out)
}

// inquire asks every member of the view that was not asked, and continues when all have answered. Departed members are
// waited for no more; new ones are asked too.
func (m *Machine) inquire(now protocol.Time, out *protocol.Effects) {
	e := m.elder
	if e.known {
		return
	}
	e.inquiries = slices.DeleteFunc(e.inquiries, func(i *inquiry) bool { return !m.present(i.place) })
	all := true
	for _, member := range m.view.Members {
		place, _ := m.placeOf(member.ID)
		if place.ID == m.self {
			continue
		}
		at := slices.IndexFunc(e.inquiries, func(i *inquiry) bool { return i.place == place })
		if at < 0 {
			i := &inquiry{place: place}
			e.inquiries = append(e.inquiries, i)
			m.sendInquiry(now, i, out)
			at = len(e.inquiries) - 1
		}
		all = all && e.inquiries[at].answered
	}
	if all {
		e.known, e.inquiries = true, nil
		m.supersede()
	}
}

// supersede treats a grantor as gone if a member knows of a newer one. An elder cut off from it may have named that
// one, under a view that was never installed: a member that knows it would accept nothing from the older. The older one
// ends when it learns of the next one.
func (m *Machine) supersede() {
	x := &m.elder.entry
	if x.named && x.version.Before(m.elder.heard) {
		x.named, x.left = false, true
	}
}

func (m *Machine) sendInquiry(now protocol.Time, i *inquiry, out *protocol.Effects) {
	i.pause = protocol.Longer(i.pause, m.config.Patience)
	i.due = now + i.pause
	out.Send(i.place.ID, Inquiry{Epoch: m.view.Epoch})
}

// onInquiry answers a new elder. From then on no older elder's word counts here: the
// question that is under way is this one's.
func (m *Machine) onInquiry(from protocol.ID, msg *Inquiry, out *protocol.Effects) {
	if !m.admitted() || m.elderPlace().ID != from || msg.Epoch != m.view.Epoch {
		return // it asks again, when both have the view
	}
	answer := InquiryAnswer{Tenure: m.view.Lease.Tenure, Since: m.own().Since, Epoch: msg.Epoch}
	answer.Grants, answer.Version, answer.Reign = m.grantState()
	out.Send(from, answer)
}

// onInquiryAnswer handles a member's answer.
func (m *Machine) onInquiryAnswer(now protocol.Time, from protocol.ID, msg *InquiryAnswer, out *protocol.Effects) {
	e := m.elder
	if e == nil || e.known || msg.Epoch != m.view.Epoch {
		return
	}
	at := slices.IndexFunc(e.inquiries, func(i *inquiry) bool { return i.place == Place{from, msg.Tenure, msg.Since} })
	if at < 0 || e.inquiries[at].answered {
		return
	}
	e.inquiries[at].answered, e.inquiries[at].due = true, protocol.Never
	if m.foretells(msg.Version) || msg.Reign > m.view.Epoch.Counter {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: no such epoch is known here", msg, from)})
	} else {
		m.credit(e.inquiries[at].place, msg)
	}
	m.inquire(now, out)
	m.answerQuestions(now, out)
}

// credit enters a present or future grantor in the entry: if there are several, the one of the highest version.
func (m *Machine) credit(place Place, msg *InquiryAnswer) {
	x := &m.elder.entry
	if m.elder.heard.Before(msg.Version) {
		m.elder.heard = msg.Version
	}
	if !msg.Grants {
		return
	}
	x.spent = max(x.spent, msg.Reign)
	if x.named && !x.version.Before(msg.Version) {
		return
	}
	x.named, x.left, x.grantor, x.version = true, false, place, msg.Version
	x.beginning, x.previous, x.reign = Recovering, Place{}, msg.Reign
}

// grantState reports whether this member grants, or is about to: a successor that waits for the table counts, a deposed
// one does not.
func (m *Machine) grantState() (grants bool, version authority.Version, reign uint64) {
	switch {
	case m.successor != nil && m.successor.younger.place.ID == 0:
		return true, m.successor.version, m.successor.reign
	case m.reign.Authority == m.self && m.admitted():
		return true, m.reign.Version, m.part.Reign()
	}
	return false, m.heard, 0
}
