package claim

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// The value of a grant (holdfast.Value) is in the store, where all processes can read it: in the cell, or in the value of
// the claim's column. It is written with the claim, and its replacements in writes of their own:
//
//	claims   the column is written anew, in place; the next renewal's column gets it, too
//	CAS      a renewal of the cell, which is one write anyway
//
// The holder's SetValue returns when such a write is done. If its outcome is not known it is repeated, under the latest
// value, and so is a refused one: until it is done, or the hold ends.
//
// A process of an earlier version reads no value of a claim's column, and neither does the original.

// saying is what a claim says of its grant.
type saying struct {
	token    uint64 // of the grant; 0: it is the claim's timestamp, as that of each claim but a renewal
	revision uint64
	value    string
}

// sayingHead is the length of a claim's value without the value of the grant:
//
//	4 bytes number of times that the column was written anew | 8 bytes token | 8 bytes revision | value
//
// A claim that takes a lock without a value has claimValue instead, as the original's.
const sayingHead = 4 + 8 + 8

// publishes reports whether a request comes with a value.
func (r *request) publishes() bool { return r.Value != "" || r.Revision != 0 }

// publishes reports whether there is a value, or has been one.
func (s *saying) publishes() bool { return s.value != "" || s.revision != 0 }

// saying returns what a claim is to say. A renewal repeats what was last sent for its hold, and no more, so that a value
// that was seen is not followed by an earlier one when the renewal fails.
func (m *Machine) saying(c *claim) saying {
	n := c.of
	if c.renews {
		return n.mine.says.of(uint64(n.holder.Token))
	}
	head := n.queue[0]
	return saying{revision: head.Revision, value: head.Value}
}

// of returns what a claim says, with the token of its grant.
func (s saying) of(token uint64) saying {
	s.token = token
	return s
}

// encode returns it as the value of a column that was written anew so many times.
func (s *saying) encode(rewrites uint32) string {
	if *s == (saying{}) && rewrites == 0 {
		return claimValue
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, sayingHead+len(s.value)), rewrites)
	b = binary.BigEndian.AppendUint64(b, s.token)
	b = binary.BigEndian.AppendUint64(b, s.revision)
	return string(append(b, s.value...))
}

// decodeSaying reads the value of a claim's column. One of another form says nothing.
func decodeSaying(value string) (s saying, rewrites uint32) {
	if len(value) < sayingHead {
		return s, 0
	}
	b := []byte(value)
	return saying{
		token: binary.BigEndian.Uint64(b[4:]), revision: binary.BigEndian.Uint64(b[12:]), value: value[sayingHead:],
	}, binary.BigEndian.Uint32(b)
}

// latest returns what the latest of a process's claims says, of this one and an earlier one: of a later grant, or more of
// the same. What an uncertain write has left behind may be older than its neighbours.
func (s *saying) latest(e *storage.Entry, stamp int64) saying {
	next, _ := decodeSaying(e.Value)
	next.token = cmp.Or(next.token, uint64(stamp))
	if next.token < s.token || next.token == s.token && next.revision < s.revision {
		return *s
	}
	return next
}

// shownValue returns a grant's value as it is shown. What a process of this package cannot have written is not.
func shownValue(value string) string {
	if holdfast.CheckValue(value) != nil {
		return ""
	}
	return value
}

// lastWrite returns when a claim's column was last written, as a timestamp: each time that it is written anew counts for
// a microsecond. Only a deletion that is not before that deletes it.
func (u Unit) lastWrite(stamp int64, rewrites uint32) int64 {
	micros := u.micros(stamp) + int64(rewrites)
	last := max(stamp, u.of(micros))
	if u.micros(last) < micros {
		last++
	}
	return last
}

// lastWriteOf returns the same of an entry that is a claim.
func (u Unit) lastWriteOf(e *storage.Entry, stamp int64) int64 {
	_, rewrites := decodeSaying(e.Value)
	return u.lastWrite(stamp, rewrites)
}

// missays reports whether a waiting claim does not have the value of the request that it would be granted to: the one
// that it was written for has ended.
func (m *Machine) missays(c *claim) bool {
	if c.renews || len(c.of.queue) == 0 {
		return false
	}
	head := c.of.queue[0]
	return c.unsaved || c.says.value != head.Value || c.says.revision != head.Revision
}

// stored returns the revision of a hold's value that the store has.
func (m *Machine) stored(n *name) uint64 {
	switch {
	case !m.config.CAS:
		return n.mine.saved
	case m.ours(&n.cell):
		return n.cell.revision
	}
	return 0
}

// unpublished reports whether the store does not have the value of a hold.
func (m *Machine) unpublished(n *name) bool {
	return n.mine != nil && n.holder != nil && !n.mine.warned && m.stored(n) < n.holder.Revision
}

// amend writes the value of a hold that the store does not have. While a renewal stands that has what was last sent,
// the value waits for it.
func (m *Machine) amend(now protocol.Time, n *name, out *protocol.Effects) {
	c := n.mine
	if !m.unpublished(n) || c.rewriting || now < c.amendDue {
		return
	}
	if b := n.bid; b != nil && b.phase != dating && b.phase != resting {
		return
	}
	m.rewrite(now, c, out)
}

// rewrite writes a claim's column anew, in place, with what it is to say. The highest timestamp wins in the store.
func (m *Machine) rewrite(now protocol.Time, c *claim, out *protocol.Effects) {
	n := c.of
	r, token := n.holder, uint64(0)
	if c == n.mine {
		token = uint64(r.Token)
	} else {
		r = n.queue[0]
	}
	c.says = saying{token, r.Revision, r.Value}
	c.rewrites++
	c.rewriting, c.unsaved = true, true
	last := m.config.Unit.lastWrite(c.stamp, c.rewrites)
	n.last = max(n.last, last)
	n.sweep.rewrote(c.stamp, last)
	n.rewriting++
	mutate := storage.Mutate{
		ID: m.inquire(now, inquiryRewrite, n, c, c.stamp), Key: n.row, Timestamp: m.config.Unit.micros(c.stamp) + int64(c.rewrites),
		Additions: []storage.Entry{{Column: Column(c.stamp, m.config.RID), Value: c.says.encode(c.rewrites)}},
		TTL:       m.claimTTL(),
	}
	out.Send(protocol.Storage, mutate)
}

// onRewritten handles the result. A bid continues, and a hold's value is set.
func (m *Machine) onRewritten(now protocol.Time, a inquiry, err error, out *protocol.Effects) {
	c, n := a.claim, a.name
	n.rewriting--
	c.rewriting, c.unsaved = false, err != nil
	switch {
	case c == n.bid && err == nil:
		c.tries, c.due = 0, now
	case c == n.bid:
		m.unread(now, c, err, out)
	case c != n.mine || n.holder == nil:
	case err == nil:
		c.saved, c.tries, c.pause = c.says.revision, 0, 0
		m.clients.NotifyAmended(n.holder, c.saved, out)
	case errors.Is(err, storage.ErrInvalid):
		m.refuseAmendments(n, fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err), out)
	default:
		c.amendDue = now
		if c.tries++; c.tries >= m.config.Retries {
			m.refuseAmendments(n, fmt.Errorf("%w: the store was asked %d times: %w", holdfast.ErrUnavailable, c.tries, err), out)
		}
	}
}

// refuseAmendments refuses the values of a hold that are being set. They are tried again after a pause, since the store
// may have them already; one that the store will never accept is not.
func (m *Machine) refuseAmendments(n *name, err error, out *protocol.Effects) {
	c := n.mine
	if !m.unpublished(n) {
		return
	}
	c.tries, c.pause = 0, protocol.Longer(c.pause, m.config.Wait)
	c.amendDue = m.now + m.jitter(c.pause)
	if errors.Is(err, storage.ErrInvalid) {
		c.amendDue = protocol.Never
	}
	m.clients.RefuseAmendments(n.holder, err, out)
}

// rewrote notes when a column was last written.
func (s *sweep) rewrote(stamp, last int64) {
	if s.rewritten == nil {
		s.rewritten = map[int64]int64{}
	}
	s.rewritten[stamp] = last
}

// forget drops the notes about columns that were deleted.
func (s *sweep) forget(stamps []int64) {
	for _, stamp := range stamps {
		delete(s.rewritten, stamp)
	}
}
