package shard

import (
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// queue is the operations for the leader's next entries, in order of arrival.
//
// An entry costs a sync at every member, however much it contains. An operation that no client waits for therefore does
// not start one: a release that its client does not wait for, of a name that no client wants; and a request that has to
// queue anyway, because others are before it. Such an operation goes with the next one that a client waits for, or
// after [Config].Linger by itself. A client that locks one name after another then needs one entry for each, and so
// does a name that passes from one client to the next.
type queue struct {
	ops   []replica.Op
	known map[replica.OpID]bool // those that are in it, or proposed
	of    map[string]int        // how many of them there are of a name

	urgent bool          // a client waits for one of them
	due    protocol.Time // when the first of those that no client waits for has waited long enough; of no meaning otherwise
}

func newQueue() queue { return queue{known: map[replica.OpID]bool{}, of: map[string]int{}} }

// take queues operations that are not in the queue.
func (q *queue) take(s *Shard, now protocol.Time, ops []replica.Op) {
	for i := range ops {
		o := &ops[i]
		if q.known[o.ID] || len(q.ops) >= mostQueued {
			continue
		}
		if len(q.ops) == 0 {
			q.urgent, q.due = false, now+s.config.Linger
		}
		q.urgent = q.urgent || !q.waits(s, o)
		q.known[o.ID] = true
		if o.Name != "" {
			q.of[o.Name]++
		}
		q.ops = append(q.ops, *o)
	}
}

// waits reports whether an operation may wait for others: as far as this member knows it answers or grants no client
// anything. A client that is, nevertheless, is so a little later.
func (q *queue) waits(s *Shard, o *replica.Op) bool {
	table, underWay := s.replica.Table(), q.of[o.Name]
	switch o.Kind {
	case replica.Release:
		return underWay == 0 && !table.Wanted(o.Name)
	case replica.Acquire:
		// Each of those before it has to be granted the name and give it back, or give up.
		return !o.Try && o.Wait > s.config.Linger && table.Waiting(o.Name) > underWay
	}
	return false
}

// ready reports whether there is something to propose now.
func (q *queue) ready(now protocol.Time) bool {
	return len(q.ops) > 0 && (q.urgent || now >= q.due)
}

// wake is when there will be.
func (q *queue) wake() protocol.Time {
	switch {
	case len(q.ops) == 0:
		return protocol.Never
	case q.urgent:
		return 0
	}
	return q.due
}

// fill adds operations to an entry as far as they fit, and returns their number.
func (q *queue) fill(e *replica.Entry) (count int) {
	for size := 0; count < len(q.ops) && len(e.Ops) < MostForwarded && size < entryBytes; count++ {
		size += q.ops[count].Size()
		e.Ops = append(e.Ops, q.ops[count])
	}
	return count
}

// proposed removes the first ones.
func (q *queue) proposed(count int) {
	if q.ops = q.ops[count:]; len(q.ops) == 0 {
		q.ops = nil
	}
}

// applied records an operation that an entry contained.
func (q *queue) applied(o *replica.Op) {
	if !q.known[o.ID] {
		return
	}
	delete(q.known, o.ID)
	if q.of[o.Name]--; q.of[o.Name] <= 0 {
		delete(q.of, o.Name)
	}
}
