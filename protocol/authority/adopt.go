package authority

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// adopt adds a reported hold to the table. If not all are compatible some of them have to end: as few as possible, the
// lowest first, of those that rank below the reported one; if that is not enough, the reported one itself. A holder
// that has to end is notified, and keeps its place until it has stopped: no other is granted it before (P3).
func (m *Machine) adopt(now protocol.Time, of protocol.ID, s *lock.Entry, end protocol.Time, out *protocol.Effects) {
	table := m.authority.table
	err := table.Adopt(now, s, end)
	if errors.Is(err, holdfast.ErrConflict) {
		err = m.adoptRival(now, s, end)
		m.publish(now, seqKey{}, out)
	}
	if err != nil {
		out.Note(Ignored{What: fmt.Sprintf("report of member %d: %v", of, err)})
	}
}

// adoptRival is adopt for a hold that conflicts with others.
func (m *Machine) adoptRival(now protocol.Time, s *lock.Entry, end protocol.Time) error {
	table := m.authority.table
	holders := table.Show(s.Name).Holders
	mate := slices.IndexFunc(holders, func(g lock.Grant) bool { return g.Token == s.Token && g.Session == s.Session })
	switch {
	case mate >= 0 && s.Revoked && !holders[mate].Revoked:
		// Its holder knows that this hold of the grant is to end, and not yet about the others.
		table.Revoke(s.Session, s.Name, s.Token, m.duplicate(), &m.scratch)
	case mate < 0 && !s.Revoked && table.Displace(s, m.below(s, holders), m.duplicate(), &m.scratch):
		if err := table.Adopt(now, s, end); !errors.Is(err, holdfast.ErrConflict) {
			return err
		}
	}
	before := len(m.scratch)
	err := table.AdoptRevoked(now, s, end, m.duplicate(), &m.scratch)
	switch {
	case err != nil:
		// It can have no place in the table.
		m.scratch = append(m.scratch, lock.Decision{
			Kind: lock.Lost, Session: s.Session, Request: s.Request, Name: s.Name, Owner: s.Owner, Client: s.Client, Reason: s.Reason,
			Shape: s.Shape, Token: s.Token, Since: now - s.Age, Loss: m.duplicate(),
		})
	case s.Revoked:
		m.scratch = m.scratch[:before] // its client knows
	}
	return err
}

// below returns the holders that rank below one that is reported, the lowest first.
func (m *Machine) below(s *lock.Entry, holders []lock.Grant) []lock.Grant {
	reported := lock.Grant{Session: s.Session, Token: s.Token}
	holders = slices.DeleteFunc(holders, func(g lock.Grant) bool { return g.Revoked || m.seniority(g, reported) <= 0 })
	slices.SortStableFunc(holders, func(a, b lock.Grant) int { return m.seniority(b, a) })
	return holders
}

// seniority orders conflicting holders: the first ones stay. In mode any that is the older grant, in the merged order
// of seniority (H2): sides of a partition have continued separately, and meet by a view that is Merged or, one by one,
// by joining. Otherwise it is the newer one, because the older one must have ended before the newer was given.
func (m *Machine) seniority(a, b lock.Grant) int {
	if !m.config.Any {
		return cmp.Compare(b.Token, a.Token)
	}
	return cmp.Or(
		cmp.Compare(a.Token>>32, b.Token>>32),
		cmp.Compare(m.rank(a.Session), m.rank(b.Session)),
		cmp.Compare(a.Token, b.Token),
		cmp.Compare(a.Session.Number, b.Session.Number),
	)
}

// rank is the place in the order of seniority of the member that a session belongs to.
// One that the view has no more comes last.
func (m *Machine) rank(s lock.SessionID) int {
	rank := slices.IndexFunc(m.view.Members, func(member protocol.Member) bool { return uint64(member.ID) == s.Member })
	if rank < 0 {
		return len(m.view.Members)
	}
	return rank
}

// duplicate is why a holder that excludes another one has to go.
func (m *Machine) duplicate() holdfast.Loss {
	if m.config.Any {
		return holdfast.Duplicate
	}
	return holdfast.AuthorityChanged
}
