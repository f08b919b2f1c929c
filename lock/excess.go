package lock

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
)

// Sides of a partition may each have granted a name. An authority that succeeds them adopts all their holds, and
// revokes those that are incompatible with the ones that stay. Until enough of the revoked holders have stopped, the
// name has more holders than fit: its crowd is marked as having an excess, and accepts nothing more.

// Displace makes room for c, which another table has granted and Adopt has rejected with an ErrConflict: it revokes
// grants of its name from below, in order and no more than necessary, with reason why. Each of their holds is Revoked.
// It reports whether c, not revoked, is compatible with those that stay; if not, nothing has changed. It cannot make
// room for a hold that another owner's suspension excludes, or for a suspension that excludes another owner's holds.
func (t *Table) Displace(c *Entry, below []Grant, why holdfast.Loss, out *[]Decision) bool {
	e := t.liveOf(c.Name)
	if t.contradicts(c) != nil {
		return false
	}
	if e == 0 {
		return true
	}
	if t.otherCapacity(e, c.Mode, c.Capacity) != nil && t.fixed(e) {
		return false
	}
	staying := t.staying(e)
	var losers []int32 // an entry of each grant
	for _, g := range below {
		if staying.leaves(c.Mode, c.Units, c.Capacity) {
			break
		}
		if i := t.findHold(g.Session, c.Name, g.Token, 0); i != 0 && !t.entries.at(i).revoked {
			losers = append(losers, i)
			staying.subtract(t.units(t.entries.at(i)))
		}
	}
	if !staying.leaves(c.Mode, c.Units, c.Capacity) {
		return false
	}
	// Grants revoked before a larger one may not have been necessary.
	for n := len(losers) - 1; n >= 0; n-- {
		with := staying
		with.add(t.units(t.entries.at(losers[n])))
		if with.leaves(c.Mode, c.Units, c.Capacity) {
			staying, losers = with, slices.Delete(losers, n, n+1)
		}
	}
	for _, i := range losers {
		t.revokeGrant(i, why, out)
	}
	return true
}

// Revoke revokes one grant with reason why: each of its holds is Revoked, and stays until its holder releases it, its
// session ends or its hold limit passes. It reports whether session s holds name under token.
func (t *Table) Revoke(s SessionID, name string, token holdfast.Token, why holdfast.Loss, out *[]Decision) bool {
	i := t.findHold(s, name, token, 0)
	if i != 0 {
		t.revokeGrant(i, why, out)
	}
	return i != 0
}

// Recall asks the holder of one hold, named as in [Table.Release], to end it with reason why, if it was requested over
// a stream. A grant is revoked as a whole: the hold is therefore made revoked only if its grant has no other, and
// otherwise the grant stays for the others. It reports whether session s has such a hold.
func (t *Table) Recall(s SessionID, name string, token holdfast.Token, request uint64, why holdfast.Loss, out *[]Decision) bool {
	i := t.findHold(s, name, token, request)
	if i == 0 || t.entries.at(i).request >= SingleCall {
		return false
	}
	if d := t.entries.at(i).detail; d == 0 || t.details.at(d).holds == 1 {
		t.revoke(i, why)
	}
	*out = append(*out, t.revocation(i, why))
	return true
}

// revokeGrant revokes all holds of the grant of entry i, which is its latest or only hold.
func (t *Table) revokeGrant(i int32, why holdfast.Loss, out *[]Decision) {
	holds := int32(1)
	if d := t.entries.at(i).detail; d != 0 {
		i, holds = t.details.at(d).last, t.details.at(d).holds
	}
	for range holds - 1 {
		i = t.entries.at(i).links[ofEntry].prev
	}
	for range holds {
		t.revoke(i, why)
		*out = append(*out, t.revocation(i, why))
		i = t.entries.at(i).links[ofEntry].next
	}
}

// losses are the reasons for revoking a hold. The first one is the default for an unknown reason: snapshots do not
// contain it.
var losses = [...]holdfast.Loss{
	holdfast.Broken, holdfast.Duplicate, holdfast.AuthorityChanged, holdfast.MemberLost, holdfast.SessionExpired, holdfast.HoldLimit,
	holdfast.EndedByAnother, holdfast.SpaceClosed,
}

// revoke makes the hold at entry i one that is to end with reason why, if it is not yet.
func (t *Table) revoke(i int32, why holdfast.Loss) {
	s := t.entries.at(i)
	if s.revoked {
		return
	}
	t.alter(s.live)
	s.revoked, s.why = true, uint8(max(0, slices.Index(losses[:], why)))
	t.unindexOwner(i)
	t.recountMarked(s.live)
}

// taken is the share of a name taken by its unrevoked holders.
type taken struct {
	grants int
	units  int64
	mode   holdfast.Mode // that of all of them
}

// staying counts the unrevoked holders of live name e.
func (t *Table) staying(e int32) (taken taken) {
	x := t.names.at(e)
	detail := int32(0) // of the previous hold
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		s := t.entries.at(i)
		if !s.revoked && (detail == 0 || s.detail != detail) {
			taken.add(t.units(s))
			taken.mode = s.mode
		}
		detail = s.detail
	}
	return taken
}

func (k *taken) add(units int32)      { k.grants, k.units = k.grants+1, k.units+int64(units) }
func (k *taken) subtract(units int32) { k.grants, k.units = k.grants-1, k.units-int64(units) }

// leaves reports whether there is room for one more grant; for slots, one of the same capacity.
func (k *taken) leaves(mode holdfast.Mode, units, capacity int) bool {
	switch {
	case k.grants == 0:
		return true
	case mode == holdfast.ModeExclusive || mode != k.mode:
		return false
	}
	return mode == holdfast.ModeShared || k.units+int64(units) <= int64(capacity)
}

// fixed reports whether live name e has an unrevoked holder, which fixes its capacity.
func (t *Table) fixed(e int32) bool {
	x := t.names.at(e)
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		if s := t.entries.at(i); s.mode == holdfast.ModeSlots && !s.revoked {
			return true
		}
	}
	lane, _ := t.lane(e)
	for _, first := range [...]int32{x.queue, lane} {
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			if t.entries.at(i).mode == holdfast.ModeSlots {
				return true
			}
		}
	}
	return false
}

// recountMarked is recount for a live name that may be unmarked: then there is nothing to do.
func (t *Table) recountMarked(e int32) {
	if c := t.names.at(e).crowd; c != 0 && t.crowds.at(c).excess {
		t.recount(e)
	}
}

// recount determines, from the entries of a marked live name, whether it still has an excess, and its capacity. Both
// depend only on the current entries, so that a restored copy of the table agrees.
func (t *Table) recount(e int32) {
	x := t.names.at(e)
	c := t.crowds.at(x.crowd)
	if c.slots > 0 {
		c.capacity = t.capacityOf(e, x)
	}
	c.excess = t.exceeds(x, c)
}

// capacityOf returns the capacity of a name with slots: that of its first unrevoked holder, else of its first waiter,
// else of its first revoked holder.
func (t *Table) capacityOf(e int32, x *record) int32 {
	revoked := int32(0)
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		s := t.entries.at(i)
		if s.mode == holdfast.ModeSlots && !s.revoked {
			return t.capacity(s)
		}
		if s.mode == holdfast.ModeSlots && revoked == 0 {
			revoked = t.capacity(s)
		}
	}
	lane, _ := t.lane(e)
	for _, first := range [...]int32{x.queue, lane} {
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			if s := t.entries.at(i); s.mode == holdfast.ModeSlots {
				return t.capacity(s)
			}
		}
	}
	return revoked
}

// exceeds reports whether the holders of x are not all compatible.
func (t *Table) exceeds(x *record, c *crowd) bool {
	if x.holders == 0 {
		return false
	}
	mode := t.entries.at(x.holders).mode
	if mode == holdfast.ModeExclusive {
		return c.grants > 1
	}
	units, detail := int64(0), int32(0)
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		s := t.entries.at(i)
		if s.mode != mode {
			return true
		}
		if mode == holdfast.ModeSlots && s.detail != detail {
			units += int64(t.units(s))
			detail = s.detail
			if t.capacity(s) != c.capacity || units > int64(c.capacity) {
				return true
			}
		}
	}
	return false
}

// firstOf returns the entry that determines a name's shape: its first unrevoked holder, else its first revoked one, or
// its first waiter.
func (t *Table) firstOf(e int32, x *record) int32 {
	switch {
	case x.holders != 0:
	case x.queue != 0:
		return x.queue
	default:
		first, _ := t.lane(e)
		return first
	}
	if x.crowd != 0 && t.crowds.at(x.crowd).excess {
		for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
			if !t.entries.at(i).revoked {
				return i
			}
		}
	}
	return x.holders
}
