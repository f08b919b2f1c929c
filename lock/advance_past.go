package lock

import "github.com/holdfast-locks/holdfast"

// AdvancePast makes every later token higher than last, which a holder has given by itself with its authority's
// permission. A token of an earlier reign is already passed, and nothing changes. It panics if last is of a later
// reign: a holder that counts in this reign cannot have given it.
func (t *Table) AdvancePast(last holdfast.Token) {
	if last <= t.last {
		return
	}
	if uint64(last)>>32 != t.reign {
		panic("lock: a token of a later reign cannot be passed over")
	}
	t.count, t.last = uint32(last), last
}

// Wanted reports whether a request waits at a name, or for the table to be suspended or resumed.
func (t *Table) Wanted(name string) bool {
	e := t.liveOf(name)
	return t.gate != nil || e != 0 && t.names.at(e).waiting > 0
}

// Waiting returns how many requests wait at a name, excluding those parked because of a suspension.
func (t *Table) Waiting(name string) int {
	e := t.liveOf(name)
	if e == 0 {
		return 0
	}
	return int(t.names.at(e).waiting)
}
