package claim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// phase is how far a claim has come.
type phase uint8

const (
	dating   phase = iota // it needs a timestamp
	writing               // its column is being written
	maturing              // it is there, and left alone until it is W old
	standing              // older ones are before it
	resting               // it has no column, and waits for others to go
)

// claim is a try to have a lock: a column in its row, or about to be one.
type claim struct {
	of     *name
	phase  phase
	renews bool // it is to take the place of a claim that is held by

	stamp     int64         // of its column; with CAS, the token
	leftovers []int64       // of columns that it may have left behind: the next write deletes them
	sentAt    protocol.Time // when the clock was asked for the timestamp
	got       protocol.Time // when it had answered
	cutoff    int64         // for the read in progress: older claims have expired
	wall      int64         // the timestamp of that moment

	begun   protocol.Time
	front   protocol.Time // since when it is the first standing one
	ahead   int           // how many are before it
	tries   int
	pause   protocol.Time
	due     protocol.Time // when to continue, unless it waits for the store
	waits   bool          // for an answer of the store
	stale   bool          // the read in progress may be older than a change that the store has reported
	watches bool          // resting: a change in the row is worth a look
	gone    bool          // no request wants it any more
	end     protocol.Time // held by: until when it is safe to believe so
	warned  bool          // its holder was notified to stop

	says      saying        // of the grant: the latest that was sent
	releases  *request      // it was to renew: the release that waits for its write
	saved     uint64        // the revision that the store has
	unsaved   bool          // whether it has what was sent last is not known
	rewrites  uint32        // how often the column was written anew, in place
	rewriting bool          // it is being so
	amendDue  protocol.Time // held by: when to write a value that the store does not have yet
}

// authorityWait is how long a request that does not wait for holders waits for the store.
const authorityWait = 5 * time.Second

// farAhead is the maximum lead of the row over the clock: beyond that a clock is wrong, rather than skewed.
func (m *Machine) farAhead() time.Duration { return max(time.Second, 2*m.config.Skew) }

// date asks for the time.
func (m *Machine) date(now protocol.Time, c *claim, out *protocol.Effects) {
	if m.config.StoreClock {
		if m.clock.good(now, m) {
			m.dated(now, c, now, m.clock.at(now), out)
			return
		}
		m.askStoreClock(now, out)
		c.due = protocol.Never
		return
	}
	out.Send(protocol.Storage, storage.Clock{ID: m.inquire(now, inquiryClock, c.of, c, 0), Own: true})
}

// dated writes a claim under a timestamp above all seen in its row, so that tokens rise although clocks differ. The
// timestamp is never ahead of the clock by more than the instant that this takes.
func (m *Machine) dated(now protocol.Time, c *claim, sentAt protocol.Time, micros int64, out *protocol.Effects) {
	n, unit := c.of, m.config.Unit
	stamp := unit.of(micros)
	least := max(n.seen, n.last) + unit.count(time.Microsecond)
	if protocol.Mutated("tokens rise above the mark") {
		least = n.last + 1
	}
	ahead := time.Duration(least-stamp) * time.Duration(unit)
	switch {
	case ahead <= 0:
		ahead = 0
	case ahead > m.farAhead():
		m.fail(now, c, fmt.Errorf("%w: the row of %q remembers a claim that is %v ahead of this clock, and a skew of %v is allowed; set the clocks of the processes right",
			holdfast.ErrUnavailable, n.text, ahead.Round(time.Millisecond), m.config.Skew), out)
		return
	case ahead > time.Millisecond:
		c.phase, c.due = dating, now+ahead
		return
	default:
		stamp = least
	}
	m.write(now, c, stamp, sentAt, now+ahead, out)
}

// write adds the claim's column, and deletes its leftovers: one mutation.
func (m *Machine) write(now protocol.Time, c *claim, stamp int64, sentAt, got protocol.Time, out *protocol.Effects) {
	n := c.of
	n.last = max(n.last, stamp)
	c.phase, c.stamp, c.sentAt, c.got = writing, stamp, sentAt, got
	c.says, c.saved, c.unsaved, c.rewrites = m.saying(c), 0, false, 0
	mutate := storage.Mutate{
		ID: m.inquire(now, inquiryWrite, n, c, stamp), Key: n.row, Timestamp: m.config.Unit.micros(stamp),
		Additions: []storage.Entry{{Column: Column(stamp, m.config.RID), Value: c.says.encode(0)}},
		Deletions: m.columns(c.leftovers), TTL: m.claimTTL(),
	}
	out.Send(protocol.Storage, mutate)
}

// claimTTL is when the store may delete a claim that was written now.
func (m *Machine) claimTTL() time.Duration {
	if !m.config.Store.TTL {
		return 0
	}
	return m.config.Expiry + m.config.Skew + 2*time.Second
}

// columns names the columns of our claims with these timestamps.
func (m *Machine) columns(stamps []int64) (columns []string) {
	for _, stamp := range stamps {
		columns = append(columns, Column(stamp, m.config.RID))
	}
	return columns
}

// onWritten handles the result of a write. A slow write counts as a failed one: a rival may have read the row before it
// was there.
func (m *Machine) onWritten(now protocol.Time, a inquiry, err error, out *protocol.Effects) {
	c := a.claim
	if c.gone {
		written := !errors.Is(err, storage.ErrRefused) && !errors.Is(err, storage.ErrInvalid)
		if written {
			m.discard(now, c.of, a.stamp)
		}
		m.release(c, written, out)
		return
	}
	switch {
	case err == nil && now-c.sentAt <= m.config.writeBudget(m.config.Table.Drift):
		c.of.sweep.forget(c.leftovers)
		c.leftovers, c.tries, c.pause = nil, 0, 0
		c.phase, c.due = maturing, c.got+m.config.Wait+1
		return
	case err == nil:
		c.leftovers = []int64{a.stamp}
		err = fmt.Errorf("the write of a claim took %v, and %v is the most with wait=%v and skew=%v",
			now-c.sentAt, m.config.writeBudget(m.config.Table.Drift), m.config.Wait, m.config.Skew)
	case errors.Is(err, storage.ErrInvalid):
		m.reject(now, c, err, out)
		return
	case !errors.Is(err, storage.ErrRefused):
		c.leftovers = append(c.leftovers, a.stamp)
	}
	c.stamp, c.phase, c.due = 0, dating, now
	if c.tries++; c.tries >= m.config.Retries {
		m.fail(now, c, fmt.Errorf("%w: the store was asked %d times: %w", holdfast.ErrUnavailable, c.tries, err), out)
	}
}

// fail pauses the tries of a claim. Requests that do not wait are refused. Every leftover will be deleted.
func (m *Machine) fail(now protocol.Time, c *claim, err error, out *protocol.Effects) {
	n := c.of
	n.trouble = err
	m.retract(now, c)
	c.tries, c.pause = 0, protocol.Longer(c.pause, m.config.Wait)
	c.phase, c.watches, c.due = resting, false, now+m.jitter(c.pause)
	if c.renews {
		c.phase = dating
		if m.config.CAS {
			m.refuseAmendments(n, err, out)
		}
		return
	}
	for _, r := range append([]*request(nil), n.queue...) {
		if r.Try && !r.Dropped {
			m.clients.Deny(now, r, err, out)
		}
	}
}

// reject refuses all waiters for a name: the store will never accept this.
func (m *Machine) reject(now protocol.Time, c *claim, err error, out *protocol.Effects) {
	n := c.of
	m.retract(now, c)
	n.trouble = fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err)
	if c.renews {
		n.bid = nil
		if m.config.CAS {
			m.refuseAmendments(n, n.trouble, out)
		}
		return
	}
	m.refuseAll(now, n, n.trouble, out)
}

// retract has all columns deleted that a claim may have in its row.
func (m *Machine) retract(now protocol.Time, c *claim) {
	if c.stamp != 0 && !m.config.CAS && c.phase != writing {
		m.discard(now, c.of, c.stamp)
	}
	for _, stamp := range c.leftovers {
		m.discard(now, c.of, stamp)
	}
	c.stamp, c.leftovers = 0, nil
}

// drop ends a bid that no request wants any more. A claim that is being written is deleted when the store has answered:
// an earlier deletion may come too early.
func (m *Machine) drop(n *name) {
	c := n.bid
	n.bid, c.gone = nil, true
	m.retract(m.now, c)
}

// look reads the row. First it reads the time, which determines the expired claims.
func (m *Machine) look(now protocol.Time, c *claim, out *protocol.Effects) {
	c.due = protocol.Never
	if m.formerUnknown(c.of) {
		m.readFormer(now, c.of, c, out)
		return
	}
	if m.config.StoreClock {
		if !m.clock.good(now, m) {
			m.askStoreClock(now, out)
			return
		}
		m.read(now, c, m.clock.at(now), out)
		return
	}
	out.Send(protocol.Storage, storage.Clock{ID: m.inquire(now, inquiryTime, c.of, c, 0), Own: true})
}

// read reads the claims that count: from the oldest that has not expired to the end of the row, where the mark is. It
// does not scan the deleted ones below.
func (m *Machine) read(now protocol.Time, c *claim, micros int64, out *protocol.Effects) {
	unit := m.config.Unit
	c.wall = unit.of(micros)
	c.cutoff = max(0, c.wall-unit.count(m.config.Expiry+m.config.Skew))
	start := binary.BigEndian.AppendUint64(nil, uint64(c.cutoff))
	c.stale = false
	out.Send(protocol.Storage, storage.Slice{ID: m.inquire(now, inquiryRead, c.of, c, 0), Key: c.of.row, Start: string(start)})
}

// seen is the contents of a row.
type seen struct {
	own   bool  // the claim is there
	ahead int   // others' claims before it, or all if it is not there
	first int64 // the oldest of those
	rid   string
	rids  []string // of those, and of the processes among them that have ended
	mark  int64    // the highest token that was released
	by    string
}

// outdates reports whether a token that is not lower than the claim's was given to others.
func (s *seen) outdates(c *claim, rid string) bool {
	return s.mark > c.stamp || s.mark == c.stamp && s.by != rid
}

// parseMark reads the mark of a row, and reports whether it was that.
func parseMark(e *storage.Entry) (mark int64, by string, ok bool) {
	if e.Column != marks || len(e.Value) <= 8 {
		return 0, "", false
	}
	return int64(binary.BigEndian.Uint64([]byte(e.Value))), e.Value[8:], true
}

// scan reads a row in its order.
func (m *Machine) scan(c *claim, entries []storage.Entry) (s seen) {
	n := c.of
	s.mark, s.by = n.former.token, n.former.rid // a mark that is equal has the last word
	for i := range entries {
		e := &entries[i]
		if mark, by, is := parseMark(e); is {
			n.seen = max(n.seen, mark)
			if mark >= s.mark {
				s.mark, s.by = mark, by
			}
			continue
		}
		if stamp, rid, is := parseBreak(e.Column); is && rid == m.config.RID {
			n.broken = max(n.broken, stamp)
			n.breaks = append(n.breaks, e.Column)
			continue
		}
		stamp, rid, is := ParseColumn(e.Column)
		switch {
		case !is || stamp < c.cutoff:
			continue
		case rid == m.config.RID:
			s.own = s.own || stamp == c.stamp
			continue
		}
		n.seen = max(n.seen, stamp)
		if s.own {
			continue // it is younger
		}
		if !slices.Contains(s.rids, rid) {
			s.rids = append(s.rids, rid)
		}
		if m.hasEnded(rid) {
			continue
		}
		if s.ahead++; s.ahead == 1 {
			s.first, s.rid = stamp, rid
		}
	}
	return s
}

// onRead decides by the row.
func (m *Machine) onRead(now protocol.Time, a inquiry, read storage.Sliced, out *protocol.Effects) {
	c := a.claim
	if c.gone {
		return
	}
	if read.Err != nil {
		m.unread(now, c, read.Err, out)
		return
	}
	c.tries, c.pause = 0, 0
	n := c.of
	n.breaks = nil
	s := m.scan(c, read.Entries)
	if s.ahead > 0 {
		n.by = &lock.HeldBy{Owner: s.rid}
	}
	if until := m.awaitEnds(now, n, s.rids, out); s.ahead > 0 && now < until && !c.renews {
		if c.phase == maturing {
			c.phase, c.front, c.ahead = standing, now, 0
		}
		c.due = until // the answer comes before
		return
	}
	switch {
	case c.phase == resting:
		m.rest(now, c, &s, out)
	case now-c.sentAt > m.config.Expiry/renewalShare:
		m.again(now, c) // it has stood too long to be of use
	case !s.own:
		n.trouble = fmt.Errorf("%w: the claim is not in its row any more", holdfast.ErrUnavailable)
		c.stamp = 0
		m.again(now, c)
		c.due = now + m.jitter(m.config.Wait)
	case s.ahead > 0 && !(c.renews && protocol.Mutated("no other claim stands between a claim and its renewal")):
		m.junior(now, c, &s, out)
	case s.outdates(c, m.config.RID) && !protocol.Mutated("tokens rise above the mark"):
		m.again(now, c) // others have had higher tokens
	case c.renews:
		m.renewed(now, c, out)
	case !m.serves(), m.missays(c):
		c.phase, c.due = standing, now // until this member may grant, and the claim has its value
	default:
		c.end = c.sentAt + m.shrink(m.config.Expiry-m.config.Skew)
		m.won(now, c, holdfast.Token(c.stamp), out)
		m.cleanUp(now, n, c, out)
	}
}

// unread handles a failed read.
func (m *Machine) unread(now protocol.Time, c *claim, err error, out *protocol.Effects) {
	if errors.Is(err, storage.ErrInvalid) {
		m.reject(now, c, err, out)
		return
	}
	c.due = now
	if c.tries++; c.tries >= m.config.Retries {
		m.fail(now, c, fmt.Errorf("%w: the store was asked %d times: %w", holdfast.ErrUnavailable, c.tries, err), out)
	}
}

// again rewrites a claim, in place of its columns in the row.
func (m *Machine) again(now protocol.Time, c *claim) {
	if c.stamp != 0 {
		c.leftovers = append(c.leftovers, c.stamp)
	}
	c.stamp, c.phase, c.due = 0, dating, now
}

// junior keeps a claim in place behind older ones: when those are gone it is the oldest. It makes way if they may have
// to be renewed, because a renewal fails with a claim between the old and the new one; and if too many are before it.
func (m *Machine) junior(now protocol.Time, c *claim, s *seen, out *protocol.Effects) {
	n := c.of
	if c.renews {
		m.retract(now, c)
		n.bid = nil
		n.mine.due = now + m.jitter(m.config.Wait)
		return
	}
	m.refuseTries(now, n, out)
	if c.gone || n.bid != c {
		return
	}
	if m.awaitsRenewal(c, s) || s.ahead > line {
		m.retract(now, c)
		c.phase = resting
		m.rest(now, c, s, out)
		return
	}
	if c.phase != standing {
		c.phase, c.front, c.ahead = standing, now, 0
	}
	if s.ahead == 1 && c.ahead != 1 {
		c.front = now
	}
	c.ahead = s.ahead
	for _, r := range n.queue {
		m.clients.LetWait(r)
	}
	c.due = min(m.poll(now, c), m.expires(now, c, s.first))
	if c.stale {
		c.due = now
	}
}

// awaitsRenewal reports whether the oldest claim of others is so old that its holder may be about to
// renew it.
func (m *Machine) awaitsRenewal(c *claim, s *seen) bool {
	unit := m.config.Unit
	return c.wall-s.first >= unit.count(m.config.Expiry/renewalShare-2*m.config.Wait-m.config.Skew)
}

// expires returns when a claim of others has expired for us.
func (m *Machine) expires(now protocol.Time, c *claim, stamp int64) protocol.Time {
	return now + protocol.Time(stamp-c.cutoff+1)*protocol.Time(m.config.Unit)
}

// shortestPoll is how soon a row is read again at the soonest.
const shortestPoll = 2 * time.Millisecond

// longestPoll is the maximum time between reads of a row while a request waits, even if the store reports changes: it
// may have missed one.
const longestPoll = time.Second

// poll returns when to read the row again. If the store cannot report changes, the first in line reads after a
// sixteenth of the time that it has waited there, so that it loses little of a hold of any length; those behind it read
// less often.
func (m *Machine) poll(now protocol.Time, c *claim) protocol.Time {
	if m.config.Store.Watch {
		return now + m.jitter(max(longestPoll/2, m.config.Wait))
	}
	pause := min(max((now-c.front)/16, shortestPoll), longestPoll/8)
	return now + m.jitter(min(pause*protocol.Time(max(1, c.ahead)), longestPoll))
}

// rest waits without a column, and continues when the others are gone, or few and young.
func (m *Machine) rest(now protocol.Time, c *claim, s *seen, out *protocol.Effects) {
	if s.ahead == 0 || !m.awaitsRenewal(c, s) && s.ahead < line {
		c.phase, c.due, c.watches = dating, now, false
		return
	}
	m.refuseTries(now, c.of, out)
	if c.gone || c.of.bid != c {
		return
	}
	for _, r := range c.of.queue {
		m.clients.LetWait(r)
	}
	c.watches = true
	c.due = min(now+m.jitter(max(m.config.Wait, 10*shortestPoll)), m.expires(now, c, s.first))
	if c.stale {
		c.due = now
	}
}
