package replica

import (
	"hash/crc64"

	"github.com/holdfast-locks/holdfast/lock/wire"
)

// digestEntries is the number of entries processed at once.
const digestEntries = 32

// Digest returns a number that is equal for copies in the same state, and almost certainly different for others: it
// detects copies that have diverged because of a broken program or memory. It costs as much as a snapshot.
func (r *Replica) Digest() uint64 {
	ecma := crc64.MakeTable(crc64.ECMA)
	var sum uint64
	var b []byte
	add := func(c *wire.Coder) {
		b = c.Appended()
		sum += crc64.Checksum(b, ecma)
		b = b[:0]
	}
	c := wire.To(nil)
	c.Duration(&r.now)
	wire.Number(&c, &r.reign)
	add(&c)
	// What has an order of its own in each copy is summed up.
	//tidy:unordered sums do not depend on it
	for _, s := range r.sessions {
		c = wire.To(b)
		s.code(&c, latest)
		for _, intent := range s.inOrder() {
			if intent.over {
				intent.codeOver(&c)
			}
		}
		add(&c)
	}
	c = wire.To(b)
	for _, l := range [...]*roll{&r.gone, &r.done} {
		for _, member := range l.order {
			wire.Number(&c, &member)
			l.numbers[member].code(&c)
		}
	}
	r.outcomes.inOrder(func(o *outcome) { o.code(&c) })
	add(&c)
	name := ""
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		chunk := r.table.Snapshot(r.now, cursor, digestEntries)
		for i := range chunk.Entries {
			if s := &chunk.Entries[i]; s.Name != name {
				sum += crc64.Checksum(b, ecma)
				name, b = s.Name, b[:0]
			}
			b = r.writeEntry(b, &chunk.Entries[i])
		}
		cursor = chunk.Next
	}
	return sum + crc64.Checksum(b, ecma)
}
