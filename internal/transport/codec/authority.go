package codec

import (
	"encoding/binary"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// The fewest bytes that an element of a list can have.
const (
	leastID        = 8
	leastEnded     = 10
	leastReleased  = 11
	leastLockEntry = 24
	leastGrant     = 20
	leastWait      = 18
	leastLock      = 8

	leastHandover = 17
	leastAwaited  = 17
	leastNominee  = 11
	leastDecided  = 20
)

func (c *coder) session(v *lock.SessionID) {
	fixed(c, &v.Member)
	number(c, &v.Number)
}

// stamp and ended are in every message, so writing them goes straight to the bytes.
func (c *coder) stamp(v *authority.Stamp) {
	if c.writing {
		b := binary.AppendUvarint(c.b, v.Epoch.Counter)
		b = binary.LittleEndian.AppendUint64(b, uint64(v.Epoch.Candidate))
		if v.Version == (authority.Version{}) {
			b = append(b, 0)
		} else {
			b = binary.AppendUvarint(append(b, 1), v.Version.Epoch)
			b = binary.AppendUvarint(b, v.Version.Number)
		}
		b = binary.AppendUvarint(b, v.Tenure.Incarnation)
		b = binary.AppendUvarint(b, v.Tenure.Lapses)
		b = binary.AppendUvarint(b, uint64(len(v.Acks)))
		for _, request := range v.Acks {
			b = binary.AppendUvarint(b, request)
		}
		c.b = b
		c.truth(&v.Known)
		return
	}
	c.epoch(&v.Epoch)
	c.version(&v.Version)
	c.tenure(&v.Tenure)
	c.numbers(&v.Acks)
	c.truth(&v.Known)
}

// version is one byte where it is zero, as it is in every epoch that has one reign.
func (c *coder) version(v *authority.Version) {
	given := *v != (authority.Version{})
	if c.truth(&given); given {
		number(c, &v.Epoch)
		number(c, &v.Number)
	}
}

func (c *coder) ended(v *authority.Ended) {
	if c.writing {
		b := binary.LittleEndian.AppendUint64(c.b, v.Session.Member)
		b = binary.AppendUvarint(b, v.Session.Number)
		c.b = binary.AppendUvarint(b, v.Seq)
		return
	}
	c.session(&v.Session)
	number(c, &v.Seq)
}

func (c *coder) endeds(v *[]authority.Ended) {
	for i := range list(c, v, leastEnded) {
		c.ended(&(*v)[i])
	}
}

func (c *coder) lockEntry(v *lock.Entry) {
	if c.writing {
		c.writeLockEntry(v)
		return
	}
	text(c, &v.Name)
	c.session(&v.Session)
	number(c, &v.Request)
	text(c, &v.Owner)
	text(c, &v.Reason)
	text(c, &v.Client)
	enum(c, &v.Mode, holdfast.ModeSlots)
	c.count(&v.Units)
	c.count(&v.Capacity)
	number(c, &v.Token)
	c.span(&v.Age)
	c.span(&v.Left)
	c.span(&v.Hold)
	c.truth(&v.Revoked)
	c.truth(&v.Try)
	number(c, &v.Turn)
}

// writeLockEntry is the other direction of entry: a request is one, and reports are many.
func (c *coder) writeLockEntry(v *lock.Entry) {
	c.writeText(v.Name)
	b := binary.LittleEndian.AppendUint64(c.b, v.Session.Member)
	b = binary.AppendUvarint(b, v.Session.Number)
	c.b = binary.AppendUvarint(b, v.Request)
	c.writeText(v.Owner)
	c.writeText(v.Reason)
	c.writeText(v.Client)
	b = append(c.b, byte(v.Mode))
	b = binary.AppendUvarint(b, zigzag(int64(v.Units)))
	b = binary.AppendUvarint(b, zigzag(int64(v.Capacity)))
	b = binary.AppendUvarint(b, uint64(v.Token))
	b = binary.AppendUvarint(b, zigzag(int64(v.Age)))
	b = binary.AppendUvarint(b, zigzag(int64(v.Left)))
	c.b = binary.AppendUvarint(b, zigzag(int64(v.Hold)))
	c.truth(&v.Revoked)
	c.truth(&v.Try)
	c.b = binary.AppendUvarint(c.b, v.Turn)
}

func (c *coder) acquire(v *authority.Acquire) {
	c.stamp(&v.Stamp)
	c.lockEntry(&v.Entry)
	for i := range list(c, &v.After, leastReleased) {
		c.ended(&v.After[i].Ended)
		number(c, &v.After[i].Last)
	}
	number(c, &v.Low)
}

func (c *coder) release(v *authority.Release) {
	c.stamp(&v.Stamp)
	c.ended(&v.Ended)
	text(c, &v.Name)
	number(c, &v.Last)
	c.truth(&v.Awaited)
}

func (c *coder) extend(v *authority.Extend) {
	c.stamp(&v.Stamp)
	c.ended(&v.Ended)
	text(c, &v.Name)
	number(c, &v.Token)
	c.span(&v.Hold)
	number(c, &v.Number)
}

func (c *coder) endSession(v *authority.EndSession) {
	c.stamp(&v.Stamp)
	c.ended(&v.Ended)
	text(c, &v.Why)
}

func (c *coder) decided(v *authority.Decided) {
	c.stamp(&v.Stamp)
	c.decision(v)
}

// decision is what a Decided says beside its stamp.
func (c *coder) decision(v *authority.Decided) {
	c.ended(&v.Ended)
	enum(c, &v.Kind, lock.Released)
	text(c, &v.Name)
	number(c, &v.Token)
	c.span(&v.Hold)
	c.count(&v.Position)
	text(c, &v.Loss)
	c.failure(&v.Err)
	c.truth(&v.Keep)
	number(c, &v.Extension)
	number(c, &v.AckID)
}

func (c *coder) infoRequest(v *authority.InfoRequest) {
	c.stamp(&v.Stamp)
	number(c, &v.Chunk)
}

func (c *coder) infoAnswer(v *authority.InfoAnswer) {
	c.stamp(&v.Stamp)
	number(c, &v.Chunk)
	c.truth(&v.Last)
	for i := range list(c, &v.Entries, leastLockEntry) {
		c.lockEntry(&v.Entries[i])
	}
	c.endeds(&v.Released)
}

// stampInView codes a Revalidate, or the Acks that answer it.
func (c *coder) stampInView(s *authority.Stamp, view *uint64) {
	c.stamp(s)
	*view = c.varint(*view)
}

func (c *coder) query(v *authority.Query) {
	c.stamp(&v.Stamp)
	c.adminQuery(&v.Query)
}

func (c *coder) answer(v *authority.Answer) {
	c.stamp(&v.Stamp)
	c.adminAnswer(&v.Answer)
}

func (c *coder) adminQuery(v *admin.Query) {
	number(c, &v.Number)
	number(c, &v.Low)
	enum(c, &v.Kind, admin.LastKind)
	text(c, &v.Name)
	number(c, &v.Token)
	text(c, &v.Reason)
	text(c, &v.Prefix)
	c.count(&v.Limit)
	c.count(&v.Skip)
}

func (c *coder) adminAnswer(v *admin.Answer) {
	number(c, &v.Number)
	c.count(&v.Skip)
	c.locks(&v.Locks)
	text(c, &v.Next)
	c.count(&v.More)
	c.grants(&v.Grants)
	c.failure(&v.Err)
	c.condition(&v.Condition)
}

func (c *coder) locks(v *[]lock.Lock) {
	for i := range list(c, v, leastLock) {
		c.lock(&(*v)[i])
	}
}

func (c *coder) lock(v *lock.Lock) {
	text(c, &v.Name)
	enum(c, &v.Mode, holdfast.ModeSlots)
	c.count(&v.Units)
	c.count(&v.Capacity)
	number(c, &v.Token)
	c.grants(&v.Holders)
	for i := range list(c, &v.Waiters, leastWait) {
		c.waiter(&v.Waiters[i])
	}
	c.grants(&v.History)
}

func (c *coder) grants(v *[]lock.Grant) {
	for i := range list(c, v, leastGrant) {
		c.grant(&(*v)[i])
	}
}

func (c *coder) grant(v *lock.Grant) {
	c.session(&v.Session)
	text(c, &v.Owner)
	text(c, &v.Client)
	text(c, &v.Reason)
	enum(c, &v.Mode, holdfast.ModeSlots)
	c.count(&v.Units)
	number(c, &v.Token)
	c.span(&v.Since)
	c.span(&v.Until)
	c.count(&v.Holds)
	c.truth(&v.Revoked)
	c.truth(&v.Grace)
}

func (c *coder) waiter(v *lock.Wait) {
	c.session(&v.Session)
	text(c, &v.Owner)
	text(c, &v.Client)
	text(c, &v.Reason)
	enum(c, &v.Mode, holdfast.ModeSlots)
	c.count(&v.Units)
	number(c, &v.Request)
	c.span(&v.Since)
	c.span(&v.Until)
	for i := range list(c, &v.For, leastID) {
		fixed(c, &v.For[i])
	}
}

func (c *coder) condition(v *protocol.Condition) {
	enum(c, &v.State, protocol.Ready)
	text(c, &v.Why)
	c.span(&v.Until)
	c.ids(&v.Authority)
	number(c, &v.Reign)
	enum(c, &v.Class, holdfast.Fenced)
	c.count(&v.Locks)
	c.count(&v.Waiters)
	c.count(&v.Sessions)
	fixed(c, &v.Elder)
	number(c, &v.Version)
	for i := range list(c, &v.Transfers, leastHandover) {
		c.handover(&v.Transfers[i])
	}
	c.truth(&v.Closed)
	c.awaited(&v.Awaited)
	for i := range list(c, &v.Candidates, leastNominee) {
		c.nominee(&v.Candidates[i])
	}
}

func (c *coder) awaited(v *[]protocol.Awaited) {
	for i := range list(c, v, leastAwaited) {
		c.await(&(*v)[i])
	}
}

func (c *coder) await(v *protocol.Awaited) {
	fixed(c, &v.Member)
	fixed(c, &v.Reply)
	c.count(&v.Requests)
}

func (c *coder) nominee(v *protocol.Candidate) {
	fixed(c, &v.Member)
	c.count(&v.Priority)
	c.truth(&v.Eligible)
	text(c, &v.Why)
}

func (c *coder) handover(v *protocol.Handover) {
	fixed(c, &v.From)
	fixed(c, &v.To)
	c.span(&v.Since)
}
