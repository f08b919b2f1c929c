package authority

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// loan is a grant that the member it was given to may keep (Rules.HoldOn): the authority's
// side of keep.go. It is known from when that was allowed until the entry is free.
type loan struct {
	key      seqKey
	session  lock.SessionID
	token    holdfast.Token // given with it; the member counts on from there
	recalled bool           // its member was asked to give way
	used     bool           // and has said that it is in use, and will be released
}

// visit is a request that does not wait, for a name that a member may hold on to without using it. It is answered when
// that member has returned the name, or has reported that it is in use.
type visit struct {
	request lock.Request
	asker   seqKey // the request that the answer is for, at another member; zero for this member's own
	held    seqKey
	until   protocol.Time
}

// maxVisits is the maximum number of such requests at an authority. A further one is refused at once: the name is held.
const maxVisits = 1024

// tableConfig returns the table's configuration. A session may have more entries in it than its own: grants that its
// member keeps are no longer the session's.
func (m *Machine) tableConfig() lock.Config {
	c := m.config.Table
	c.LeavesCycles = protocol.Mutated("no willing request is left in a cycle")
	if m.config.HoldOn > 0 {
		c.LocksPerSession += maxKept
	}
	return c
}

// overLocks returns the refusal of one more request of this member's own session: the table's limit leaves room for
// grants that other members keep.
func (m *Machine) overLocks(r *lock.Request) error {
	if m.config.HoldOn == 0 {
		return nil
	}
	bound := m.config.Table.LocksPerSession
	if holds, waiters := m.authority.table.Session(r.Session); holds+waiters < bound || m.knows(r) {
		return nil
	}
	return &holdfast.LimitError{Limit: "locks_per_session", Value: int64(bound)}
}

// allowKeeping reports whether a decision's grant may be kept by its member, and records that. Excluded are grants of a
// named owner or with a hold limit, because the table must judge those, and of names that another request waits for.
func (m *Machine) allowKeeping(key seqKey, d *lock.Decision) bool {
	c := m.authority
	if l := c.loans[d.Name]; l != nil && l.key == key {
		return !l.recalled
	}
	if m.config.HoldOn == 0 || d.Mode != holdfast.ModeExclusive || d.Owner != "" || d.Hold > 0 || d.Name == lock.SpaceLock || c.table.Wanted(d.Name) {
		return false
	}
	c.loans[d.Name] = &loan{key: key, session: d.Session, token: d.Token}
	return true
}

// settleLoan processes a decision about a grant that its member may keep. A revoked one is released when its client has
// stopped, and is not also recalled.
func (c *authority) settleLoan(d *lock.Decision, key seqKey) {
	l := c.loans[d.Name]
	switch {
	case l == nil || l.key != key:
	case d.Kind == lock.Revoked:
		l.recalled, l.used = true, true
	case d.Kind == lock.Released || d.Kind == lock.Lost:
		delete(c.loans, d.Name)
	}
}

// useLoan records that a recalled name is in use, from the acknowledgement of the recall.
func (c *authority) useLoan(key seqKey, msg *Decided) {
	if l := c.loans[msg.Name]; l != nil && l.key == key && l.recalled && msg.Kind == lock.Granted {
		l.used = true
	}
}

// recallName recalls a name that a request waits for from the members that may hold on to it: all names, if the whole
// table is to be suspended.
func (m *Machine) recallName(now protocol.Time, name string, out *protocol.Effects) {
	c := m.authority
	if name != lock.SpaceLock {
		if l := c.loans[name]; l != nil {
			m.recall(now, name, l, out)
		}
		return
	}
	for _, lent := range c.lent() {
		m.recall(now, lent, c.loans[lent], out)
	}
}

// lent lists the names that are lent, in order.
func (c *authority) lent() []string {
	names := make([]string, 0, len(c.loans))
	//tidy:unordered they are put in order
	for name := range c.loans {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// recall repeats a grant, without the permission to keep it, until it is acknowledged or released.
func (m *Machine) recall(now protocol.Time, name string, l *loan, out *protocol.Effects) {
	if l.recalled {
		return
	}
	l.recalled = true
	p := m.authority.peer(l.key.member)
	if p == nil || tenureOf(l.session, l.key.seq) != p.tenure {
		return // its entry will be free in time
	}
	msg := Decided{Ended: Ended{l.session, l.key.seq}, Kind: lock.Granted, Name: name, Token: l.token}
	m.authority.forget(l.key)
	m.repeatUntilHeard(now, l.key, &msg)
	msg.Stamp = m.authorityStamp(p)
	out.Send(p.id, msg)
}

// advancePast makes later tokens higher than those that a member has given by itself. The member has reported its
// count; an impossible count is ignored.
func (m *Machine) advancePast(name string, key seqKey, last holdfast.Token) {
	l := m.authority.loans[name]
	if l == nil || l.key != key || last <= l.token || last-l.token > maxUses || last>>32 != l.token>>32 {
		return
	}
	if !protocol.Mutated("lent tokens not outrun") {
		m.authority.table.AdvancePast(last)
	}
}

// advancePastLost makes later tokens higher than any that lost members can have given.
func (m *Machine) advancePastLost(lost func(lock.SessionID, uint64) bool) {
	//tidy:unordered the highest of them counts
	for _, l := range m.authority.loans {
		if lost(l.session, l.key.seq) {
			m.authority.table.AdvancePast(furthest(l.token))
		}
	}
}

// advancePastLent returns a count of tokens that no member with a kept grant can have reached, and the table's own if
// there is no such member.
func (c *authority) advancePastLent() uint32 {
	last := lock.Token(c.table.Reign(), c.table.Count())
	//tidy:unordered the highest of them counts
	for _, l := range c.loans {
		last = max(last, furthest(l.token))
	}
	return uint32(last)
}

// furthestLent returns the highest count that a member can have reached under a grant that it may keep; 0 if it may
// not.
func (c *authority) furthestLent(name string, key seqKey) holdfast.Token {
	if l := c.loans[name]; l != nil && l.key == key {
		return furthest(l.token)
	}
	return 0
}

// furthest is how far a member can have counted that may keep a grant.
func furthest(token holdfast.Token) holdfast.Token {
	reign, count := uint64(token)>>32, uint64(uint32(token))
	return lock.Token(reign, uint32(min(count+maxUses, lock.MaxCount)))
}

// inheritLoans treats every grant of another member that the previous authority may have let it keep as such a grant.
// It runs before anything of it is freed: freeing then skips the tokens that a lost member can have given, and no freed
// grant is recalled. Grants with a hold limit are no longer kept by their member; and a recall repeats the grant,
// without a limit, perhaps to a member that has not received it yet.
func (m *Machine) inheritLoans(entries []lock.Entry) {
	if m.config.HoldOn == 0 {
		return
	}
	for i := range entries {
		s := &entries[i]
		if protocol.ID(s.Session.Member) != m.self && s.Token != 0 && s.Mode == holdfast.ModeExclusive && s.Owner == "" && s.Left == lock.Never && s.Name != lock.SpaceLock {
			m.authority.loans[s.Name] = &loan{key: seqKey{protocol.ID(s.Session.Member), s.Request}, session: s.Session, token: s.Token}
		}
	}
}

// recallWanted asks for all that is lent and waited for.
func (m *Machine) recallWanted(now protocol.Time, out *protocol.Effects) {
	for _, name := range m.authority.lent() {
		if m.authority.table.Wanted(name) {
			m.recall(now, name, m.authority.loans[name], out)
		}
	}
}

// postpone reports whether a request that does not wait is answered later, because the name's holder may not be using
// it, and is being asked.
func (m *Machine) postpone(now protocol.Time, r *lock.Request, asker seqKey, out *protocol.Effects) bool {
	c := m.authority
	l := c.loans[r.Name]
	if l == nil || l.used || !r.Try && r.WaitEnd > now || !m.serves(now) || len(c.visits) == maxVisits {
		return false
	}
	if !slices.ContainsFunc(c.visits, func(v visit) bool {
		return v.request.Session == r.Session && v.request.ID == r.ID && v.request.Name == r.Name
	}) {
		c.visits = append(c.visits, visit{*r, asker, l.key, now + 2*m.config.Patience})
		m.recall(now, r.Name, l, out)
	}
	return true
}

// answerVisits lets the table answer the requests whose time has come: the name is free, or in use, or its member does
// not answer.
func (m *Machine) answerVisits(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	if len(c.visits) == 0 || !m.deciding {
		return
	}
	var due []visit
	c.visits = slices.DeleteFunc(c.visits, func(v visit) bool {
		l := c.loans[v.request.Name]
		if l != nil && l.key == v.held && !l.used && now < v.until {
			return false
		}
		due = append(due, v)
		return true
	})
	for i := range due {
		m.attend(now, out)
		c.table.Acquire(now, &due[i].request, &m.scratch)
		m.publish(now, due[i].asker, out)
	}
}

// keepVisits makes records of this member's own requests that its table has not answered.
func (m *Machine) keepVisits(visits []visit) {
	for i := range visits {
		if v := &visits[i]; v.asker == (seqKey{}) {
			r := &record{
				seq: m.holder.nextSeq(), state: requested, request: v.request, position: unknownPosition,
				at: protocol.Never, due: protocol.Never, end: protocol.Never,
			}
			m.holder.enter(r)
			m.remind(r)
		}
	}
}

// endVisits forgets the requests that match.
func (c *authority) endVisits(match func(*lock.Request) bool) {
	c.visits = slices.DeleteFunc(c.visits, func(v visit) bool { return match(&v.request) })
}

// refuseVisits ends the matching requests of this member's own clients, and reports it: they would be granted after
// their client had to stop. Without an error the client has ended them itself.
func (m *Machine) refuseVisits(now protocol.Time, match func(*lock.Request) bool, err error, out *protocol.Effects) {
	m.authority.endVisits(func(r *lock.Request) bool {
		if protocol.ID(r.Session.Member) != m.self || !match(r) {
			return false
		}
		d := r.Decision(lock.Refused)
		if err == nil {
			d.Kind = lock.Released
		}
		d.Waited, d.Err = max(0, now-r.Arrived), err
		m.holderDecided(&d, out)
		return true
	})
}
