package consensus

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// reforming is a request that a member be something else in all shards.
type reforming struct {
	call    protocol.CallID
	member  protocol.ID
	as      protocol.Role
	done    []bool // by shard
	until   protocol.Time
	already int // shards that have done it
}

// mostLacking is the maximum number of committed entries that a member may lack to get a vote: a leader under constant
// load always has some in flight.
const mostLacking = 100

// onReform changes a member's role in all shards.
func (m *Machine) onReform(call protocol.CallID, f *protocol.Reform, out *protocol.Effects) {
	err := error(nil)
	here := false
	if m.view != nil {
		_, here = m.view.Of(f.Member)
	}
	switch {
	case m.failed != nil:
		err = m.errFailed()
	case f.As > protocol.Voter:
		err = fmt.Errorf("%w: %v is none that a member can have", holdfast.ErrConflict, f.As)
	case m.parts[0].shard == nil || len(m.parts[0].shard.Members().Voters) == 0:
		err = fmt.Errorf("%w: this member does not take part in the space yet; ask another member", holdfast.ErrUnavailable)
	case f.As != protocol.Nonmember && !here:
		err = fmt.Errorf("%w: it is not in the view; start it first", holdfast.ErrConflict)
	default:
		err = m.calls.Full()
	}
	if err != nil {
		out.Reply(call, &protocol.Reformed{Err: err})
		return
	}
	m.lastNumber++
	m.calls.Others++
	id := m.lastNumber
	// Not longer if links are slow: it is repeated until then, and another operator may wish the contrary.
	m.reforms[id] = &reforming{call: call, member: f.Member, as: f.As, done: make([]bool, len(m.parts)), until: m.now + patienceOfInquiry*m.config.Election}
	m.pursue(id, out)
}

// pursue asks the leaders of the remaining shards, and again after a while: a change may be in progress, or another
// member lead.
func (m *Machine) pursue(id uint64, out *protocol.Effects) {
	q := m.reforms[id]
	if q == nil {
		return
	}
	if m.now >= q.until {
		m.endReform(id, fmt.Errorf("%w: %d of %d shards have done it in time; the others may still come to, or do it when asked again",
			holdfast.ErrUnavailable, q.already, len(m.parts)), out)
		return
	}
	m.reminders.Push(min(q.until, m.now+m.election()/2), due{what: dueReform, number: id})
	for _, p := range m.parts {
		reform := Reform{ID: id, Member: q.member, As: q.as}
		switch {
		case q.done[p.index] || p.shard == nil || p.leader == 0 && m.view == nil:
		case p.leader == 0: // a member without a role there does not learn the leader
			for _, member := range m.view.Members {
				if member.ID != m.config.Self {
					out.Send(member.ID, m.envelope(p, reform))
				}
			}
		case p.leader == uint64(m.config.Self):
			m.reform(p, m.config.Self, reform, out)
		default:
			m.say(p, protocol.ID(p.leader), reform, out)
		}
	}
}

// onReformed handles a shard leader's answer to a Reform.
func (m *Machine) onReformed(p *part, r *Reformed, out *protocol.Effects) {
	q := m.reforms[r.ID]
	switch {
	case r.ID == 0:
		p.nonmember = true
	case q == nil || q.done[p.index]:
	case r.Verdict != Done:
		err := r.err()
		if len(m.parts) > 1 {
			err = fmt.Errorf("%w (in shard %d; %d of %d have done it)", err, p.index, q.already, len(m.parts))
		}
		m.endReform(r.ID, err, out)
	default:
		q.done[p.index] = true
		if q.already++; q.already == len(m.parts) {
			m.endReform(r.ID, nil, out)
		}
	}
}

func (m *Machine) endReform(id uint64, err error, out *protocol.Effects) {
	q := m.reforms[id]
	delete(m.reforms, id)
	m.calls.Others--
	out.Reply(q.call, &protocol.Reformed{Err: err})
}

// err returns the obstacle to a Reform.
func (r *Reformed) err() error {
	switch r.Verdict {
	case NotAdded:
		return fmt.Errorf("%w: it is not a member of the space yet; add it first", holdfast.ErrConflict)
	case LogMissing:
		return fmt.Errorf("%w: it is %d entries behind; promote it when it has caught up", holdfast.ErrConflict, r.Lacks)
	case Unreached:
		return fmt.Errorf("%w: too few of the remaining voters can be reached to form a majority; bring them back first, or remove those that are gone", holdfast.ErrConflict)
	case LastVoter:
		return fmt.Errorf("%w: no other member has a vote in the space; promote another member first", holdfast.ErrConflict)
	}
	return fmt.Errorf("%w: the leader answered %v, which this member does not know", holdfast.ErrUnavailable, r.Verdict)
}

// reform changes a member's role in a shard that this member leads, or returns the obstacle. It returns nothing while
// that is in progress: a waiting member repeats its question.
func (m *Machine) reform(p *part, from protocol.ID, r Reform, out *protocol.Effects) {
	if p.shard == nil || p.leader != uint64(m.config.Self) || !p.shard.Leads() || p.shard.Changing() {
		return
	}
	conf := p.shard.Members()
	verdict, lacks := m.weigh(p, &conf, r)
	if verdict != Done || roleOf(&conf, r.Member) == r.As || r.As == protocol.Learner && roleOf(&conf, r.Member) == protocol.Voter {
		m.answerReform(p, from, Reformed{r.ID, verdict, lacks}, out)
		if verdict == Done && r.As == protocol.Nonmember {
			m.answerReform(p, r.Member, Reformed{}, out)
		}
		return
	}
	if r.As == protocol.Nonmember && r.Member == m.config.Self {
		m.handToSuccessor(p, out) // the new leader is asked
		return
	}
	voters, learners := reformed(&conf, r)
	m.change(p, voters, learners, Changed{p.index, r.Member, r.As}, out)
}

// change changes the members with the log of a shard that this member leads, with and without a vote, and notes it.
func (m *Machine) change(p *part, voters, learners []uint64, noted protocol.Note, out *protocol.Effects) {
	before := p.shard.Members().Voters
	if err := p.shard.Change(m.now, voters, learners, &p.output); err != nil {
		out.Note(Ignored{fmt.Sprintf("%v: not yet: %v", noted, err)})
	} else {
		out.Note(noted)
		if !sameVoters(before, voters) {
			m.spread()
		}
	}
	m.touch(p)
}

// sameVoters reports whether two lists have the same members.
func sameVoters(a, b []uint64) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// answerReform answers the member that has asked, which may be this one.
func (m *Machine) answerReform(p *part, to protocol.ID, r Reformed, out *protocol.Effects) {
	if to == m.config.Self {
		m.onReformed(p, &r, out)
		return
	}
	m.say(p, to, r, out)
}

// notifyNonmember informs a removed member that asks for votes of its removal: it heard from no other member when it
// was removed.
func (m *Machine) notifyNonmember(p *part, msg *shard.RaftMessage, from protocol.ID, out *protocol.Effects) {
	if !msg.Message.RequestsVote() || !p.shard.Leads() {
		return
	}
	conf := p.shard.Members()
	if roleOf(&conf, from) == protocol.Nonmember && !slices.Contains(conf.Outgoing, uint64(from)) {
		out.Send(from, m.envelope(p, Reformed{}))
	}
}

// weigh returns the obstacle to a Reform.
func (m *Machine) weigh(p *part, conf *group.Conf, r Reform) (v Verdict, lacks uint64) {
	switch is := roleOf(conf, r.Member); {
	case is == r.As, is == protocol.Voter && r.As == protocol.Learner:
		return Done, 0
	case r.As == protocol.Voter && is != protocol.Learner:
		return NotAdded, 0
	case r.As == protocol.Voter:
		lacks, _ := p.shard.Lacks(uint64(r.Member))
		if lacks > mostLacking {
			return LogMissing, lacks
		}
	case r.As == protocol.Nonmember && is == protocol.Voter && len(conf.Voters) == 1:
		return LastVoter, 0
	case r.As == protocol.Nonmember && r.Member == m.config.Self && !m.hasSuccessor(p):
		return Unreached, 0
	}
	if voters, _ := reformed(conf, r); !slices.Equal(voters, conf.Voters) && !m.heardEnough(voters, r) {
		return Unreached, 0
	}
	return Done, 0
}

// reformed returns the voters and learners after a Reform.
func reformed(conf *group.Conf, r Reform) (voters, learners []uint64) {
	is := func(id uint64) bool { return id == uint64(r.Member) }
	voters, learners = slices.DeleteFunc(slices.Clone(conf.Voters), is), slices.DeleteFunc(slices.Clone(conf.Learners), is)
	switch r.As {
	case protocol.Voter:
		voters = append(voters, uint64(r.Member))
	case protocol.Learner:
		learners = append(learners, uint64(r.Member))
	}
	return voters, learners
}

// roleOf returns a member's role.
func roleOf(conf *group.Conf, member protocol.ID) protocol.Role {
	switch {
	case slices.Contains(conf.Voters, uint64(member)):
		return protocol.Voter
	case slices.Contains(conf.Learners, uint64(member)):
		return protocol.Learner
	}
	return protocol.Nonmember
}

// heardEnough reports whether enough of the resulting voters were heard recently to continue; including, in any case, a
// member that gets a vote.
func (m *Machine) heardEnough(voters []uint64, r Reform) bool {
	heard := 0
	for _, id := range voters {
		if m.hearsNow(protocol.ID(id)) {
			heard++
		}
	}
	return heard > len(voters)/2 && (r.As != protocol.Voter || m.hearsNow(r.Member))
}

// hearsNow reports whether a member was heard within two election timeouts: a leader hears a present member several
// times in one.
func (m *Machine) hearsNow(id protocol.ID) bool {
	at, ever := m.heard[id]
	return id == m.config.Self || ever && m.now < at+2*m.election()
}

// know remembers members as long as they are present or have a role.
func (m *Machine) know() {
	for _, member := range m.view.Members {
		m.known[member.ID] = member
	}
	inLog := map[protocol.ID]bool{}
	for _, p := range m.parts {
		if p.shard != nil {
			conf := p.shard.Members()
			for _, id := range slices.Concat(conf.Voters, conf.Learners, conf.Outgoing, conf.LearnersNext) {
				inLog[protocol.ID(id)] = true
			}
		}
	}
	is := func(id protocol.ID) bool { _, here := m.view.Of(id); return here || inLog[id] }
	//tidy:unordered each goes or stays by itself
	maps.DeleteFunc(m.known, func(id protocol.ID, _ protocol.Member) bool { return !is(id) })
	//tidy:unordered each goes or stays by itself
	maps.DeleteFunc(m.heard, func(id protocol.ID, _ protocol.Time) bool { return !is(id) })
	//tidy:unordered each goes or stays by itself
	maps.DeleteFunc(m.contacts, func(id protocol.ID, _ *contact) bool { return !is(id) })
	//tidy:unordered each goes or stays by itself
	maps.DeleteFunc(m.pilot.away, func(id protocol.ID, _ protocol.Time) bool { return m.isHere(id) || !inLog[id] })
	//tidy:unordered each goes or stays by itself
	maps.DeleteFunc(m.spreading.leavers, func(id protocol.ID, _ uint64) bool { return !m.isHere(id) })
}

// shards returns the voters, with their descriptions.
func (m *Machine) shards() *protocol.Shards {
	all := &protocol.Shards{}
	ids := func(all []uint64) (ids []protocol.ID) {
		for _, id := range all {
			ids = append(ids, protocol.ID(id))
		}
		return ids
	}
	named := map[protocol.ID]bool{}
	for _, p := range m.parts {
		if p.shard == nil {
			return &protocol.Shards{}
		}
		conf := p.shard.Members()
		s := protocol.Shard{Leader: protocol.ID(p.leader), Voters: ids(conf.Voters), Learners: ids(conf.Learners)}
		all.List = append(all.List, s)
		for _, id := range slices.Concat(s.Voters, s.Learners) {
			if member, is := m.known[id]; is && !named[id] {
				named[id], all.Known = true, append(all.Known, member)
			}
		}
	}
	if m.removed() {
		all.Err = errRemoved
	}
	return all
}

// Changed notes that this member, which leads a shard, changes a member's role in it.
type Changed struct {
	Shard  int
	Member protocol.ID
	As     protocol.Role
}

func (n Changed) String() string {
	return fmt.Sprintf("shard %d changes: member %d becomes %v", n.Shard, n.Member, n.As)
}
