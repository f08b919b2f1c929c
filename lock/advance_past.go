package lock

import "github.com/holdfast-locks/holdfast"

// AdvancePast makes every token to come higher than last, which a holder has given by itself: its
// authority had let it count on. A token of an earlier reign is passed over already, and nothing
// changes. It panics where last is of a reign that is still to come: who counts in this one
// cannot have given it.
func (t *Table) AdvancePast(last holdfast.Token) {
	if last <= t.last {
		return
	}
	if uint64(last)>>32 != t.reign {
		panic("lock: a token of a later reign cannot be passed over")
	}
	t.count, t.last = uint32(last), last
}

// Wanted reports whether a request waits at a name, or for the table to be suspended or
// resumed.
func (t *Table) Wanted(name string) bool {
	e := t.liveOf(name)
	return t.gate != nil || e != 0 && t.names.at(e).waiting > 0
}

// Waiting is how many requests wait at a name, but for those that are parked because of a suspension.
func (t *Table) Waiting(name string) int {
	e := t.liveOf(name)
	if e == 0 {
		return 0
	}
	return int(t.names.at(e).waiting)
}
