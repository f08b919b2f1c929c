package bakery

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Led notes the new leaders.
type Led struct {
	Term    Term
	Leaders []protocol.ID
}

func (n Led) String() string { return fmt.Sprintf("leaders of %v are %v", n.Term, n.Leaders) }

// Condition returns the space's condition: snaplock's LOCKREADY and NOLOCK, and the reason.
func (p proxy) Condition(now protocol.Time, counts *protocol.Condition) *protocol.Condition {
	c, stands := p.clients.Describe(counts)
	if !stands {
		return c
	}
	// If an election is refused no leader serves: the present leaders wait for something that is gone.
	if p.term.Term == (Term{}) || !p.Ready() || p.poll.refused != 0 {
		c.Candidates, c.Why = p.listCandidates("was elected, and no leader serves"), p.whyLeaderless()
		return c
	}
	c.Authority, c.Reign, c.Version = idsOf(p.term.Leaders), p.term.Term.Epoch, p.term.Term.View
	c.State, c.Candidates = protocol.Ready, p.listCandidates("leads")
	if p.leads && !p.serves {
		c.State, c.Why = protocol.Recovering, p.whyNotServing()
		c.Candidates = p.listCandidates("is elected")
		for i := range c.Candidates {
			if own := &c.Candidates[i]; own.Member == p.config.Self && p.ranked(own.Member) {
				own.Why = "is elected, and does not serve yet"
			}
		}
		if p.term.After == (Term{}) && !p.open {
			c.Until = p.opens(now)
		}
	}
	return c
}

// opens returns when members outside the view are expected to count as gone; Never if unknown.
func (m *Machine) opens(now protocol.Time) protocol.Time {
	if m.openFrom != protocol.Never {
		return m.openFrom
	}
	return m.standing.View.Opens(now)
}

// whyLeaderless returns why no member leads.
func (m *Machine) whyLeaderless() string {
	switch m.poll.refused {
	case RefusedFew:
		return m.whyFew()
	case RefusedEpoch:
		return "a new epoch is about to begin, because the highest token of the former leaders is unknown"
	}
	return "leaders are being elected"
}

// whyFew returns that there are too few candidates, and which members are none.
func (m *Machine) whyFew() string {
	needed, are, none := "1 candidate is needed to elect a leader", "are", ""
	if wanted := m.leaderCount(); wanted > 1 {
		needed = fmt.Sprintf("%d candidates are needed to elect leaders", wanted)
	}
	there := len(m.poll.candidates) - len(m.poll.missing)
	if there == 1 {
		are = "is"
	}
	var names []string
	for _, id := range m.poll.missing {
		names = append(names, m.standing.View.Name(id))
	}
	switch len(names) {
	case 0:
	case 1:
		none = fmt.Sprintf(": %s is none", names[0])
	default:
		none = fmt.Sprintf(": %s are none", strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s, and there %s %d%s", needed, are, there, none)
}

// whyNotServing returns what a leader waits for.
func (m *Machine) whyNotServing() string {
	switch {
	case m.term.After != (Term{}):
		return "waiting for the tickets of the former leaders"
	case !m.open:
		return m.standing.Lost.Why()
	}
	return "waiting until all members have told what their clients hold"
}

// listCandidates returns for each member why it is, or is not, a candidate for leader; elected is the text for the
// leaders.
func (m *Machine) listCandidates(elected string) (list []protocol.Candidate) {
	for _, c := range m.poll.candidates {
		shown := protocol.Candidate{Member: c.ID, Priority: c.Priority}
		switch {
		case m.ranked(c.ID):
			shown.Priority, shown.Why = 0, elected
		case c.Guest:
			shown.Why = "a guest is none"
		case c.Priority == Off:
			shown.Why = "its candidate is off"
		case !c.valid():
			shown.Why = "what it says of itself cannot be"
		default:
			shown.Why, shown.Eligible = "can be elected", true
		}
		list = append(list, shown)
	}
	return list
}

// ranked reports whether a member leads, as far as is known here.
func (m *Machine) ranked(id protocol.ID) bool {
	for _, leader := range m.term.Leaders {
		if leader.ID == id && m.present(leader) {
			return true
		}
	}
	return false
}

// Own returns the space's condition at this member, counting only its own clients.
func (m *Machine) Own(now protocol.Time) *protocol.Condition { return m.survey.Own(now) }
