package lock

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

// In protocols permission, bakery and claim no member has a table of all requests: each member's has those of its own
// clients (Config.Permitted), and the members, or a store, agree on the order. The table therefore queues requests, and
// the protocol decides which of them are granted, and under which token. All else is as in every table: reentry,
// limits, ends, views for people.

// Permit grants a request that waits for name, at any place in the queue, under a token that is higher than that of
// every other grant of the name here. It reports whether the request waits. A permitted request must be compatible with
// the grants held here.
func (t *Table) Permit(now Time, s SessionID, name string, request uint64, token holdfast.Token, out *[]Decision) bool {
	i := t.findWaiter(s, name, request)
	if i == 0 {
		return false
	}
	at := t.entries.at(i)
	x := t.names.at(at.live)
	if !t.limits.Permitted || !t.fits(x, at.mode, t.units(at)) {
		panic(fmt.Sprintf("lock: %q is permitted %v to request %d of %v, which does not fit", name, at.mode, request, s))
	}
	if x.holders != 0 {
		if last := t.entries.at(t.entries.at(x.holders).links[ofEntry].prev); last.token >= token {
			panic(fmt.Sprintf("lock: %q is permitted under token %d after token %d", name, token, last.token))
		}
	}
	e := at.live
	t.dequeue(i)
	t.grantUnder(now, token, i, at, x, out)
	t.gatherOwner(now, i, out)
	t.settle(now, e, out)
	return true
}

// gatherOwner lets all other requests of the owner into the grant of entry held, at any place in the queue, or refuses
// those with another shape. If one remained, it could be permitted too, and one owner would have two grants.
func (t *Table) gatherOwner(now Time, held int32, out *[]Decision) {
	s := t.entries.at(held)
	head := t.names.at(s.live).queue
	if head == 0 || t.owner(s) == "" {
		return
	}
	var same []int32
	for i := head; i != 0; i = t.next(ofEntry, head, i) {
		if at := t.entries.at(i); at.session == s.session && t.owner(at) == t.owner(s) {
			same = append(same, i)
		}
	}
	for _, i := range same {
		if t.end(t.entries.at(i)) <= now {
			t.giveUp(now, i, out)
			continue
		}
		t.reenterQueued(now, held, i, out)
	}
}

// Deny refuses a request that waits for name with err, and reports whether it did.
func (t *Table) Deny(now Time, s SessionID, name string, request uint64, err error, out *[]Decision) bool {
	i := t.findWaiter(s, name, request)
	if i == 0 {
		return false
	}
	d := t.refusal(now, i, err)
	e := t.entries.at(i).live
	t.drop(i)
	*out = append(*out, d)
	t.settle(now, e, out)
	return true
}

// Queued returns the answer to a request that waits for name: Queued, with the number of this table's requests before
// it. It reports whether the request waits.
func (t *Table) Queued(s SessionID, name string, request uint64) (d Decision, waits bool) {
	i := t.findWaiter(s, name, request)
	if i == 0 {
		return d, false
	}
	return t.queued(i), true
}

// findWaiter returns the entry of a waiting request, or 0.
func (t *Table) findWaiter(s SessionID, name string, request uint64) int32 {
	e, known := t.liveOf(name), t.sessionOf(s)
	if e == 0 || known == 0 {
		return 0
	}
	i := t.findRequest(e, known, request)
	if i == 0 || t.entries.at(i).token != 0 {
		return 0
	}
	return i
}

// Grants reports whether name is held under token.
func (t *Table) Grants(name string, token holdfast.Token) bool {
	e := t.liveOf(name)
	if e == 0 {
		return false
	}
	first := t.names.at(e).holders
	for i := first; i != 0; i = t.next(ofEntry, first, i) {
		if t.entries.at(i).token == token {
			return true
		}
	}
	return false
}
