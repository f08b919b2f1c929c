package claim

import (
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// cell is the knowledge about a lock's cell.
type cell struct {
	known  bool // the rest is its last known state
	absent bool
	content
	since protocol.Time // since when it is as it is, as far as was seen: flags do not count

	courtesy protocol.Time // until when earlier waiters elsewhere come first
	freeing  bool          // it is being given back, and only the requests that released it wait for that
	request  uint64
	sentAt   protocol.Time // of the first swap to next
	next     content       // the new contents of the swap in progress
	starts   uint64        // its first token, if it takes the cell; otherwise 0
	by       *claim        // the claim that it is for; nil if the cell is released
	unsure   bool          // whether a swap was done is not known: it is to be read
	freeDue  protocol.Time
	tries    int
	pause    protocol.Time
	waiters  []*request

	tokens
	hold
}

// over returns when another process's lease of the cell has run out, on every clock, or has ended with the process.
func (c *cell) over(m *Machine) protocol.Time {
	if m.hasEnded(c.rid) {
		return c.since
	}
	if protocol.Mutated("a lease is waited for on every clock") {
		return c.since + c.lease
	}
	return c.since + m.stretch(c.lease)
}

// idle reports whether nothing has to be given back.
func (c *cell) idle() bool {
	return !c.freeing && c.request == 0 && !c.unsure && len(c.waiters) == 0 && !c.kept()
}

// ours reports whether this process holds the cell, by its contents.
func (m *Machine) ours(c *cell) bool { return c.known && c.held && c.rid == m.config.RID }

// learn records the cell's contents.
func (m *Machine) learn(now protocol.Time, n *name, present bool, value string) error {
	next := content{}
	if present {
		var ok bool
		if next, ok = decodeCell(value); !ok {
			return fmt.Errorf("the cell of %q has %q in it, which no lock is written as; give locks a table of their own: %w", n.text, value, storage.ErrInvalid)
		}
	}
	before, was := n.cell.content, n.cell.known
	n.cell.known, n.cell.absent, n.cell.content = true, !present, next
	before.flags, next.flags = 0, 0
	if !was || before != next {
		n.cell.since = now
	}
	if !was || before.held != next.held || before.token != next.token || before.rid != next.rid {
		n.cell.tokens = spent(next.token) // no process knows which of them were given
	}
	return nil
}

// pursueCell continues a bid.
func (m *Machine) pursueCell(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	k := &n.cell
	if k.request != 0 || k.freeing {
		return // the result of the pending swap must be known first
	}
	old := c.stale || n.changed // the known state of another process's cell
	switch {
	case !k.unsure && m.formerUnknown(n):
		m.readFormer(now, n, c, out)
	case k.unsure, old && !c.renews && k.known && k.held && !m.ours(k):
		m.readCell(now, n, c, out)
	case c.renews:
		next := k.content
		next.renewals++
		next.value, next.revision = n.holder.Value, n.holder.Revision
		m.swap(now, n, c, next, out)
	case !k.known && c.phase == dating, k.known && k.absent:
		out.Send(protocol.Storage, storage.Clock{ID: m.inquire(now, inquiryClock, n, c, 0), Own: true})
	case !k.known:
		m.readCell(now, n, c, out)
	case m.ours(k) && k.flags != 0:
		k.freeing = true // others wait for it, or it is broken: it is not handed on within this process
	case !k.held && now < k.courtesy:
		c.due = k.courtesy
	case k.kept() && now < k.until && !n.queue[0].publishes():
		m.regrant(now, n, c, out)
	case !k.held || m.ours(k) || now >= k.over(m):
		m.take(now, n, c, m.last(n)+1, out)
	default:
		m.waitForCell(now, n, c, out)
	}
}

// datedCell starts with a cell that no process is known to have had: its first token is the time, so that tokens rise
// even if the store has lost the cell.
func (m *Machine) datedCell(now protocol.Time, c *claim, micros int64, out *protocol.Effects) {
	c.phase = writing
	m.take(now, c.of, c, max(1, uint64(max(0, micros)), uint64(max(0, c.of.former.token))+1), out)
}

// take tries to take the cell, for tokens from the first on.
func (m *Machine) take(now protocol.Time, n *name, c *claim, first uint64, out *protocol.Effects) {
	head := n.queue[0]
	next := content{
		held: true, token: first + m.block() - 1, lease: m.config.Expiry, taken: m.wall(now), rid: m.config.RID,
		value: head.Value, revision: head.Revision,
	}
	if n.cell.known && n.cell.held && n.cell.rid != m.config.RID {
		next.flags = n.cell.flags & waitedFor // the waiters of the lost process wait for this one
	}
	m.swap(now, n, c, next, out)
	n.cell.starts = first
}

// swap asks for another content.
func (m *Machine) swap(now protocol.Time, n *name, c *claim, next content, out *protocol.Effects) {
	k := &n.cell
	m.letGo(k)
	s := storage.Swap{Key: n.row, Column: cellColumn, New: next.encode()}
	if !k.known || k.absent {
		s.Absent = true
	} else {
		s.Old = k.content.encode()
	}
	s.Notify = k.known && k.flags&waitedFor != 0 && !next.held
	s.Soft = !next.held // if a crash of the machine undoes the release, the lease still ends the lock
	s.ID = m.inquire(now, inquirySwap, n, c, 0)
	if next != k.next {
		k.sentAt = now // otherwise an earlier swap that counted as lost may be the one that was done
	}
	k.request, k.next, k.by, k.starts, k.rewriting = s.ID, next, c, 0, false
	if c != nil {
		c.stale = false
	}
	out.Send(protocol.Storage, s)
}

// readCell reads the cell.
func (m *Machine) readCell(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	n.cell.request = m.inquire(now, inquiryCell, n, c, 0)
	if c != nil {
		c.due, c.stale = protocol.Never, false
	}
	out.Send(protocol.Storage, storage.Slice{ID: n.cell.request, Key: n.row, Start: cellColumn, End: cellColumn + "\x00", Serial: true})
}

// onSwapped handles the result of a swap.
func (m *Machine) onSwapped(now protocol.Time, a inquiry, done storage.Swapped, out *protocol.Effects) {
	n := a.name
	n.cell.request = 0
	switch {
	case done.Err != nil:
		m.unswapped(now, n, a.claim, done.Err, out)
		return
	case done.Done:
		m.swapped(now, n, a.claim, out)
	default:
		if err := m.learn(now, n, done.Present, done.Value); err != nil {
			m.unswapped(now, n, a.claim, err, out)
			return
		}
		m.missed(now, n, a.claim, out)
	}
}

// onCell handles the cell's contents.
func (m *Machine) onCell(now protocol.Time, a inquiry, read storage.Sliced, out *protocol.Effects) {
	n := a.name
	k := &n.cell
	k.request = 0
	err := read.Err
	if err == nil {
		present, value := false, ""
		for i := range read.Entries {
			if e := &read.Entries[i]; e.Column == cellColumn {
				present, value = true, e.Value
			}
		}
		err = m.learn(now, n, present, value)
	}
	if err != nil {
		m.unswapped(now, n, a.claim, err, out)
		return
	}
	wanted, is := k.next, k.content
	wanted.flags, is.flags = 0, 0
	if k.unsure && wanted == is && a.claim == k.by {
		k.unsure = false
		k.next = k.content
		m.swapped(now, n, a.claim, out)
		return
	}
	k.unsure = false
	m.missed(now, n, a.claim, out)
}

// swapped continues after a successful swap: the lease counts from its sending.
func (m *Machine) swapped(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	k := &n.cell
	before, is := k.content, k.next
	held := now - k.since
	k.known, k.absent, k.content, k.tries, k.pause = true, false, k.next, 0, 0
	flags := before.flags
	before.flags, is.flags = 0, 0
	if before != is {
		k.since = now
	}
	if k.starts != 0 {
		k.tokens, k.used, k.turns = tokens{k.starts, k.starts}, false, 0
	}
	switch {
	case !k.held:
		k.freeing = false
		if flags&waitedFor != 0 {
			m.yielded(k)
			k.courtesy = now + m.jitter(m.courtesy(held))
		}
		m.notifyFreed(n, out)
	case c == nil && k.rewriting && !k.freeing && m.serves() && !m.clients.Closed():
		m.keepOn(k)
		m.touch(n)
	case c == nil || c.gone: // the next claim takes it over, or it is given back
		m.touch(n)
	case k.rid != m.config.RID:
		c.phase, c.due = standing, now // it is waited for now, and keeps its place
	case c.renews:
		m.renewedCell(n, out)
	case !m.serves():
		c.phase, c.due = standing, now
	default:
		m.notifyFreed(n, out) // the released lock continues as this
		c.sentAt, c.stamp, c.end = k.sentAt, int64(k.token), k.sentAt+m.config.Expiry
		if len(n.queue) == 0 || c.end-now < m.config.Belief()+m.config.Wait {
			n.bid = nil
			return
		}
		if head := n.queue[0]; k.value != head.Value || k.revision != head.Revision {
			c.phase, c.due = standing, now // the request that it was taken for has ended: it is taken again
			return
		}
		m.won(now, c, k.give(), out)
	}
}

// courtesy is how long a process lets others that have waited for a cell take it first, after it has released the cell
// after such a time: as long as they may take to learn of it. If the store cannot notify them, they read after a share
// of the time that they have waited (poll).
func (m *Machine) courtesy(held protocol.Time) protocol.Time {
	const least, most = 10 * shortestPoll, longestPoll / 4
	if m.config.Store.Watch {
		return least
	}
	return min(max(held/8, least), most)
}

// missed continues if the cell is not as expected.
func (m *Machine) missed(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	k := &n.cell
	switch {
	case c != nil && !c.gone && c.renews:
		if m.ours(k) && n.mine != nil && int64(k.token) == n.mine.stamp {
			c.due = now // another process waits for it: nothing else has changed
			return
		}
		// Another process has it, or none.
		n.bid = nil
		if n.mine != nil {
			n.mine.end, n.mine.due = now, now
		}
	case c != nil && !c.gone:
		c.phase, c.due = standing, now
	case k.freeing && !(m.ours(k) && n.mine == nil):
		k.freeing = false // it is not ours any more
		m.notifyFreed(n, out)
	}
	m.touch(n)
}

// unswapped handles an error of the store.
func (m *Machine) unswapped(now protocol.Time, n *name, c *claim, err error, out *protocol.Effects) {
	k := &n.cell
	if !errors.Is(err, storage.ErrRefused) && !errors.Is(err, storage.ErrInvalid) {
		k.unsure = true
	}
	k.tries++
	k.pause = protocol.Longer(k.pause, m.config.Wait)
	switch {
	case c == nil || c.gone:
		k.freeDue = now + m.jitter(k.pause)
		if k.tries >= m.config.Retries {
			m.notifyFreed(n, out) // it is free when its lease is over, at the latest
		}
		if errors.Is(err, storage.ErrInvalid) {
			out.Note(Left{Name: n.text, Claims: 1, Err: err})
			k.freeing, k.unsure, k.known = false, false, false
			m.notifyFreed(n, out)
		}
	case errors.Is(err, storage.ErrInvalid):
		k.known, k.unsure = false, false
		m.reject(now, c, err, out)
	default:
		c.due = now
		if k.tries >= m.config.Retries {
			m.fail(now, c, fmt.Errorf("%w: the store was asked %d times: %w", holdfast.ErrUnavailable, k.tries, err), out)
			k.tries = 0
		}
	}
}

// waitForCell waits for the holder, and records that in the cell, once, so that others are notified when it is free. A
// request that does not wait is refused.
func (m *Machine) waitForCell(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	k := &n.cell
	n.by = &lock.HeldBy{Owner: k.rid}
	if until := m.awaitEnds(now, n, []string{k.rid}, out); now < until {
		c.due = until // the answer comes before
		return
	}
	m.refuseTries(now, n, out)
	if c.gone || n.bid != c {
		return
	}
	for _, r := range n.queue {
		m.clients.LetWait(r)
	}
	if c.phase != standing {
		c.phase, c.front, c.ahead = standing, now, 1
	}
	if m.config.Store.Watch && !n.watched {
		// What changes before the watch begins shows when it begins.
		c.due = now + m.jitter(longestPoll)
		return
	}
	if k.flags&waitedFor == 0 {
		next := k.content
		next.flags |= waitedFor
		m.swap(now, n, c, next, out)
		return
	}
	over := k.over(m)
	c.due, c.stale = min(m.poll(now, c), over), true
}

// renewedCell continues to hold by the next renewal, which has the value that was known when it was sent.
func (m *Machine) renewedCell(n *name, out *protocol.Effects) {
	n.bid = nil
	if n.holder == nil || n.mine == nil || n.mine.warned {
		return
	}
	n.mine.sentAt, n.mine.end = n.cell.sentAt, n.cell.sentAt+m.config.Expiry
	m.clients.NotifyAmended(n.holder, n.cell.revision, out)
	m.hold(n)
}

// retireCell releases the cell; or leaves it to the next request of this process, if no other process has recorded that
// it waits.
func (m *Machine) retireCell(now protocol.Time, n *name, c *claim, r *request, notBefore protocol.Time) {
	k := &n.cell
	k.waiters = append(k.waiters, r)
	k.freeDue = notBefore
	switch {
	case notBefore <= now && m.mayKeep(now, k, c):
		m.keepCell(k, c.sentAt)
	case len(n.queue) == 0 || k.flags != 0 || notBefore > now || !m.serves():
		k.freeing = true
	}
}

// giveBack releases a cell that this process has and no client uses.
func (m *Machine) giveBack(now protocol.Time, n *name, out *protocol.Effects) {
	k := &n.cell
	if m.keeps(now, n, out) {
		return
	}
	if n.mine == nil && n.bid == nil && m.ours(k) && !k.freeing {
		k.freeing = true
	}
	if k.request != 0 || k.freeDue > now || !k.freeing && !(k.unsure && n.bid == nil) {
		return
	}
	if k.unsure {
		m.readCell(now, n, nil, out)
		return
	}
	if !m.ours(k) || n.mine != nil {
		k.freeing = false
		m.notifyFreed(n, out)
		return
	}
	m.swap(now, n, nil, content{token: m.last(n)}, out)
}

func (m *Machine) notifyFreed(n *name, out *protocol.Effects) {
	for _, r := range n.cell.waiters {
		m.clients.NotifyReleased(r, out)
	}
	n.cell.waiters = nil
}

// The contents of released cells are remembered, so that the next lock of the name is one write, up to a maximum number
// of names. One takes about 100 bytes and its name.
const remembered = 16384

// memory is the tokens of cells that are free, and the order in which they were learnt.
type memory struct {
	tokens map[string]uint64
	order  []string
}

// remember keeps a free cell that has nothing but its token, as releases leave it.
func (m *Machine) remember(n *name) {
	k := &n.cell
	if !m.config.CAS || !k.known || k.absent || k.content != (content{token: k.token}) {
		return
	}
	if m.memory.tokens == nil {
		m.memory.tokens = map[string]uint64{}
	}
	if _, known := m.memory.tokens[n.text]; !known {
		m.memory.order = append(m.memory.order, n.text)
	}
	m.memory.tokens[n.text] = k.token
	for len(m.memory.order) > remembered {
		delete(m.memory.tokens, m.memory.order[0])
		m.memory.order = m.memory.order[1:]
	}
}

// recall returns the remembered state of a cell.
func (m *Machine) recall(text string) cell {
	token, known := m.memory.tokens[text]
	return cell{known: known, content: content{token: token}}
}
