package grantor

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// onReceive handles a message. The transport authenticates its sender; its contents are checked.
func (m *Machine) onReceive(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if _, known := m.placeOf(ev.From); !known {
		m.keepEarly(ev, out) // the view that has its sender may be on its way
		return
	}
	if stamped, is := ev.Fact.(interface{ Stamped() authority.Stamp }); is {
		m.onStamped(now, ev, stamped.Stamped(), out)
		return
	}
	switch msg := ev.Fact.(type) {
	case Question:
		m.onQuestion(now, ev.From, &msg, out)
	case Info:
		if m.foretells(msg.Version) {
			m.keepEarly(ev, out)
			return
		}
		if msg.Grantor.ID != 0 && m.over(msg.Version) {
			m.ignoreOver(ev, out) // the elder is asked again
			return
		}
		m.onInfo(now, ev.From, &msg, out)
	case Depose:
		if m.foretells(msg.Version) || m.view.Number < msg.Grantor.Since {
			m.keepEarly(ev, out)
			return
		}
		if m.over(msg.Version) {
			m.ignoreOver(ev, out)
			return
		}
		m.onDepose(now, ev.From, &msg, out)
	case Deposed:
		m.onDeposed(now, ev.From, &msg, out)
	case Inquiry:
		m.onInquiry(ev.From, &msg, out)
	case InquiryAnswer:
		m.onInquiryAnswer(now, ev.From, &msg, out)
	case TransferRequest:
		m.onTransferRequest(ev.From, &msg, out)
	case TransferTable:
		if m.lags(&msg.Handover) {
			m.keepEarly(ev, out)
			return
		}
		m.onTransferTable(now, ev.From, &msg, out)
	case Invite:
		m.onInvite(ev.From, &msg, out)
	case Invited:
		m.onInvited(now, ev.From, &msg, out)
	case NotGrantor:
		m.onNotGrantor(now, ev.From, &msg, out)
	default:
		out.Note(Ignored{What: fmt.Sprintf("message %v from member %d: unknown", ev.Fact, ev.From)})
	}
}

// onStamped handles a message between holders and grantors.
func (m *Machine) onStamped(now protocol.Time, ev protocol.Event, s authority.Stamp, out *protocol.Effects) {
	toGrantor, toHolder := true, true
	switch msg := ev.Fact.(type) {
	case authority.Answer:
		if m.part.TakeFormer(now, ev.From, &msg, out) {
			return
		}
		toGrantor = false
	case authority.Decided, authority.InfoRequest:
		toGrantor = false
	case authority.Acks:
	default:
		toHolder = false
	}
	switch {
	case toGrantor && s.Version == m.reign.Version && m.reign.Authority == m.self:
		m.toTable(now, ev, out)
	case toHolder && s.Tenure == m.view.Lease.Tenure:
		m.toHolder(now, ev, &s, out)
	case toGrantor && !toHolder:
		m.misdirected(now, ev, &s, out)
	}
}

// toTable passes a holder's message to the table. While the table is incomplete, messages are parked, except reports
// and those that a report may cover.
func (m *Machine) toTable(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch msg := ev.Fact.(type) {
	case authority.InfoAnswer, authority.Acks:
	case authority.Revalidate:
		if m.foresees(&msg) {
			m.keepEarly(ev, out)
			return
		}
		m.part.Step(now, ev, out)
		return
	default:
		if !m.part.Decides() || m.clearing() {
			m.park(ev, out)
			return
		}
	}
	m.part.Step(now, ev, out)
}

// toHolder passes a grantor's message to the holder. A newer grantor than the known one is believed: its version shows
// that an elder has named it.
func (m *Machine) toHolder(now protocol.Time, ev protocol.Event, s *authority.Stamp, out *protocol.Effects) {
	if m.view.Epoch.Counter < s.Epoch.Counter || m.foretells(s.Version) || !m.admitted() {
		m.keepEarly(ev, out)
		return
	}
	if m.reign.Version != s.Version || m.reign.Authority != ev.From {
		if (s.Version.Before(m.heard) || m.over(s.Version) || m.bygone(s)) && !protocol.Mutated("stale grant accepted") {
			out.Note(Ignored{What: fmt.Sprintf("void %v from member %d", ev.Fact, ev.From)})
			return
		}
		place, _ := m.placeOf(ev.From)
		m.successor, m.becoming = nil, false
		m.follow(now, place, authority.Reign{Authority: ev.From, Version: s.Version}, out)
	}
	m.outlive(s.Version)
	m.part.Step(now, ev, out)
}

// bygone reports whether a message is of an earlier epoch than the view's. It makes no grantor known here: an elder of
// that epoch may have named one that this epoch's elder does not know, with a version above that of the continuing
// reign.
func (m *Machine) bygone(s *authority.Stamp) bool {
	return s.Epoch.Counter < m.view.Epoch.Counter && !protocol.Mutated("a grantor of an epoch before is not followed")
}

// misdirected answers a message for a grantor that this member is not. The message is parked if this member may be
// about to learn that it is: the elder knows of a version that this member does not.
func (m *Machine) misdirected(now protocol.Time, ev protocol.Event, s *authority.Stamp, out *protocol.Effects) {
	waits := m.successor != nil && m.successor.younger.place.ID == 0 && m.successor.version == s.Version
	if waits || m.heard.Before(s.Version) && !m.answered {
		m.park(ev, out)
		if m.seek == nil && m.successor == nil && m.admitted() {
			m.ask(now, Get, out)
		}
		return
	}
	refusal := NotGrantor{Tenure: s.Tenure, Version: s.Version}
	if query, is := ev.Fact.(authority.Query); is && !m.heard.Before(s.Version) {
		if m.part.AnswerFormer(ev.From, &query, out) {
			return
		}
		refusal.Query, refusal.By = query.Number, m.view.Lease.Tenure.Incarnation
	}
	if m.reign.Authority != 0 && s.Version.Before(m.reign.Version) {
		refusal.Grantor, refusal.Known = m.place, m.reign.Version
	}
	out.Send(ev.From, refusal)
}

// foretells reports whether a version is of an epoch above all known here: no elder of this view or an earlier one can
// have given it. If this member believed it, and no elder had given it, it would never believe another: it is therefore
// kept until a view of such an epoch comes.
func (m *Machine) foretells(v authority.Version) bool { return m.view.Epoch.Counter < v.Epoch }

// foresees reports whether a member has asked under a view that is not known here yet. This member does not confirm
// under such a view: it may have to make way before that view comes, for a member that the view no longer has.
func (m *Machine) foresees(msg *authority.Revalidate) bool {
	epoch := m.view.Epoch.Counter
	return epoch < msg.Epoch.Counter || epoch == msg.Epoch.Counter && m.view.Number < msg.View && !protocol.Mutated("a vouch waits for its view")
}

// lags reports whether a table was left under a view that this member has not accepted yet.
func (m *Machine) lags(e *authority.Handover) bool {
	epoch := m.view.Epoch.Counter
	return epoch < e.Epoch || epoch == e.Epoch && m.view.Number < e.View
}

// ignoreOver notes an elder's word about a reign that has ended with its epoch.
func (m *Machine) ignoreOver(ev protocol.Event, out *protocol.Effects) {
	out.Note(Ignored{What: fmt.Sprintf("%v from member %d: that reign has ended with its epoch", ev.Fact, ev.From)})
}

// park keeps a message until the grantor is known. One beyond the limit is dropped: its sender repeats it.
func (m *Machine) park(ev protocol.Event, out *protocol.Effects) {
	if len(m.parked) >= m.config.Parked {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %d messages are parked", ev.Fact, ev.From, len(m.parked))})
		return
	}
	m.parked = append(m.parked, ev)
}

// keepEarly keeps a message of a member, or under an epoch, that the next view may have.
func (m *Machine) keepEarly(ev protocol.Event, out *protocol.Effects) {
	if len(m.early) >= m.config.Parked {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: no view here has it yet, and %d messages wait for one", ev.Fact, ev.From, len(m.early))})
		return
	}
	m.early = append(m.early, ev)
}

// unpark processes parked messages again, now that more is known.
func (m *Machine) unpark(now protocol.Time, out *protocol.Effects) {
	parked := m.parked
	m.parked = nil
	for _, ev := range parked {
		m.onReceive(now, ev, out)
	}
}
