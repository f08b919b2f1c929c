package grantor

import "github.com/holdfast-locks/holdfast/protocol"

// tokens is what an elder knows of the epochs in which a reign can count, and when it asks
// the coordinator again.
type tokens struct {
	reign uint64 // the newest epoch that the coordinator has told; 0 before
	count uint32
	due   protocol.Time
	pause protocol.Time
}

// tokensAbove returns a reign above one, and where its count begins; or that the
// coordinator has to be asked first. The answer lets the question that waits for it go on.
func (m *Machine) tokensAbove(now protocol.Time, spent uint64, out *protocol.Effects) (reign uint64, count uint32, ok bool) {
	t := &m.elder.tokens
	if m.view.Coordinator == m.self && m.view.Epoch.Counter > spent {
		return m.view.Epoch.Counter, m.view.Count, true
	}
	if t.reign > spent {
		return t.reign, t.count, true
	}
	if t.due == protocol.Never {
		t.pause = min(max(2*t.pause, m.config.Patience), 8*m.config.Patience)
		t.due = now + t.pause
		if m.view.Coordinator == m.self {
			out.Raise(&protocol.NeedEpoch{Above: m.view.Epoch.Counter})
		} else {
			out.Send(m.view.Coordinator, NeedTokens{Above: spent})
		}
	}
	return 0, 0, false
}

// onNeedTokens tells an elder the present epoch, or asks the membership for another one:
// then the elder asks again.
func (m *Machine) onNeedTokens(from protocol.ID, msg *NeedTokens, out *protocol.Effects) {
	if !m.admitted() || m.view.Coordinator != m.self || m.first().ID != from {
		return
	}
	if m.view.Epoch.Counter <= msg.Above {
		out.Raise(&protocol.NeedEpoch{Above: m.view.Epoch.Counter})
		return
	}
	out.Send(from, Tokens{Reign: m.view.Epoch.Counter, Count: m.view.Count})
}

func (m *Machine) onTokens(now protocol.Time, from protocol.ID, msg *Tokens, out *protocol.Effects) {
	e := m.elder
	if e == nil || !m.admitted() || from != m.view.Coordinator || msg.Reign <= e.tokens.reign {
		return
	}
	e.tokens = tokens{reign: msg.Reign, count: msg.Count, due: protocol.Never}
	m.answerQuestions(now, out)
}

// considerCount gives a grantor another epoch to count in: its tokens are used up, or the
// table that it was to go on with is lost.
func (m *Machine) considerCount(now protocol.Time, q question, out *protocol.Effects) *Info {
	x := &m.elder.entry
	asker := Place{q.from, q.Tenure}
	if !x.named || x.grantor != asker || x.version != q.Version {
		if !x.named || !m.present(x.grantor) {
			return &Info{}
		}
		return x.info(asker) // it is none any more
	}
	reign, count, ok := m.tokensAbove(now, x.spent, out)
	if !ok {
		return nil
	}
	x.beginning, x.previous, x.reign, x.count, x.spent = Recovering, Place{}, reign, count, reign
	return x.info(asker)
}
