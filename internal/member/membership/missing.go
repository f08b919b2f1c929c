package membership

import (
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// founder is this member's knowledge of the process at a founder's address, or of a founder that has moved. It is
// informational.
type founder struct {
	id      protocol.ID // 0, without a name, until it was heard of
	name    string
	address string
	listed  bool          // in the view that was raised last
	heard   protocol.Time // its latest status answer
	since   protocol.Time // when it was first missed, while it is not listed
}

// Missing is a founder that is not in the view or, before the first view, has not answered. Since is when this member
// first missed it: when it left the view, or when it was last heard before there was one, or when this member started.
type Missing struct {
	ID      protocol.ID // 0, without a Name, if never heard of in this life
	Name    string
	Address string
	Since   protocol.Time
}

// expect records the configured founders at the start.
func (m *Machine) expect(now protocol.Time) {
	if v := m.cell.Accepted; v != nil {
		for _, member := range v.Members {
			m.list(now, member, false)
		}
	}
	if !m.config.Founder {
		return // a guest's Founders are only contact addresses
	}
	for _, address := range m.rules.Founders {
		if m.founderAt(0, address) == nil {
			m.founders = append(m.founders, founder{address: address, since: now})
		}
	}
}

// founderAt finds a founder by its id, or else by its address.
func (m *Machine) founderAt(id protocol.ID, address string) *founder {
	by := func(is func(f founder) bool) *founder {
		if i := slices.IndexFunc(m.founders, is); i >= 0 {
			return &m.founders[i]
		}
		return nil
	}
	if found := by(func(f founder) bool { return id != 0 && f.id == id }); found != nil {
		return found
	}
	return by(func(f founder) bool { return f.address == address })
}

// list records a founder of a view.
func (m *Machine) list(now protocol.Time, member election.Member, listed bool) {
	if !member.Founder {
		return
	}
	f := m.founderAt(member.ID, member.Address)
	if f == nil {
		m.founders = append(m.founders, founder{since: now})
		f = &m.founders[len(m.founders)-1]
	}
	f.id, f.name, f.address, f.listed = member.ID, member.Name, member.Address, listed
}

// roll records which members are in the raised view, and which no longer are.
func (m *Machine) roll(now protocol.Time, v *election.View) {
	for _, member := range v.Members {
		m.list(now, member, true)
	}
	for i := range m.founders {
		f := &m.founders[i]
		if _, listed := v.Of(f.id); f.listed && !listed {
			f.listed, f.since = false, now
		}
	}
}

// saw records a founder's status answer.
func (m *Machine) saw(now protocol.Time, who election.Member) {
	if f := m.founderAt(who.ID, who.Address); f != nil && who.Founder {
		f.id, f.name, f.heard = who.ID, who.Name, now
	}
}

// missing lists the founders that are missing.
func (m *Machine) missing(now protocol.Time) (all []Missing) {
	for _, f := range m.founders {
		own := f.id == m.self || f.address == m.config.Address
		answers := !m.publishing && f.heard > 0 && now < f.heard+m.config.Lease
		if !own && !f.listed && !answers {
			since := f.since
			if !m.publishing {
				since = max(since, f.heard)
			}
			all = append(all, Missing{f.id, f.name, f.address, since})
		}
	}
	return all
}

// awaited names the founders that the first view still needs.
func (m *Machine) awaited(now protocol.Time) string {
	missing := m.missing(now)
	if len(missing) == 0 {
		return "all have answered, and it is being formed"
	}
	addresses := make([]string, len(missing))
	for i, f := range missing {
		addresses[i] = f.Address
	}
	return "no answer from " + strings.Join(addresses, ", ")
}

// Need lists the members that a quorum needs, for people.
type Need struct {
	Voters        []protocol.ID // in order of seniority
	Count         int           // more than half of them
	Half          bool          // half of them are enough if they include the first
	Here          []protocol.ID // the voters in the view; none while this member is in none
	Indispensable []protocol.ID // voters without which those that are here, or all, are no quorum
}

// Needs returns the members that a quorum needs of the newest view, and of each earlier view not known to be installed:
// more than half of its voters, or half with the most senior one.
func (s *Self) Needs() Need {
	v := s.Cell.Accepted
	if v == nil {
		return Need{}
	}
	electorates := v.Needs()
	voters := electorates[0].Voters
	need := Need{Voters: voters, Count: len(voters)/2 + 1, Half: len(voters)%2 == 0}
	if s.State != Joining {
		need.Here = voters
	}
	for _, id := range voters {
		if !election.Quorums(electorates, func(other protocol.ID) bool { return other != id }) {
			need.Indispensable = append(need.Indispensable, id)
		}
	}
	return need
}
