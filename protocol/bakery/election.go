package bakery

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// The election of leaders. Every view has one elector: the member with the smallest address. Each member sends it its
// identity and the leaders that it knows; when all have, the elector confirms these, or elects others. snaplock elects
// as soon as a quorum has been heard, by a wall clock's date, and a member that learns of an election believes it. Here
// a majority of the view, including the coordinator, has agreed to accept no older one, and each view has its own
// elector, whose messages count under that view only.

// poll is a view's election, as a member and as the elector see it.
type poll struct {
	// As a member.
	due    protocol.Time // when to tell the elector again
	pause  protocol.Time
	copies int // in a row that the elector has left unanswered

	// What this member knows of the outcome.
	settled    bool // the elector has announced the leaders, or why no member leads
	refused    Refusal
	missing    []protocol.ID
	candidates []Candidate

	// As the elector.
	started  []heardOf // in order of seniority
	election Election  // what the view is asked to agree to
	accepted []protocol.ID
	done     bool          // it has
	again    protocol.Time // when to ask again
	delay    protocol.Time
}

// heardOf is the elector's knowledge of a member.
type heardOf struct {
	from protocol.ID
	Started
}

// maxLeaders is the maximum number of leaders: with three of them each step waits for the faster one of two.
const maxLeaders = 3

// electionIn returns the election in a message, if there is one.
func electionIn(message any) *Election {
	switch msg := message.(type) {
	case Started:
		return &msg.Known
	case Elect:
		return &msg.Election
	case Leaders:
		return &msg.Election
	}
	return nil
}

// valid reports whether an election can have had that outcome.
func (e *Election) valid() bool {
	led := func(t Term, leaders []local.Place) bool {
		for i, leader := range leaders {
			if leader.ID == 0 || slices.ContainsFunc(leaders[:i], func(p local.Place) bool { return p.ID == leader.ID }) {
				return false
			}
		}
		return len(leaders) <= maxLeaders && (len(leaders) == 0) == (t == Term{})
	}
	return led(e.Term, e.Leaders) && led(e.After, e.AfterLeaders)
}

// elector returns the elector of the view.
func (m *Machine) elector() protocol.ID {
	first := m.standing.View.Members[0]
	for _, member := range m.standing.View.Members[1:] {
		if cmp.Or(cmp.Compare(member.Address, first.Address), cmp.Compare(member.ID, first.ID)) < 0 {
			first = member
		}
	}
	return first.ID
}

// takePoll begins a view's election.
func (m *Machine) takePoll(now protocol.Time, out *protocol.Effects) {
	m.poll = poll{due: protocol.Never, again: protocol.Never, candidates: m.poll.candidates}
	m.start(now, out)
}

// start informs the elector of this member's identity, and ensures its repetition.
func (m *Machine) start(now protocol.Time, out *protocol.Effects) {
	own, _ := m.standing.View.Of(m.config.Self)
	msg := Started{
		Tag: m.standing.Tag(),
		Candidate: Candidate{
			ID: m.config.Self, Priority: m.config.Priority, Random: m.config.Random,
			Address: own.Address, PID: m.config.PID, Name: own.Name, Guest: !own.Founder,
		},
		Known: m.term, Promised: m.promised, Serves: m.serves, Used: m.used,
	}
	if e := m.elector(); e != m.config.Self {
		out.Send(e, msg)
	} else {
		m.onStarted(now, e, &msg, out)
	}
	m.poll.due = protocol.Never
	if !m.poll.settled {
		m.poll.pause = protocol.Longer(m.poll.pause, m.config.Patience)
		m.poll.due = now + m.poll.pause
	}
}

// pollTick resends unanswered messages.
func (m *Machine) pollTick(now protocol.Time, out *protocol.Effects) {
	if m.poll.due <= now {
		if m.elector() != m.config.Self {
			m.poll.copies++
			m.recount = m.recount || m.poll.copies > maxUnheard
		}
		m.start(now, out)
	}
	if m.poll.again <= now {
		m.propose(now, out)
	}
}

// onStarted handles a member's message to the elector, and answers as far as something is decided.
func (m *Machine) onStarted(now protocol.Time, from protocol.ID, msg *Started, out *protocol.Effects) {
	if m.elector() != m.config.Self {
		return
	}
	p := &m.poll
	if i := slices.IndexFunc(p.started, func(h heardOf) bool { return h.from == from }); i >= 0 {
		p.started[i].Started = *msg
	} else {
		p.started = append(p.started, heardOf{from, *msg})
	}
	if msg.Used && p.done && p.election.Term.Epoch < m.standing.View.Epoch.Counter {
		p.done, p.election = false, Election{} // they went on, and cannot any more
	}
	if len(p.started) == len(m.standing.View.Members) && !p.done && p.election.Term == (Term{}) {
		m.decide(now, out)
		return
	}
	m.answer(now, from, out)
}

// answer informs a member of the election's state, if it is known.
func (m *Machine) answer(now protocol.Time, to protocol.ID, out *protocol.Effects) {
	p := &m.poll
	switch {
	case p.refused != 0:
		m.deliver(now, to, Refused{Tag: m.standing.Tag(), Why: p.refused, Missing: p.missing, Candidates: p.candidates}, out)
	case p.done:
		m.deliver(now, to, Leaders{Tag: m.standing.Tag(), Election: p.election, Candidates: p.candidates}, out)
	case p.election.Term == (Term{}) && len(p.started) == len(m.standing.View.Members):
		// These continue until they can hand over their tickets.
		m.deliver(now, to, Leaders{Tag: m.standing.Tag(), Election: m.newest(), Candidates: p.candidates}, out)
	case to != m.config.Self:
		out.Send(to, Elected{Tag: m.standing.Tag()}) // it is heard, and has to wait
	}
}

// deliver sends a member of the view, possibly this one, a message of the election.
func (m *Machine) deliver(now protocol.Time, to protocol.ID, msg protocol.Message, out *protocol.Effects) {
	if to != m.config.Self {
		out.Send(to, msg)
		return
	}
	switch msg := msg.(type) {
	case Leaders:
		m.onLeaders(now, to, &msg, out)
	case Refused:
		m.onRefused(to, &msg, out)
	}
}

// announce informs all members of the election's state.
func (m *Machine) announce(now protocol.Time, out *protocol.Effects) {
	view := m.standing.View
	for i := range view.Members {
		m.answer(now, view.Members[i].ID, out)
	}
}

// newest returns the newest election that any member knows.
func (m *Machine) newest() (known Election) {
	for i := range m.poll.started {
		if k := m.poll.started[i].Known; known.Term.Before(k.Term) {
			known = k
		}
	}
	return known
}

// startedBy returns a member's message to the elector.
func (m *Machine) startedBy(id protocol.ID) *Started {
	for i := range m.poll.started {
		if m.poll.started[i].from == id {
			return &m.poll.started[i].Started
		}
	}
	return nil
}

// decide makes the elector's decision, when all have identified themselves: the leaders continue, others are elected,
// or there is no election, with a reason.
func (m *Machine) decide(now protocol.Time, out *protocol.Effects) {
	p := &m.poll
	known := m.newest()
	remaining := m.remaining(&known)
	p.candidates = m.candidates(remaining)
	why, missing := m.obstacle()
	leaders := remaining
	if why == 0 {
		leaders = m.choose(remaining)
	}
	majority := len(remaining) > len(known.Leaders)/2 // of none there is no majority
	used := slices.ContainsFunc(p.started, func(h heardOf) bool { return h.Used && h.Known.Term == known.Term })
	next := Election{
		Term: Term{m.standing.View.Epoch.Counter, m.standing.View.Number}, Leaders: leaders,
		After: known.Term, AfterLeaders: known.Leaders, Count: m.standing.View.Count,
	}
	renew := used && next.Term.Epoch > known.Term.Epoch
	switch {
	case majority && slices.Equal(leaders, known.Leaders) && !renew:
		p.election, p.done = known, true
	case majority && m.serving(&known) > len(known.Leaders)/2:
		p.election = next
	case majority && m.mayServe(&known):
		// It is not known yet which tickets they have to hand over. They report when they serve.
	case why != 0:
		p.refused, p.missing = why, missing
	case m.highest(known.Term).Epoch >= next.Term.Epoch:
		// No member knows which tokens the leaders before have given in this epoch.
		p.refused, p.missing = RefusedEpoch, nil
	default:
		next.After, next.AfterLeaders = Term{}, nil
		p.election = next
	}
	if p.election.Term != (Term{}) && !p.done {
		m.propose(now, out)
		return
	}
	m.announce(now, out)
}

// remaining returns the leaders of an election that are still present, by rank.
func (m *Machine) remaining(known *Election) (remaining []local.Place) {
	for _, leader := range known.Leaders {
		if m.present(leader) {
			remaining = append(remaining, leader)
		}
	}
	return remaining
}

// serving counts the leaders of an election that have all tickets.
func (m *Machine) serving(known *Election) (count int) {
	for _, leader := range m.remaining(known) {
		if s := m.startedBy(leader.ID); s != nil && s.Serves && s.Known.Term == known.Term {
			count++
		}
	}
	return count
}

// mayServe reports whether the leaders that do not serve yet can come to serve: from members' holds, or from the
// tickets of a majority of the previous leaders.
func (m *Machine) mayServe(known *Election) bool {
	if known.After == (Term{}) {
		return true
	}
	here := 0
	for _, leader := range known.AfterLeaders {
		if m.present(leader) {
			here++
		}
	}
	return here > len(known.AfterLeaders)/2
}

// highest returns the newest term that any member knows or was asked to agree to.
func (m *Machine) highest(known Term) Term {
	for i := range m.poll.started {
		if promised := m.poll.started[i].Promised; known.Before(promised) {
			known = promised
		}
	}
	return known
}

// leaderCount returns the cluster's number of leaders: all, if it has no more than three founders.
func (m *Machine) leaderCount() int { return min(maxLeaders, m.config.Founders) }

// obstacle returns why no new member can be elected, or 0. Absent founders are not waited for: the view does without
// them, and the first one of a cluster has all of them. But a cluster in which too many founders are off to ever reach
// that number gets this reason.
func (m *Machine) obstacle() (why Refusal, who []protocol.ID) {
	founders, candidates := 0, 0
	for i := range m.poll.started {
		c := &m.poll.started[i].Candidate
		if !c.Guest {
			founders++
		}
		if c.eligible() {
			candidates++
		} else {
			who = append(who, c.ID)
		}
	}
	away := max(0, m.config.Founders-founders)
	switch {
	case away > 0 && m.config.Founders <= maxLeaders && protocol.Mutated("all founders elect"):
		return RefusedFew, nil
	case candidates == 0 || candidates+away < m.leaderCount():
		return RefusedFew, who
	}
	return 0, nil
}

// eligible reports whether a member can be made a leader. Guests come and go, so they are not.
func (c *Candidate) eligible() bool { return !c.Guest && c.Priority != Off && c.valid() }

// valid reports whether a candidate's description of itself can be true.
func (c *Candidate) valid() bool {
	return c.Priority >= 1 && c.Priority <= Off && c.PID >= 1 && c.Name != ""
}

// compareCandidates orders by eligibility: priority, then the random number, and finally fields that always differ.
func compareCandidates(a, b Candidate) int {
	return cmp.Or(
		cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Random, b.Random),
		cmp.Compare(a.Address, b.Address), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID),
	)
}

// candidates returns the members as candidates, the most eligible first; leaders count as priority 0.
func (m *Machine) candidates(remaining []local.Place) (list []Candidate) {
	for i := range m.poll.started {
		c := m.poll.started[i].Candidate
		if slices.ContainsFunc(remaining, func(p local.Place) bool { return p.ID == c.ID }) {
			c.Priority = 0
		}
		list = append(list, c)
	}
	slices.SortFunc(list, compareCandidates)
	return list
}

// choose keeps the present leaders and adds the most eligible candidates up to the number of leaders.
func (m *Machine) choose(remaining []local.Place) []local.Place {
	leaders := slices.Clone(remaining)
	for _, c := range m.poll.candidates {
		place := m.placeOf(c.ID)
		if len(leaders) < m.leaderCount() && c.Priority != 0 && c.eligible() {
			leaders = append(leaders, place)
		}
	}
	return leaders
}

// propose asks the view to agree to an election, repeatedly until all members have: a member that already knew that the
// leaders continue asks nothing by itself, and the announcement may be lost on its way to it.
func (m *Machine) propose(now protocol.Time, out *protocol.Effects) {
	p := &m.poll
	p.delay = protocol.Longer(p.delay, m.config.Patience)
	p.again = now + p.delay
	for member := range m.standing.Others() {
		if !slices.Contains(p.accepted, member.ID) {
			out.Send(member.ID, Elect{Tag: m.standing.Tag(), Election: p.election})
		}
	}
	m.onAccepted(now, m.config.Self, out)
}

// onElect agrees to accept no older election. A member that does not know the outcome yet asks for it, until it does.
func (m *Machine) onElect(now protocol.Time, from protocol.ID, msg *Elect, out *protocol.Effects) {
	if from != m.elector() || msg.Election.Term.Before(m.promised) || msg.Election.Term.Before(m.term.Term) {
		return
	}
	m.poll.copies = 0
	m.recount = m.complains
	m.promised = msg.Election.Term
	if p := &m.poll; p.settled && m.term.Term.Before(m.promised) {
		p.settled, p.pause = false, m.config.Patience
		p.due = now + p.pause
	}
	out.Send(from, Elected{Tag: m.standing.Tag(), Term: m.promised})
}

// onElected handles a member's agreement; or, from the elector, that it has heard this member and has no result yet.
func (m *Machine) onElected(now protocol.Time, from protocol.ID, msg *Elected, out *protocol.Effects) {
	switch {
	case from == m.elector():
		m.poll.copies = 0
		m.recount = m.complains
	case msg.Term != (Term{}) && msg.Term == m.poll.election.Term:
		m.onAccepted(now, from, out)
	}
}

// onAccepted counts a member's agreement. A majority of the view is enough if it includes the coordinator, which
// remembers for as long as the epoch lasts which terms it has had.
func (m *Machine) onAccepted(now protocol.Time, from protocol.ID, out *protocol.Effects) {
	p := &m.poll
	if from == m.config.Self {
		m.promised = p.election.Term
	}
	if !slices.Contains(p.accepted, from) {
		p.accepted = append(p.accepted, from)
	}
	if !p.done && len(p.accepted) > len(m.standing.View.Members)/2 && slices.Contains(p.accepted, m.standing.View.Coordinator) {
		p.done = true
		m.announce(now, out)
	}
	if p.done && len(p.accepted) == len(m.standing.View.Members) {
		p.again = protocol.Never
	}
}

// onLeaders handles the announcement of the leaders.
func (m *Machine) onLeaders(now protocol.Time, from protocol.ID, msg *Leaders, out *protocol.Effects) {
	if from != m.elector() || msg.Election.Term.Before(m.promised) && m.promised.View == m.standing.View.Number {
		return
	}
	p := &m.poll
	p.refused, p.copies, p.candidates = 0, 0, msg.Candidates
	m.recount = m.complains
	if !m.isAwaited(&msg.Election) {
		p.settled, p.due = true, protocol.Never
	}
	if m.term.Term.Before(msg.Election.Term) {
		m.adopt(now, &msg.Election, out)
	}
}

// isAwaited reports whether the elector may wait for this leader's report that it serves: one of its term has left, and
// others are elected as soon as most of them serve. An answer that they continue may be to an earlier report, and this
// one be lost.
func (m *Machine) isAwaited(e *Election) bool {
	left := func(leader local.Place) bool { return !m.present(leader) }
	return m.serves && e.Term == m.term.Term && slices.ContainsFunc(m.term.Leaders, left) && !protocol.Mutated("a leader that serves says so until others are elected")
}

// onRefused handles the reason why no member leads.
func (m *Machine) onRefused(from protocol.ID, msg *Refused, out *protocol.Effects) {
	if from != m.elector() {
		return
	}
	p := &m.poll
	p.settled, p.refused, p.missing, p.candidates = true, msg.Why, msg.Missing, msg.Candidates
	p.due, p.copies = protocol.Never, 0
	m.recount = m.complains
	if msg.Why == RefusedEpoch {
		m.needEpoch(m.standing.View.Epoch.Counter, out)
	}
}

// needEpoch requests another epoch from the membership, if this member coordinates.
func (m *Machine) needEpoch(above uint64, out *protocol.Effects) {
	view := m.standing.View
	if view.Coordinator == m.config.Self && m.wanted < above && view.Epoch.Counter <= above {
		m.wanted = above
		out.Raise(&protocol.NeedEpoch{Above: above})
	}
}

// onExhausted takes, as the coordinator, that the tokens of an epoch are used up.
func (m *Machine) onExhausted(msg *Exhausted, out *protocol.Effects) { m.needEpoch(msg.Epoch, out) }

// reportServing informs the elector that this leader now serves: it may have waited for that. It is repeated until the
// elector has received it.
func (m *Machine) reportServing(now protocol.Time, out *protocol.Effects) {
	m.poll.settled, m.poll.pause = false, 0
	m.start(now, out)
}
