package claim

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// The life of a claim by which a client holds: it is renewed, its holder is warned if that fails, and it is deleted
// when the lock is released.

// renewAt returns when to renew a claim.
func (m *Machine) renewAt(c *claim) protocol.Time {
	return c.sentAt + m.config.Expiry/renewalShare
}

// warnAt returns when to notify the holder of a claim that was not renewed, so that it has stopped before the claim
// expires: a client of another process may learn of it only when its session ends.
func (m *Machine) warnAt(n *name) protocol.Time {
	return n.mine.end - max(n.holder.belief, m.config.Wait)
}

// keep maintains the holds.
func (m *Machine) keep(now protocol.Time, n *name, out *protocol.Effects) {
	c, r := n.mine, n.holder
	if c == nil || r == nil {
		return
	}
	switch {
	case now >= c.end:
		m.clients.End(now, r, holdfast.SessionExpired, out)
	case m.isBroken(n):
		m.warn(now, n, holdfast.Broken, Broke{Name: n.text}, out)
	case now >= m.warnAt(n):
		m.warn(now, n, holdfast.SessionExpired, Unrenewed{Name: n.text, Err: n.trouble}, out)
	default:
		renews := now >= c.due && now >= m.renewAt(c) || m.config.CAS && m.unpublished(n) && now >= c.amendDue
		if renews && n.bid == nil {
			n.bid = &claim{of: n, phase: dating, begun: now, renews: true}
		}
		if now >= c.due {
			c.due = m.warnAt(n)
		}
	}
}

// warn notifies the holder to stop, once. The claim is not renewed any more.
func (m *Machine) warn(now protocol.Time, n *name, why holdfast.Loss, note protocol.Note, out *protocol.Effects) {
	c := n.mine
	if !c.warned {
		c.warned = true
		out.Note(note)
		m.clients.Revoke(now, n.holder, why, out)
	}
	if n.mine == c {
		c.due = c.end
	}
}

// isBroken reports whether an operator has broken the lock in the store. A holder sees it at its next renewal.
func (m *Machine) isBroken(n *name) bool {
	if m.config.CAS {
		return m.ours(&n.cell) && n.cell.flags&broken != 0
	}
	return n.broken >= stampOf(n.holder.Token)
}

// renewed replaces the claim by which a client holds. No other claim lies between them, so none is before it when the
// older one is gone.
func (m *Machine) renewed(now protocol.Time, c *claim, out *protocol.Effects) {
	n := c.of
	old := n.mine
	n.bid = nil
	if n.holder == nil || old == nil || old.warned {
		m.retract(now, c)
		return
	}
	c.end = c.sentAt + m.shrink(m.config.Expiry-m.config.Skew)
	c.saved, c.amendDue = c.says.revision, old.amendDue
	n.mine = c
	m.discard(now, n, old.stamp)
	m.clients.NotifyAmended(n.holder, c.saved, out)
	m.hold(n)
}

// retire ends a hold: its claims are deleted, not before a given time, and the highest stays as the row's mark.
func (m *Machine) retire(now protocol.Time, n *name, r *request, notBefore protocol.Time) {
	c, renewal := n.mine, n.bid
	n.mine = nil
	if renewal != nil && renewal.renews {
		m.drop(n)
	}
	if m.config.CAS {
		m.retireCell(now, n, c, r, notBefore)
		return
	}
	n.sweep.marks = true
	if notBefore > now {
		n.sweep.later = append(n.sweep.later, postponed{c.stamp, notBefore})
		n.sweep.due = min(n.sweep.due, notBefore)
	} else {
		m.discard(now, n, c.stamp)
	}
	if renewal != nil && renewal.renews && renewal.phase == writing && renewal.says.publishes() {
		renewal.releases = r // its column would have the value of a lock that is known to be released
		return
	}
	n.sweep.waiters = append(n.sweep.waiters, r)
}

// release continues a release that has waited for a renewal's write, which may have left a column.
func (m *Machine) release(c *claim, written bool, out *protocol.Effects) {
	r, s := c.releases, &c.of.sweep
	c.releases = nil
	switch {
	case r == nil:
	case !written && s.inquiry != 0:
		s.notifying = append(s.notifying, r)
	case written || len(s.stamps) > 0:
		s.waiters = append(s.waiters, r)
	default:
		m.clients.NotifyReleased(r, out)
	}
}

// sweep is the columns to delete from a row.
type sweep struct {
	stamps    []int64         // of our claims
	rewritten map[int64]int64 // those among them, and held by, that were written anew, and as of when last
	later     []postponed     // not before a time
	marks     bool            // one of them was held by
	inquiry   uint64          // the deletion in progress, or 0
	sent      []int64         // what that deletes
	since     protocol.Time
	due       protocol.Time
	pause     protocol.Time
	tries     int
	waiters   []*request // whose clients wait to hear that it is done
	notifying []*request
}

// postponed is a claim that clients may still believe in.
type postponed struct {
	stamp int64
	at    protocol.Time
}

// discard has a claim deleted.
func (m *Machine) discard(now protocol.Time, n *name, stamp int64) {
	s := &n.sweep
	if slices.Contains(s.stamps, stamp) && !slices.Contains(s.sent, stamp) {
		return
	}
	if len(s.stamps) == 0 {
		s.since = now
	}
	s.stamps = append(s.stamps, stamp)
	s.due = now
	m.touch(n)
}

// sweepOut deletes columns: one mutation for all of them, and the mark. The mark is written with its own value as
// timestamp, so that the highest one stays.
func (m *Machine) sweepOut(now protocol.Time, n *name, out *protocol.Effects) {
	s := &n.sweep
	s.later = slices.DeleteFunc(s.later, func(p postponed) bool {
		if p.at <= now {
			m.discard(now, n, p.stamp)
		}
		return p.at <= now
	})
	if s.inquiry != 0 || s.due > now || n.rewriting > 0 {
		return // a column that is deleted before it is written anew would stay
	}
	s.due = protocol.Never
	for _, p := range s.later {
		s.due = min(s.due, p.at)
	}
	if len(s.stamps) == 0 {
		return
	}
	highest := slices.Max(s.stamps)
	for _, stamp := range s.stamps {
		highest = max(highest, s.rewritten[stamp])
	}
	mutate := storage.Mutate{Key: n.row, Deletions: append(m.columns(dedup(s.stamps)), n.breaks...), Timestamp: m.config.Unit.micros(highest)}
	if s.marks {
		value := binary.BigEndian.AppendUint64(nil, uint64(highest))
		mutate.Additions = []storage.Entry{{Column: marks, Value: string(value) + m.config.RID}}
	}
	mutate.ID = m.inquire(now, inquirySweep, n, nil, 0)
	s.inquiry, s.sent = mutate.ID, slices.Clone(s.stamps)
	s.notifying, s.waiters = append(s.notifying, s.waiters...), nil
	out.Send(protocol.Storage, mutate)
}

func dedup(stamps []int64) []int64 {
	sorted := slices.Clone(stamps)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// onSwept handles the result of a deletion. A failed one is retried until the claims have expired: they block others
// until then, and not afterwards.
func (m *Machine) onSwept(now protocol.Time, n *name, err error, out *protocol.Effects) {
	s := &n.sweep
	s.inquiry = 0
	if err != nil && !errors.Is(err, storage.ErrInvalid) && now < s.since+m.stretch(m.config.Expiry+2*m.config.Skew) {
		s.tries++
		s.pause = protocol.Longer(s.pause, m.config.Wait)
		s.due = now
		if s.tries >= m.config.Retries {
			s.due = now + m.jitter(s.pause)
			m.notifyReleased(s, out) // regardless of what the store does: the original's deleteLocks never fails
		}
		s.sent = nil
		return
	}
	if err != nil {
		out.Note(Left{Name: n.text, Claims: len(s.sent), Err: err})
	}
	s.forget(s.sent)
	for _, stamp := range s.sent {
		if i := slices.Index(s.stamps, stamp); i >= 0 {
			s.stamps = slices.Delete(s.stamps, i, i+1)
		}
	}
	s.sent, s.tries, s.pause, s.since = nil, 0, 0, now
	if len(s.stamps) == 0 && len(s.later) == 0 {
		s.marks = false
	} else {
		s.due = now
	}
	m.notifyReleased(s, out)
}

func (m *Machine) notifyReleased(s *sweep, out *protocol.Effects) {
	for _, r := range s.notifying {
		m.clients.NotifyReleased(r, out)
	}
	s.notifying = nil
}
