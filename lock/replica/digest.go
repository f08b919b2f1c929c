package replica

import "hash/crc64"

// digestEntries is how many entries are looked at in one go.
const digestEntries = 32

// Digest is a number that copies in the same state share, and others hardly: it is for finding copies that
// have come apart, whose program or memory is broken. It costs as much as a snapshot.
func (r *Replica) Digest() uint64 {
	ecma := crc64.MakeTable(crc64.ECMA)
	w := &writer{}
	w.time(r.now)
	w.number(r.reign)
	sum := crc64.Checksum(w.b, ecma)
	// What has an order of its own in each copy is summed up.
	//tidy:unordered sums do not depend on it
	for _, s := range r.sessions {
		w.b = w.b[:0]
		w.sessionRecord(s)
		for _, intent := range s.inOrder() {
			if intent.over {
				w.overIntent(intent)
			}
		}
		sum += crc64.Checksum(w.b, ecma)
	}
	w.b = w.b[:0]
	for _, l := range [...]*roll{&r.gone, &r.done} {
		for _, member := range l.order {
			w.number(member)
			w.ended(*l.numbers[member])
		}
	}
	r.outcomes.inOrder(w.outcome)
	sum += crc64.Checksum(w.b, ecma)
	name := ""
	w.b = w.b[:0]
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		c := r.table.Snapshot(r.now, cursor, digestEntries)
		for i := range c.Entries {
			if s := &c.Entries[i]; s.Name != name {
				sum += crc64.Checksum(w.b, ecma)
				name, w.b = s.Name, w.b[:0]
			}
			w.b = r.writeEntry(w.b, &c.Entries[i])
		}
		cursor = c.Next
	}
	return sum + crc64.Checksum(w.b, ecma)
}
