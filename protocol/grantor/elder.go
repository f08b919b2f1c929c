package grantor

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// elder is the role that names grantors. A member has it from its first question on while it coordinates its view.
type elder struct {
	known     bool // all members have said who grants
	inquiries []*inquiry
	entry     entry
	heard     authority.Version // the highest that any member has reported
	deposing  *deposing
	questions []question // that wait, one of each member's
	answered  []question // the last one of each member's that was answered
}

// entry is an elder's knowledge of the space.
type entry struct {
	named   bool // a member grants, or did when it was named
	grantor Place
	version authority.Version // of the latest reign that is known, whether or not it goes on
	left    bool              // no member grants, and locks may be left behind

	// How the grantor's reign has begun: repeated to it if the first answer was lost.
	beginning Beginning
	previous  Place
	reign     uint64
	count     uint32
	counted   bool // no member grants, and reign and count are those of the last token

	// spent is the highest epoch in which a reign of the space may have counted tokens.
	spent uint64
}

// deposing is a deposed grantor that has not acknowledged it yet.
type deposing struct {
	since protocol.Time
	place Place
	due   protocol.Time
	pause protocol.Time
}

// question is one that waits for its answer.
type question struct {
	from protocol.ID
	Question
}

// elderhood is a member's knowledge of its own epochs.
type elderhood struct {
	first  bool   // no member was elder before it, ever
	number uint64 // of the newest view that it has coordinated and that was installed; 0 where it has not coordinated the one before
	epoch  uint64
}

// arrive determines whether this member is elder in a view. It keeps its knowledge as elder under another epoch of its
// own, if no other member can have been elder in between: the view directly follows the previous one, and that one was
// installed. In mode any another side may have had a different elder.
func (m *Machine) arrive(view *protocol.View) {
	h := &m.elderhood
	follows := h.number != 0 && view.Number <= h.number+1 && (!m.config.Any || view.Epoch.Counter == h.epoch)
	switch {
	case view.Coordinator != m.self || m.own().ID == 0:
		*h, m.elder = elderhood{}, nil
		return
	case !follows && view.Epoch.Counter != h.epoch:
		*h, m.elder = elderhood{first: view.Number == 1}, nil
	}
	h.epoch = view.Epoch.Counter
	if view.Installed {
		h.number = view.Number
	}
}

// onQuestion handles a member's question. If this member is not the elder, or does not know the asker, the asker
// repeats it.
func (m *Machine) onQuestion(now protocol.Time, from protocol.ID, q *Question, out *protocol.Effects) {
	if !m.admitted() || m.elderPlace() != m.own() || !m.sits(from, q.Tenure) {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: this member is not its elder", q, from)})
		return
	}
	if m.elder == nil {
		m.becomeElder(now, out)
	}
	e := m.elder
	if last := e.lastAnswered(from, q.Tenure); last != nil && q.Number < last.Number {
		return // it has been asked something else since, and was answered
	}
	i := slices.IndexFunc(e.questions, func(w question) bool { return w.from == from })
	switch {
	case i < 0:
		e.questions = append(e.questions, question{from, *q})
	case e.questions[i].Number <= q.Number:
		e.questions[i].Question = *q
	}
	m.answerQuestions(now, out)
}

// answerQuestions answers the questions that can be answered, in order. An answer may name a grantor, so that the next
// question waits again.
func (m *Machine) answerQuestions(now protocol.Time, out *protocol.Effects) {
	for i := 0; m.elder != nil && i < len(m.elder.questions); {
		e := m.elder
		q := e.questions[i]
		if !m.sits(q.from, q.Tenure) {
			e.questions = slices.Delete(e.questions, i, i+1)
			continue
		}
		info := m.consider(now, q, out)
		if info == nil {
			i++
			continue
		}
		e.questions = slices.DeleteFunc(e.questions, func(w question) bool { return w.from == q.from && w.Number == q.Number })
		e.note(q)
		info.Tenure, info.Number = q.Tenure, q.Number
		if q.from == m.self {
			m.onInfo(now, m.self, info, out)
		} else {
			out.Send(q.from, *info)
		}
		i = 0
	}
}

// lastAnswered is the last question of a member's present life that was answered, or nil.
func (e *elder) lastAnswered(from protocol.ID, tenure protocol.Tenure) *question {
	i := slices.IndexFunc(e.answered, func(w question) bool {
		return w.from == from && w.Tenure.Incarnation == tenure.Incarnation
	})
	if i < 0 {
		return nil
	}
	return &e.answered[i]
}

// note records a question being answered.
func (e *elder) note(q question) {
	e.answered = slices.DeleteFunc(e.answered, func(w question) bool { return w.from == q.from })
	e.answered = append(e.answered, q)
}

// repeatAnswer answers a question that was answered before, and names no grantor: the copy
// of a question may come long after its asker has gone on, and would then make it the
// grantor without its knowing.
func (m *Machine) repeatAnswer(asker Place, lives bool) *Info {
	x := &m.elder.entry
	if !lives {
		return &Info{Left: x.named || x.left}
	}
	return x.info(asker)
}

// consider returns the answer to a question, or nil if it has to wait.
func (m *Machine) consider(now protocol.Time, q question, out *protocol.Effects) *Info {
	e := m.elder
	if !e.known {
		return nil
	}
	x := &e.entry
	asker, _ := m.placeOf(q.from)
	lives := x.named && m.present(x.grantor)
	switch q.Kind {
	case Clear, ClearWithLocks:
		if x.named && x.grantor == asker && x.version == q.Version {
			x.named, x.left = false, q.Kind == ClearWithLocks
			counts := q.Reign >= 1 && q.Reign <= m.view.Epoch.Counter && q.Count <= lock.MaxCount
			x.counted, x.reign, x.count = counts, q.Reign, q.Count
			e.deposing = nil
		}
		return &Info{}
	case Count:
		return m.considerCount(q, out)
	case Peek:
		if e.deposing != nil {
			return nil
		}
		if !lives {
			return &Info{Left: x.named || x.left}
		}
		return x.info(asker)
	case Get, Become:
		again := e.lastAnswered(q.from, q.Tenure)
		switch {
		case again != nil && again.Number == q.Number && e.deposing == nil:
			return m.repeatAnswer(asker, lives)
		case e.deposing != nil:
			return nil
		case !lives:
			return m.name(asker, out)
		case q.Kind == Become && x.grantor != asker:
			m.depose(now, asker, out)
			return m.consider(now, q, out) // the one before may have been this member
		}
		return x.info(asker)
	}
	out.Note(Ignored{What: fmt.Sprintf("%v from member %d: unknown", q.Question, q.from)})
	return &Info{}
}

// info returns the answer that names the grantor, and informs the grantor itself how its reign begins.
func (x *entry) info(asker Place) *Info {
	info := &Info{Grantor: x.grantor, Version: x.version}
	if x.grantor == asker {
		info.Beginning, info.Previous, info.Reign, info.Count = x.beginning, x.previous, x.reign, x.count
	}
	return info
}

// name makes a member the grantor of a space that has none. The grantor has to recover the holds, unless this elder
// knows that there can be none: no member was named, nor can another one have been, or the last one has left nothing
// behind; and no member outside the view can have anything from before.
func (m *Machine) name(asker Place, out *protocol.Effects) *Info {
	e := m.elder
	x := &e.entry
	reign, count, ok := x.reign, x.count, x.counted
	if !ok {
		reign, count, ok = m.tokensAbove(x.spent, out)
	}
	if !ok {
		return nil
	}
	beginning := Settled
	joined := m.config.Any && m.view.Number > 1 // some member may have something, from another side of a partition
	if (x.named || x.left || joined || !m.view.Open) && !protocol.Mutated("recovery skipped") {
		beginning = Recovering
	}
	m.enter(asker, beginning)
	x.reign, x.count, x.spent = reign, count, max(x.spent, reign)
	return x.info(asker)
}

// enter makes an entry for the next reign.
func (m *Machine) enter(grantor Place, beginning Beginning) {
	x := &m.elder.entry
	next := m.nextVersion(x.version)
	x.named, x.left, x.grantor, x.version = true, false, grantor, next
	x.beginning, x.previous, x.reign, x.count, x.counted = beginning, Place{}, 0, 0, false
}

// nextVersion is above all that any elder has given: its epoch is the view's, which has this
// elder alone.
func (m *Machine) nextVersion(last authority.Version) authority.Version {
	if protocol.Mutated("versions restart at 1") {
		return authority.Version{Epoch: 1, Number: last.Number + 1}
	}
	if last.Epoch == m.view.Epoch.Counter {
		return authority.Version{Epoch: last.Epoch, Number: last.Number + 1}
	}
	return authority.Version{Epoch: m.view.Epoch.Counter, Number: 1}
}

// depose names a member in place of a present grantor. The grantor is deposed, and no member is answered before it has
// confirmed that it grants no more.
func (m *Machine) depose(now protocol.Time, asker Place, out *protocol.Effects) {
	e := m.elder
	before := e.entry
	m.enter(asker, Inheriting)
	e.entry.previous = before.grantor
	e.entry.reign, e.entry.count = before.reign, before.count
	e.deposing = &deposing{since: now, place: before.grantor}
	m.sendDepose(now, out)
}

func (m *Machine) sendDepose(now protocol.Time, out *protocol.Effects) {
	d := m.elder.deposing
	msg := Depose{Tenure: d.place.Tenure, Grantor: m.elder.entry.grantor, Version: m.elder.entry.version}
	if d.place.ID == m.self {
		m.elder.deposing = nil
		m.relinquish(now, &msg, m.own(), out)
		return
	}
	d.pause = protocol.Longer(d.pause, m.config.Patience)
	d.due = now + d.pause
	out.Send(d.place.ID, msg)
}

// onDeposed continues when the previous grantor has confirmed that it grants no more.
func (m *Machine) onDeposed(now protocol.Time, from protocol.ID, msg *Deposed, out *protocol.Effects) {
	e := m.elder
	if e == nil || e.deposing == nil || e.deposing.place.ID != from || e.deposing.place.Tenure != msg.Tenure || msg.Version != e.entry.version {
		return
	}
	e.deposing = nil
	m.answerQuestions(now, out)
}

// elderView handles a view as elder: departed members are waited for no more.
func (m *Machine) elderView(now protocol.Time, out *protocol.Effects) {
	e := m.elder
	if e == nil {
		return
	}
	if e.deposing != nil && !m.present(e.deposing.place) {
		e.deposing = nil
	}
	e.answered = slices.DeleteFunc(e.answered, func(w question) bool {
		_, listed := m.placeOf(w.from)
		return !listed
	})
	m.inquire(now, out)
	m.answerQuestions(now, out)
}

func (m *Machine) elderWake() protocol.Time {
	e := m.elder
	at := protocol.Never
	if e.deposing != nil {
		at = min(at, e.deposing.due)
	}
	for _, i := range e.inquiries {
		at = min(at, i.due)
	}
	return at
}

func (m *Machine) elderTick(now protocol.Time, out *protocol.Effects) {
	e := m.elder
	if !m.admitted() {
		return
	}
	if e.deposing != nil && e.deposing.due <= now {
		m.sendDepose(now, out)
	}
	for _, i := range e.inquiries {
		if i.due <= now {
			m.sendInquiry(now, i, out)
		}
	}
}
