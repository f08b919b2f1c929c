package lock

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// model repeats the table's rules with slices and linear searches: slow, and short enough to be obviously right. Its
// time limits are multiples of 20, for which the default drift needs no rounding.
type model struct {
	limits Config
	reign  uint64
	count  uint32
	last   holdfast.Token
	paused bool
	names  []*modelName // live ones, in the order of their names
	gate   []*modelWait // suspensions and parked requests, in order of arrival
}

type modelName struct {
	name   string
	grants []*modelGrant
	queue  []*modelWait
}

type modelGrant struct {
	request Request // that of the first hold
	token   holdfast.Token
	since   Time
	until   Time
	holds   []uint64
	revoked bool
	why     holdfast.Loss // the reason of its revocation, as long as that is known
}

type modelWait struct {
	request Request
	parked  bool
}

func (m *model) serving() bool { return m.reign > 0 && !m.paused && m.count < MaxCount }

func (m *model) find(name string) *modelName {
	for _, n := range m.names {
		if n.name == name {
			return n
		}
	}
	return nil
}

// sweep drops names without requests.
func (m *model) sweep() {
	m.names = slices.DeleteFunc(m.names, func(n *modelName) bool { return len(n.grants)+len(n.queue) == 0 })
}

func (n *modelName) fits(r Request) bool {
	units := r.Units
	if n.excess() {
		return false
	}
	for _, g := range n.grants {
		if g.request.Mode != r.Mode || r.Mode == holdfast.ModeExclusive {
			return false
		}
		units += g.request.Units
	}
	return units <= r.Capacity
}

func (n *modelName) grantOf(r Request) *modelGrant {
	for _, g := range n.grants {
		if r.Owner != "" && g.request.Owner == r.Owner && g.request.Session == r.Session && !g.revoked {
			return g
		}
	}
	return nil
}

func decisionFor(kind Kind, r Request) Decision {
	return Decision{Kind: kind, Session: r.Session, Request: r.ID, Name: r.Name, Owner: r.Owner, Client: r.Client,
		Reason: r.Reason, Shape: r.Shape}
}

// decisionForGrant is the decision about one hold of a grant.
func decisionForGrant(kind Kind, g *modelGrant, id uint64) Decision {
	d := decisionFor(kind, g.request)
	d.Request, d.Token, d.Since = id, g.token, g.since
	return d
}

func grantedDecision(now Time, g *modelGrant, id uint64, arrived Time) Decision {
	d := decisionForGrant(Granted, g, id)
	d.Waited = now - arrived
	if g.until != Never {
		d.Hold = max(1, (g.until-arrived)*100/105)
	}
	return d
}

func refused(now Time, r Request, err error) Decision {
	d := decisionFor(Refused, r)
	d.Waited, d.Err = now-r.Arrived, err
	return d
}

// live is the number of live names.
func (m *model) live() int {
	if m.find(SpaceLock) != nil {
		return len(m.names) - 1
	}
	return len(m.names)
}

func (m *model) held(now Time, n *modelName) error {
	if !m.serving() {
		return holdfast.ErrUnavailable
	}
	if len(n.grants) == 0 {
		return &HeldBy{}
	}
	first := n.grants[0]
	by := &HeldBy{Owner: cmp.Or(first.request.Owner, first.request.Client), Others: len(n.grants) - 1, Holder: first.request.Session, Age: now - first.since}
	if first.request.Name == SpaceLock {
		by.Suspended, by.Reason = true, first.request.Reason
	}
	return by
}

func sameShape(a, b Request) bool {
	return a.Mode == b.Mode && a.Units == b.Units && a.Capacity == b.Capacity
}

func until(now Time, hold time.Duration) Time {
	if hold == 0 {
		return Never
	}
	return now + hold*105/100
}

func (m *model) acquire(now Time, r Request) []Decision {
	n := m.find(r.Name)
	if n != nil {
		for _, g := range n.grants {
			if g.request.Session == r.Session && slices.Contains(g.holds, r.ID) {
				again := []Decision{grantedDecision(now, g, r.ID, r.Arrived)}
				if g.revoked {
					again = append(again, m.revoked(g, r.ID, cmp.Or(g.why, holdfast.Broken)))
				}
				return again
			}
		}
		for at, w := range n.queue {
			if w.request.Session == r.Session && w.request.ID == r.ID {
				d := decisionFor(Queued, w.request)
				d.Position = at
				return []Decision{d}
			}
		}
		if g := n.grantOf(r); g != nil {
			if !sameShape(g.request, r) {
				return []Decision{refused(now, r, holdfast.ErrConflict)}
			}
			if err := m.overSession(r.Session); err != nil {
				return []Decision{refused(now, r, err)}
			}
			g.holds = append(g.holds, r.ID)
			return []Decision{grantedDecision(now, g, r.ID, r.Arrived)}
		}
		if c := n.capacity(); r.Mode == holdfast.ModeSlots && c != 0 && c != r.Capacity {
			return []Decision{refused(now, r, holdfast.ErrConflict)}
		}
	}
	passes := m.passes(r)
	atOnce := passes && m.serving() && (n == nil || n.passed() == 0 && n.fits(r))
	if !atOnce && (r.WaitEnd <= now || r.Try && m.serving()) {
		if r.Name == SpaceLock || !passes {
			return []Decision{refused(now, r, m.barred(now, nil))}
		}
		return []Decision{refused(now, r, m.held(now, n))}
	}
	if n == nil && r.Name != SpaceLock && m.limits.Names != 0 && m.live() >= m.limits.Names {
		return []Decision{refused(now, r, &holdfast.LimitError{Limit: "names", Value: int64(m.limits.Names)})}
	}
	if err := m.overSession(r.Session); err != nil {
		return []Decision{refused(now, r, err)}
	}
	if n != nil && !atOnce && len(n.queue) >= m.limits.WaitersPerName {
		return []Decision{refused(now, r, &holdfast.LimitError{Limit: "waiters_per_name", Value: int64(m.limits.WaitersPerName)})}
	}
	if n == nil {
		n = &modelName{name: r.Name}
		m.names = append(m.names, n)
		slices.SortFunc(m.names, func(a, b *modelName) int { return cmp.Compare(a.name, b.name) })
	}
	if atOnce {
		return []Decision{m.grant(now, n, r)}
	}
	w := &modelWait{request: r, parked: !passes && r.Name != SpaceLock}
	if n.insert(w); r.Name == SpaceLock || w.parked {
		m.gate = append(m.gate, w)
	}
	d := decisionFor(Queued, r)
	d.Position = slices.Index(n.queue, w)
	return []Decision{d}
}

func (m *model) overSession(s SessionID) error {
	if holds, waits := m.session(s); holds+waits >= m.limits.LocksPerSession {
		return &holdfast.LimitError{Limit: "locks_per_session", Value: int64(m.limits.LocksPerSession)}
	}
	return nil
}

func (m *model) session(s SessionID) (holds, waits int) {
	for _, n := range m.names {
		for _, g := range n.grants {
			if g.request.Session == s {
				holds += len(g.holds)
			}
		}
		for _, w := range n.queue {
			if w.request.Session == s {
				waits++
			}
		}
	}
	return holds, waits
}

func (m *model) grant(now Time, n *modelName, r Request) Decision {
	m.count++
	m.last = Token(m.reign, m.count)
	g := &modelGrant{request: r, token: Token(m.reign, m.count), since: now, until: until(now, r.Hold), holds: []uint64{r.ID}}
	n.grants = append(n.grants, g)
	return grantedDecision(now, g, r.ID, r.Arrived)
}

// remove takes a wait out of the queue of its name, and out of the gate.
func (m *model) remove(n *modelName, w *modelWait) {
	is := func(other *modelWait) bool { return other == w }
	n.queue, m.gate = slices.DeleteFunc(n.queue, is), slices.DeleteFunc(m.gate, is)
}

// settle makes all possible grants at the head of n's queue. Requests that do not wait for holders are refused, at the
// head and after it.
func (m *model) settle(now Time, n *modelName) (out []Decision) {
	defer m.sweep()
	for m.serving() && n.passed() > 0 {
		w := n.queue[0]
		r := w.request
		g := n.grantOf(r)
		switch {
		case r.WaitEnd <= now:
			out = append(out, refused(now, r, m.obstacle(now, n, w)))
		case g != nil && !sameShape(g.request, r):
			out = append(out, refused(now, r, holdfast.ErrConflict))
		case g != nil:
			g.holds = append(g.holds, r.ID)
			out = append(out, grantedDecision(now, g, r.ID, r.Arrived))
		case n.fits(r) && (n.name != SpaceLock || m.gate[0] == w && m.alone(r)):
			out = append(out, m.grant(now, n, r))
		case r.Try:
			out = append(out, refused(now, r, m.obstacle(now, n, w)))
		default:
			for _, w := range slices.Clone(n.queue) {
				if w.request.Try && !w.parked {
					out = append(out, refused(now, w.request, m.obstacle(now, n, w)))
					m.remove(n, w)
				}
			}
			return out
		}
		m.remove(n, w)
	}
	return out
}

func (m *model) settleAll(now Time) (out []Decision) {
	for _, n := range slices.Clone(m.names) {
		if n.name != SpaceLock {
			out = append(out, m.settle(now, n)...)
		}
	}
	return append(out, m.settleGate(now)...)
}

// settleOne settles a name at which something has ended, and then the gate.
func (m *model) settleOne(now Time, n *modelName) (out []Decision) {
	if n.name != SpaceLock {
		out = m.settle(now, n)
	}
	return append(out, m.settleGate(now)...)
}

// end removes one hold or wait, without settling.
func (m *model) end(n *modelName, s SessionID, id uint64) {
	for _, g := range n.grants {
		if g.request.Session == s {
			g.holds = slices.DeleteFunc(g.holds, func(hold uint64) bool { return hold == id })
		}
	}
	n.grants = slices.DeleteFunc(n.grants, func(g *modelGrant) bool { return len(g.holds) == 0 })
	for _, w := range slices.Clone(n.queue) {
		if w.request.Session == s && w.request.ID == id {
			m.remove(n, w)
		}
	}
}

func (m *model) release(now Time, s SessionID, name string, token holdfast.Token, id uint64) []Decision {
	n := m.find(name)
	if n == nil {
		return nil
	}
	for _, g := range n.grants {
		if g.request.Session != s || token != 0 && g.token != token || token == 0 && id == 0 {
			continue
		}
		hold := cmp.Or(id, g.holds[len(g.holds)-1])
		if slices.Contains(g.holds, hold) {
			out := []Decision{decisionForGrant(Released, g, hold)}
			m.end(n, s, hold)
			return append(out, m.settleOne(now, n)...)
		}
	}
	return nil
}

func (m *model) cancel(now Time, s SessionID, name string, id uint64) []Decision {
	n := m.find(name)
	if n == nil {
		return nil
	}
	for _, w := range n.queue {
		if w.request.Session == s && w.request.ID == id {
			m.end(n, s, id)
			return append([]Decision{decisionFor(Released, w.request)}, m.settleOne(now, n)...)
		}
	}
	return m.release(now, s, name, 0, id)
}

func (m *model) recall(s SessionID, name string, token holdfast.Token, id uint64) []Decision {
	n := m.find(name)
	if n == nil {
		return nil
	}
	for _, g := range n.grants {
		if g.request.Session != s || token != 0 && g.token != token || token == 0 && id == 0 {
			continue
		}
		if hold := cmp.Or(id, g.holds[len(g.holds)-1]); slices.Contains(g.holds, hold) {
			if len(g.holds) == 1 {
				g.revoke(holdfast.EndedByAnother)
			}
			return []Decision{m.revoked(g, hold, holdfast.EndedByAnother)}
		}
	}
	return nil
}

func (m *model) revoked(g *modelGrant, id uint64, why holdfast.Loss) Decision {
	d := decisionForGrant(Revoked, g, id)
	d.Loss = why
	return d
}

func (m *model) breakGrants(name string, token holdfast.Token) (out []Decision) {
	n := m.find(name)
	if n == nil {
		return nil
	}
	for _, g := range n.grants {
		if token == 0 || g.token == token {
			g.revoke(holdfast.Broken)
			for _, id := range g.holds {
				out = append(out, m.revoked(g, id, holdfast.Broken))
			}
		}
	}
	return out
}
