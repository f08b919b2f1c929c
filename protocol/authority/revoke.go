package authority

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A member that leaves notifies its clients to stop. The authority is not involved: it learns of that by their
// releases.

// revokeSession notifies a session to stop using its holds, and refuses its waits.
func (m *Machine) revokeSession(now protocol.Time, s lock.SessionID, why holdfast.Loss, refusal error, out *protocol.Effects) {
	if m.deciding {
		m.authorityRevoke(now, s, why, refusal, out)
		return
	}
	m.holderRevoke(now, s, why, refusal, out)
}

// authorityRevoke revokes a session's entries in the table.
func (m *Machine) authorityRevoke(now protocol.Time, s lock.SessionID, why holdfast.Loss, refusal error, out *protocol.Effects) {
	m.attend(now, out)
	m.refuseVisits(now, func(q *lock.Request) bool { return q.Session == s }, refusal, out)
	m.authority.table.RevokeSession(now, s, why, refusal, &m.scratch)
	m.publish(now, seqKey{}, out)
}

// holderRevoke revokes a session's records: waits first, as in a table.
func (m *Machine) holderRevoke(now protocol.Time, s lock.SessionID, why holdfast.Loss, refusal error, out *protocol.Effects) {
	p := m.holder.sessions[s]
	if p == nil {
		return
	}
	var records []*record
	for r := p.first; r != nil; r = r.links[ofSession].next {
		if r.state != ending {
			records = append(records, r)
		}
	}
	slices.SortStableFunc(records, func(a, b *record) int {
		return cmp.Or(cmp.Compare(min(a.token, 1), min(b.token, 1)), cmp.Compare(a.request.ID, b.request.ID), cmp.Compare(a.request.Name, b.request.Name))
	})
	for _, r := range records {
		if r.waits() {
			m.notifyRefused(now, r, refusal, out)
			m.endRecord(now, r, out)
			continue
		}
		m.refuseChanges(r, why, out)
		r.revoked, r.loss = true, why
		m.notifyLoss(r, lock.Revoked, why, out)
	}
}
