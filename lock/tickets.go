package lock

import (
	"fmt"
	"math/bits"
)

// tickets counts the requests before a waiter, without walking the queue: each waiter of an indexed name draws a
// number, and a Fenwick tree (Fenwick, A New Data Structure for Cumulative Frequency Tables, 1994) counts the numbers
// still in use. When the numbers run out they are reissued, which is at most once for every queue's length of requests.
type tickets struct {
	tree []int32 // tree[n] counts the tickets in (n - lowest bit of n, n]
	next int32   // the next ticket, from 1
}

// reset makes room for at least twice the given number of waiters.
func (k *tickets) reset(waiting int32) {
	size := int32(1) << bits.Len32(uint32(max(2*waiting, indexAbove)))
	if int(size) == len(k.tree) {
		clear(k.tree)
	} else {
		k.tree = make([]int32, size)
	}
	k.next = 1
}

// full reports whether all numbers have been drawn.
func (k *tickets) full() bool { return int(k.next) >= len(k.tree) }

// draw returns the next ticket.
func (k *tickets) draw() int32 {
	ticket := k.next
	k.next++
	k.add(ticket, 1)
	return ticket
}

// add changes the count of a ticket.
func (k *tickets) add(ticket, by int32) {
	if ticket <= 0 || ticket >= k.next {
		panic(fmt.Sprintf("lock: ticket %d of a queue whose next is %d", ticket, k.next))
	}
	for n := ticket; int(n) < len(k.tree); n += n & -n {
		k.tree[n] += by
	}
}

// before returns how many lower tickets are in use.
func (k *tickets) before(ticket int32) int {
	var sum int32
	for n := ticket - 1; n > 0; n -= n & -n {
		sum += k.tree[n]
	}
	return int(sum)
}

// renumber reissues all tickets of the queue of x.
func (t *Table) renumber(x *record, ix *index) {
	ix.tickets.reset(x.waiting)
	for i := x.queue; i != 0; i = t.next(ofEntry, x.queue, i) {
		ix.places[requestKey(t.entries.at(i))] = place{entry: i, ticket: ix.tickets.draw()}
	}
}

// number gives entry i, which is the last of its queue, its ticket.
func (t *Table) number(i int32) {
	s := t.entries.at(i)
	ix := t.indexOf(s.live)
	if ix == nil {
		return
	}
	if ix.tickets.full() {
		t.renumber(t.names.at(s.live), ix)
		return
	}
	ix.places[requestKey(s)] = place{entry: i, ticket: ix.tickets.draw()}
}

// unnumber frees the ticket of entry i.
func (t *Table) unnumber(i int32) {
	s := t.entries.at(i)
	ix := t.indexOf(s.live)
	if ix == nil {
		return
	}
	ix.tickets.add(ix.places[requestKey(s)].ticket, -1)
	ix.places[requestKey(s)] = place{entry: i}
}

// position returns how many requests wait before entry i at its name.
func (t *Table) position(i int32) int {
	s := t.entries.at(i)
	x := t.names.at(s.live)
	if t.parked(i, s) {
		return int(x.waiting) + t.rank(i)
	}
	if t.entries.at(x.queue).links[ofEntry].prev == i {
		return int(x.waiting) - 1
	}
	if ix := t.indexOf(s.live); ix != nil {
		return ix.tickets.before(ix.places[requestKey(s)].ticket)
	}
	n := 0
	for at := x.queue; at != i; at = t.next(ofEntry, x.queue, at) {
		n++
	}
	return n
}
