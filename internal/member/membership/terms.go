package membership

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Terms are the settings that all members must agree on. A view records those of the founders that formed it; a member
// with different ones is refused, even a founder that would coordinate. While no view is known, the majority decides
// which member is wrong.
//
// A cluster changes its terms when all its founders have the new ones and attend: stop all of them, and start them with
// the new terms. If they are restarted one by one, the founders with the old terms refuse each one and continue. A
// founder with the new terms elects no coordinator until every founder's address has answered; one that answers with
// the old terms ends that. Leases granted under an old, longer lease are waited out.

// terms returns a line for everything that all members must agree on.
func (c *Config) terms() []string {
	return append([]string{
		"version " + strconv.Itoa(ProtocolVersion),
		leaseTerm + c.Lease.String(),
		"drift " + fmt.Sprint(c.Drift),
	}, c.Definitions...)
}

const leaseTerm = "lease "

// leaseUnder returns how long leases granted under a view may run: this member's lease or, if all founders have taken a
// shorter one since, the view's own.
func (m *Machine) leaseUnder(v *election.View) time.Duration {
	longest := m.config.Lease
	if v == nil || len(v.Terms) < 2 {
		return longest
	}
	if text, is := strings.CutPrefix(v.Terms[1], leaseTerm); is {
		if lease, err := time.ParseDuration(text); err == nil {
			longest = max(longest, lease)
		}
	}
	return longest
}

// differs reports whether the given terms are known and not this member's.
func (m *Machine) differs(terms []string) bool {
	return len(terms) > 0 && !slices.Equal(terms, m.terms)
}

// dissents reports whether this member's terms differ from those of the view that it accepted in another life. Then it
// calls no election, unless all founders agree with it.
func (m *Machine) dissents() bool {
	return m.cell.Accepted != nil && m.differs(m.cell.Accepted.Terms)
}

// meetOtherTerms handles a view that this member cannot join. A member that has joined one since its start continues
// with its own.
func (m *Machine) meetOtherTerms(v *election.View, out *protocol.Effects) {
	if !m.publishing && m.config.Founder {
		m.refuse(m.ofFolder(m.disagreement("in the cluster", v.Terms)), out)
	}
}

// ofFolder adds to an error the cluster of this member's cell: it may be one that is over, and then no setting has to
// match.
func (m *Machine) ofFolder(err error) error {
	old := m.cell.Accepted
	if old == nil {
		return err
	}
	var names []string
	for _, member := range old.Members {
		names = append(names, strconv.Quote(member.Name))
	}
	return fmt.Errorf("%w. This member's state folder is of cluster %s, whose view %d has %s; if that cluster is over, start afresh: stop this member, and give it an empty folder",
		err, strconv.FormatUint(old.Cluster, 36), old.Number, strings.Join(names, ", "))
}

func (m *Machine) disagreement(where string, terms []string) error {
	theirs, ours := firstDifference(terms, m.terms)
	return fmt.Errorf("membership: all members must agree, and it is %q %s and %q here; give both the same, "+
		"or stop all founders and start them with the new one", theirs, where, ours)
}

func (m *Machine) otherFounders(a election.StatusAnswer) error {
	return fmt.Errorf("membership: the founders here are %q, at %s they are %q; give every founder the same list",
		m.config.Founders, a.Self.Address, a.Founders)
}

// objects handles the answer of a founder that disagrees with this one. It reports whether the answer is of no further
// use. If a view decides, the member that differs is unfit; otherwise the end of the survey shows the minority.
func (m *Machine) objects(a election.StatusAnswer, out *protocol.Effects) bool {
	terms := m.differs(a.Terms)
	switch {
	case !terms && slices.Equal(a.Founders, m.config.Founders):
		return false
	case m.publishing:
		return terms
	case !terms && a.Well:
		// The members that it is led with have agreed with it.
		m.refuse(m.otherFounders(a), out)
	case terms && m.dissents() && slices.Equal(a.Terms, m.cell.Accepted.Terms):
		m.refuse(m.disagreement("at "+a.Self.Address+" and in the view", a.Terms), out)
	case terms && m.cell.Accepted == nil && a.View != nil && slices.Equal(a.Terms, a.View.Terms):
		m.refuse(m.disagreement("at "+a.Self.Address+" and in its view", a.Terms), out)
	case terms && m.cell.Accepted != nil && !m.dissents():
		// the other one is wrong, and finds that out
	case m.survey != nil && a.Number == m.survey.Number:
		// A founder that restarts without its cell has another id at the same address.
		again := func(o election.StatusAnswer) bool { return o.Self.Address == a.Self.Address }
		m.objectors = append(slices.DeleteFunc(m.objectors, again), a)
	}
	return true
}

// namesake ends a founder if another founder of the cluster to be formed has its name. In an existing cluster, the
// coordinator refuses the second one (see disagree).
func (m *Machine) namesake(a election.StatusAnswer, out *protocol.Effects) bool {
	twice := a.Self.Name == m.config.Name && a.Self.ID != m.self && a.Self.Address < m.config.Address
	if !twice || m.cell.Accepted != nil || a.View != nil {
		return false
	}
	m.refuse(fmt.Errorf("membership: the name %q of this member is taken by the founder at %s; give each its own", m.config.Name, a.Self.Address), out)
	return true
}

// outvoted ends this member if more founders agree on different terms than on its own, or as many once all that it
// knows have answered.
func (m *Machine) outvoted(survey *election.Survey, out *protocol.Effects) bool {
	with := 1
	for _, a := range survey.Answers {
		if a.Self.Founder {
			with++
		}
	}
	for _, o := range m.objectors {
		against := 0
		for _, other := range m.objectors {
			if slices.Equal(other.Founders, o.Founders) && slices.Equal(other.Terms, o.Terms) {
				against++
			}
		}
		all := !slices.ContainsFunc(survey.Silent(), func(address string) bool {
			return !slices.ContainsFunc(m.objectors, func(o election.StatusAnswer) bool { return o.Self.Address == address })
		})
		switch {
		case against < with, against == with && !all:
		case m.differs(o.Terms):
			m.refuse(m.disagreement("at "+o.Self.Address, o.Terms), out)
			return true
		default:
			m.refuse(m.otherFounders(o), out)
			return true
		}
	}
	return false
}
