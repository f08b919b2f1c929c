package observe

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// Looked applies the answer to a question that was asked at mark.
func (m *Machine) Looked(now time.Duration, mark uint64, l *schema.Lock) {
	m.seq++
	if m.lost && mark < m.lostAt {
		return // it may show what was before the gap
	}
	m.lastLook, m.doubt = now, false
	if l.GetCapacity() > 0 {
		m.capacity = l.GetCapacity()
	}
	if !m.looked || m.lost {
		m.replace(now, mark, l, m.looked)
	} else {
		m.compare(now, mark, l)
	}
}

// held returns the holders of a look: those whose locks go on.
func (m *Machine) held(l *schema.Lock) (holds []hold) {
	for _, g := range l.GetHolders() {
		if g.GetGrace() || g.GetRevoked() || m.past.has(g.GetToken()) || m.ends.has(g.GetToken()) {
			continue
		}
		one := proto.CloneOf(g)
		one.Until, one.Holds = nil, 0 // they would be of the moment of the look
		holds = append(holds, hold{Grant: one, seq: m.seq, checked: true})
	}
	slices.SortFunc(holds, func(a, b hold) int { return cmp.Compare(a.Token, b.Token) })
	return holds
}

// tokens returns the tokens that a look shows, past ones included.
func tokens(l *schema.Lock) (all []uint64) {
	for _, grants := range [][]*schema.Grant{l.GetHolders(), l.GetHistory()} {
		for _, g := range grants {
			all = append(all, g.GetToken())
		}
	}
	return all
}

// replace makes a look the state, with what has come since its question.
func (m *Machine) replace(now time.Duration, mark uint64, l *schema.Lock, missed bool) {
	m.quiet = true
	newest, before := slices.Max(append(tokens(l), 0)), slices.Concat(m.holders, m.pending)
	m.holders, m.pending = m.held(l), nil
	for _, h := range m.holders {
		m.shown(h)
	}
	for _, h := range before {
		i, shown := find(m.holders, h.Token)
		switch {
		case shown && h.Revision > m.holders[i].Revision:
			m.holders[i].Grant = h.Grant
		case shown:
		case h.Token > newest && h.seq > mark:
			m.pending = append(m.pending, h)
		default:
			m.past.put(h.Token, struct{}{})
		}
	}
	slices.SortFunc(m.pending, func(a, b hold) int { return cmp.Compare(a.Token, b.Token) })
	m.floor = max(m.floor, newest)
	m.looked, m.lost, m.stuck = true, false, now
	m.expected, m.noticed = ledger[uint64, time.Duration]{}, nil
	m.waiters, _ = m.queue(mark, l, func(*schema.Wait) bool { return true }, func(wait) bool { return false })
	early := m.early
	m.early = nil
	m.drain(now)
	for _, e := range early {
		m.applyEarly(now, mark, e)
	}
	m.quiet = false
	m.show(missed)
}

// applyEarly applies an event that has waited for a look. What came before the question, and is not in the look, is over.
func (m *Machine) applyEarly(now time.Duration, mark uint64, e arrival) {
	if e.seq <= mark {
		switch _, shown := find(m.holders, e.GetToken()); {
		case e.GetEvent() == events.Waiting:
			return
		case e.GetEvent() == events.Granted && !shown:
			m.past.put(e.GetToken(), struct{}{})
		}
	}
	m.apply(now, e.WatchEvent)
}

// compare applies a look to a state that events have made. What the look shows otherwise is on its way as an event. It
// counts if the event has not come within Patience, or does not come because its member is not heard.
func (m *Machine) compare(now time.Duration, mark uint64, l *schema.Lock) {
	noticed := map[any]time.Duration{}
	overdue := func(what any, member string) bool {
		since, before := m.noticed[what]
		if !before {
			since = now
		}
		if now-since >= Patience || slices.Contains(m.silent, member) {
			return true
		}
		noticed[what] = since
		return false
	}
	held := m.held(l)
	for _, h := range held {
		if !m.known(h.Token) && overdue(h.Token, h.Member) {
			m.replace(now, mark, l, true)
			return
		}
	}
	for _, token := range tokens(l) {
		if !m.known(token) && !m.expected.has(token) {
			m.expected.put(token, now)
		}
	}
	for _, h := range slices.Clone(m.holders) {
		if _, still := find(held, h.Token); !still && h.seq <= mark && overdue(h.Token, h.Member) {
			m.finish(h.Token)
		}
	}
	for i, h := range m.pending {
		if h.seq > mark {
			continue
		}
		m.pending[i].checked = true
		if _, still := find(held, h.Token); !still && !h.over && overdue(h.Token, h.Member) {
			m.pending[i].over = true
		}
	}
	waiters, changed := m.queue(mark, l, func(w *schema.Wait) bool { return overdue(request{w.GetSession(), w.GetRequest()}, w.GetMember()) },
		func(w wait) bool { return !overdue(w.key(), w.Member) })
	if m.waiters = waiters; changed {
		m.show(false)
	}
	m.noticed = noticed
	m.drain(now)
	m.together(now, held, mark)
}

// together shows a pending grant with the holders that it does not fit, if a look shows them all: each side of a
// partition had one.
func (m *Machine) together(now time.Duration, held []hold, mark uint64) {
	for len(m.pending) > 0 && now-m.stuck >= Patience {
		next := m.pending[0]
		if _, shown := find(held, next.Token); !shown || next.seq > mark {
			return
		}
		for _, h := range m.holders {
			if _, shown := find(held, h.Token); !shown {
				return
			}
		}
		m.pending = m.pending[1:]
		m.begin(next, false) // it is not late: the look shows it
	}
}

// queue returns the waiting requests of a look: the known ones that it shows, and those that admit admits. Known ones that
// it does not show are before them if they stay, and behind them if they have come since its question. It reports whether
// that makes others than now; a different order alone does not.
func (m *Machine) queue(mark uint64, l *schema.Lock, admit func(*schema.Wait) bool, stays func(wait) bool) (waiters []wait, changed bool) {
	for _, w := range l.GetWaiters() {
		key := request{w.GetSession(), w.GetRequest()}
		i := slices.IndexFunc(m.waiters, func(one wait) bool { return one.key() == key })
		switch {
		case i >= 0:
			waiters = append(waiters, m.waiters[i])
		case !m.decided.has(key) && admit(w):
			one := proto.CloneOf(w)
			one.Until, one.For, one.Position = nil, nil, -1
			waiters = append(waiters, wait{one, m.seq})
		}
	}
	var front, back []wait
	for _, w := range m.waiters {
		switch {
		case slices.ContainsFunc(waiters, func(one wait) bool { return one.key() == w.key() }):
		case w.seq > mark:
			back = append(back, w)
		case stays(w):
			front = append(front, w)
		}
	}
	waiters = slices.Concat(front, waiters, back)
	if len(waiters) == len(m.waiters) {
		changed = slices.ContainsFunc(waiters, func(w wait) bool {
			return !slices.ContainsFunc(m.waiters, func(one wait) bool { return one.key() == w.key() })
		})
		if !changed {
			return m.waiters, false
		}
	}
	return waiters, true
}
