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

// visit is a request that does not want to wait, for a name that a member may hold on to
// without using it. It is answered when that member has given way, or has said that the name
// is in use.
type visit struct {
	request lock.Request
	asker   seqKey // the request that the answer is for, at another member; zero for this member's own
	held    seqKey
	until   protocol.Time
}

// maxVisits is how many such requests wait at an authority. One more is refused at once: the
// name is held.
const maxVisits = 1024

// tableConfig bounds the table. A session may have more entries in it than of its own: those
// that its member keeps are not its any more.
func (m *Machine) tableConfig() lock.Config {
	c := m.config.Table
	if m.config.HoldOn > 0 {
		c.LocksPerSession += maxKept
	}
	return c
}

// overLocks is the refusal of one more request of this member's own session: the table's
// bound leaves room for what other members keep.
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

// allowKeeping reports whether the grant of a decision may be kept by its member, and
// remembers that it may. A named owner's may not, nor one with a hold limit: what they mean
// is the table's to judge. Nor may one that another request waits for.
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

// settleLoan takes what was decided about a grant that its member may keep. One that is
// revoked is released when its client has stopped, and not asked for as well.
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

// useLoan hears that what was asked for is in use, from the acknowledgement of the asking.
func (c *authority) useLoan(key seqKey, msg *Decided) {
	if l := c.loans[msg.Name]; l != nil && l.key == key && l.recalled && msg.Kind == lock.Granted {
		l.used = true
	}
}

// recallName asks the members that may hold on to a name that a request waits for to give way:
// to all names, where the whole table is to be suspended.
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

// recall tells a grant again, without the permission to keep it, until it is acknowledged
// or released.
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

// advancePast makes the tokens to come higher than those that a member has given by itself. It
// has said how far it has counted; what it cannot have counted to is not believed.
func (m *Machine) advancePast(name string, key seqKey, last holdfast.Token) {
	l := m.authority.loans[name]
	if l == nil || l.key != key || last <= l.token || last-l.token > maxUses || last>>32 != l.token>>32 {
		return
	}
	if !protocol.Mutated("lent tokens not outrun") {
		m.authority.table.AdvancePast(last)
	}
}

// advancePastLost makes the tokens to come higher than any that lost members can have given.
func (m *Machine) advancePastLost(lost func(lock.SessionID, uint64) bool) {
	//tidy:unordered the highest of them counts
	for _, l := range m.authority.loans {
		if lost(l.session, l.key.seq) {
			m.authority.table.AdvancePast(furthest(l.token))
		}
	}
}

// advancePastLent returns a count of tokens that no member that keeps a grant can have reached, and
// the table's own where there is none.
func (c *authority) advancePastLent() uint32 {
	last := lock.Token(c.table.Reign(), c.table.Count())
	//tidy:unordered the highest of them counts
	for _, l := range c.loans {
		last = max(last, furthest(l.token))
	}
	return uint32(last)
}

// furthestLent is how far a member can have counted under a grant that it may keep; 0 where it
// may not.
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

// inheritLoans takes every grant of another member that the authority before may have let it
// keep for one that it did: before anything of it is freed, for then the tokens that a lost
// member can have given are passed over, and nothing that is freed is asked for. What has a hold limit
// its member keeps no more; and asking tells the grant again, without a limit, perhaps to one who
// has not heard of it yet.
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

// postpone reports whether a request that does not want to wait is answered later, because
// who has the name may not be using it, and is being asked.
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

// answerVisits lets the table answer those whose time has come: the name is free, or in use,
// or its member does not answer.
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

// refuseVisits ends what matches of this member's own clients, and reports it: it would be
// granted after its client had to stop. Without an error the client has ended it itself.
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
