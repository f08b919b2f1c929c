package consensus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// onOperator handles an operator's request.
func (m *Machine) onOperator(ev *protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.Copy:
		m.onCopy(ev.Call, fact, out)
	case *protocol.Transfer:
		m.onTransfer(ev.Call, fact.To, out)
	case *protocol.ListShards:
		out.Reply(ev.Call, m.shards())
	case *protocol.Reform:
		m.onReform(ev.Call, fact, out)
	case *protocol.StepDown:
		m.stepDown(ev.Call, out)
	case *protocol.OpenSpace:
		m.instance.Open(ev.Call, out)
	case *protocol.CloseSpace:
		m.closeSpace(ev.Call, out)
	default:
		if f, breaks := fact.(*protocol.Break); breaks && !m.isSpaceLock(f.Name) {
			m.onBreak(ev.Call, f, out)
		} else if !m.calls.OnCall(m.now, ev, out) {
			out.Note(Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
		}
	}
}

// shown converts a copy's times to this member's, and the names of its process's sessions to those of the session
// machine.
func (m *Machine) shown(p *part, l lock.Lock) lock.Lock {
	l = l.After(p.shift())
	for i := range l.Holders {
		l.Holders[i].Session = m.localOf(l.Holders[i].Session)
	}
	for i := range l.Waiters {
		l.Waiters[i].Session = m.localOf(l.Waiters[i].Session)
	}
	return l
}

func (m *Machine) localOf(id lock.SessionID) lock.SessionID {
	if c := m.clients[id]; c != nil {
		return c.local
	}
	return id
}

// onBreak takes a name from its holders.
func (m *Machine) onBreak(call protocol.CallID, f *protocol.Break, out *protocol.Effects) {
	p := m.partOf(f.Name)
	if m.failed != nil || p.shard == nil || m.view == nil {
		out.Reply(call, &protocol.Unanswered{Err: m.errUndecided()})
		return
	}
	m.breakIn(call, f, []*part{p}, out)
}

// shownGrants is shown for the grants whose holders a Break has notified to stop.
func (m *Machine) shownGrants(p *part, grants []lock.Grant) []lock.Grant {
	for i := range grants {
		grants[i] = grants[i].After(p.shift())
		grants[i].Session = m.localOf(grants[i].Session)
	}
	return grants
}

// Decides reports whether this member leads the first shard and has applied all that others have committed, and in
// which reign it counts tokens there.
func (m *Machine) Decides() (reign uint64, decides bool) {
	if m.parts[0].shard == nil || !m.parts[0].shard.Leads() {
		return 0, false
	}
	return m.parts[0].shard.Replica().Reign(), true
}

// transfer is a request that a member lead all shards.
type transfer struct {
	call protocol.CallID
	to   protocol.ID
}

// onTransfer has a member lead all shards.
func (m *Machine) onTransfer(call protocol.CallID, to protocol.ID, out *protocol.Effects) {
	err := error(nil)
	switch {
	case m.failed != nil || m.parts[0].shard == nil:
		err = m.errUndecided()
	case !slices.Contains(m.parts[0].shard.Members().Voters, uint64(to)):
		err = fmt.Errorf("%w: it has no vote in this space, so it can lead nothing", holdfast.ErrConflict)
	default:
		err = m.calls.Full()
	}
	if err != nil {
		out.Reply(call, &protocol.Transferred{Authority: m.leaders(), Err: err})
		return
	}
	m.lastNumber++
	m.calls.Others++
	m.transfers[m.lastNumber] = &transfer{call, to}
	m.reminders.Push(m.now+patienceOfInquiry*m.election(), due{what: dueTransfer, number: m.lastNumber})
	m.choose(to, out)
	for _, p := range m.parts {
		m.transferLeader(p, to, out)
	}
	m.transferred(out)
}

// transferLeader has a member lead a shard, through the member that leads it now.
func (m *Machine) transferLeader(p *part, to protocol.ID, out *protocol.Effects) {
	switch {
	case p.shard == nil || p.leader == 0 || p.leader == uint64(to):
	case p.leader != uint64(m.config.Self):
		m.say(p, protocol.ID(p.leader), TransferLeader{To: to}, out)
	case slices.Contains(p.shard.Members().Voters, uint64(to)):
		if err := p.shard.Hand(m.now, uint64(to), &p.output); err != nil {
			out.Note(Ignored{fmt.Sprintf("shard %d is not handed over: %v", p.index, err)})
		}
		m.touch(p)
	}
}

// transferred answers transfers that have come to their end.
func (m *Machine) transferred(out *protocol.Effects) {
	for _, id := range slices.Sorted(maps.Keys(m.transfers)) {
		t := m.transfers[id]
		if !slices.ContainsFunc(m.parts, func(p *part) bool { return p.leader != uint64(t.to) }) {
			delete(m.transfers, id)
			m.calls.Others--
			out.Reply(t.call, &protocol.Transferred{Authority: m.leaders()})
		}
	}
}

// untransferred returns the error of a transfer that has not finished in time.
func (m *Machine) untransferred(id uint64, out *protocol.Effects) {
	t := m.transfers[id]
	if t == nil {
		return
	}
	delete(m.transfers, id)
	m.calls.Others--
	err := fmt.Errorf("%w: it does not lead all shards yet, and may still do so", holdfast.ErrUnavailable)
	out.Reply(t.call, &protocol.Transferred{Authority: m.leaders(), Err: err})
}

// stepDown hands over the shards that this member leads, and continues to do so.
func (m *Machine) stepDown(call protocol.CallID, out *protocol.Effects) {
	if !m.leaving {
		m.leaving = true
		m.announceLeaving(out)
	}
	pending := false
	for _, p := range m.parts {
		m.handOver(p, out)
		pending = pending || p.leader == uint64(m.config.Self) && m.hasSuccessor(p)
	}
	out.Reply(call, &protocol.SteppedDown{Pending: pending && m.failed == nil})
}

// handOver hands a shard that this leaving member leads to another one.
func (m *Machine) handOver(p *part, out *protocol.Effects) {
	if !m.leaving || p.shard == nil || p.leader != uint64(m.config.Self) || m.failed != nil {
		return
	}
	if m.hasSuccessor(p) {
		m.handToSuccessor(p, out)
	}
}

// handToSuccessor has the successor lead a shard that this member leads.
func (m *Machine) handToSuccessor(p *part, out *protocol.Effects) {
	if successor := m.nextSuccessor(p); successor != p.successor || m.now >= p.handed+m.election() {
		p.successor, p.handed = successor, m.now
	}
	m.transferLeader(p, p.successor, out)
}

// hasSuccessor reports whether a voter of a shard could lead it in this member's place.
func (m *Machine) hasSuccessor(p *part) bool {
	return slices.ContainsFunc(p.shard.Members().Voters, m.canInherit)
}

// nextSuccessor returns the member that is to lead a shard in this member's place: the one that was heard last. Another
// one is chosen if it is silent for half an election timeout, and if it has not become leader within a whole one.
func (m *Machine) nextSuccessor(p *part) (successor protocol.ID) {
	voters := p.shard.Members().Voters
	former := p.successor
	if former == 0 || !slices.Contains(voters, uint64(former)) || !m.canInherit(uint64(former)) {
		former = 0
	} else if m.now < p.handed+m.election()/2 || m.now < p.handed+m.election() && m.now < m.heard[former]+m.election()/2 {
		return former
	}
	for _, voter := range voters {
		id := protocol.ID(voter)
		if id != former && m.canInherit(voter) && (successor == 0 || m.heard[id] > m.heard[successor]) {
			successor = id
		}
	}
	return cmp.Or(successor, former)
}

// canInherit reports whether a member is in the view, and is to stay.
func (m *Machine) canInherit(voter uint64) bool {
	id := protocol.ID(voter)
	return m.view != nil && id != m.config.Self && m.isHere(id) && !m.isLeaving(id)
}

// closeSpace notifies the clients that this member serves to stop, and accepts nothing new.
func (m *Machine) closeSpace(call protocol.CallID, out *protocol.Effects) {
	if !m.instance.Close(call, m.config.Operators, out) {
		return
	}
	for _, c := range m.inOrder() {
		m.revoke(c, holdfast.SpaceClosed, protocol.ErrClosed(m.view, m.config.Self), out)
	}
	m.concludeClosing(out)
}

// concludeClosing answers the callers that have closed the space: nothing is left here.
func (m *Machine) concludeClosing(out *protocol.Effects) {
	if !m.instance.Awaited() {
		return
	}
	//tidy:unordered whether there is any
	for _, c := range m.clients {
		if len(c.requests) > 0 {
			return
		}
	}
	m.instance.Conclude(out)
}

// Led notes that a member leads a shard.
type Led struct {
	Shard int
	By    protocol.ID
	Reign uint64
}

func (n Led) String() string {
	return fmt.Sprintf("shard %d is led by member %d, reign %d", n.Shard, n.By, n.Reign)
}
