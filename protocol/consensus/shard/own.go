package shard

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// MostForwarded is the maximum number of operations in one message, and in one entry. A message has fewer if they
// exceed entryBytes; it may exceed that by one operation.
const MostForwarded = 512

// own is this member's operations that it has not seen applied yet.
type own struct {
	ops   map[uint64]*replica.Op
	order []uint64 // their numbers, as they came; some are done
	next  uint64   // the latest number
	fresh []uint64 // those that are to be sent
	again protocol.Time
	begun bool // again is valid
}

// done forgets an operation, and reports whether it was there.
func (o *own) done(number uint64) bool {
	_, known := o.ops[number]
	delete(o.ops, number)
	for len(o.order) > 0 && o.ops[o.order[0]] == nil {
		o.order = o.order[1:]
	}
	return known
}

// unsend has all of them sent again.
func (o *own) unsend() { o.fresh = append(o.fresh[:0], o.order...) }

// Submit accepts an operation of this member's clients, and numbers it. Its result comes out when it is applied. The
// error is an ErrLimit if too many are in progress, or the journal's failure.
func (s *Shard) Submit(now protocol.Time, op replica.Op, out *Output) (number uint64, err error) {
	switch {
	case s.failed != nil:
		return 0, s.failed
	case len(s.own.ops) >= s.config.Pending:
		return 0, &holdfast.LimitError{Limit: "pending_operations", Value: int64(s.config.Pending)}
	}
	s.own.next++
	number = s.own.next
	op.ID = replica.OpID{Member: s.config.Group.Self, Number: number}
	s.own.ops[number] = &op
	s.own.order = append(s.own.order, number)
	s.own.fresh = append(s.own.fresh, number)
	s.settle(now, out)
	return number, nil
}

// Withdraw forgets an operation that no caller waits for any more. It may still act.
func (s *Shard) Withdraw(number uint64) { s.own.done(number) }

// forward sends pending operations to the leader, and resends those that were not applied for long.
func (s *Shard) forward(now protocol.Time, out *Output) {
	o := &s.own
	if len(o.ops) == 0 {
		o.again, o.fresh, o.begun = protocol.Never, o.fresh[:0], false
		return
	}
	if !o.begun {
		o.begun, o.again = true, now+s.group.Election()
	}
	if now >= o.again {
		o.again = now + s.group.Election()
		o.unsend()
	}
	leader := s.group.Leader()
	if len(o.fresh) == 0 || leader == 0 {
		return
	}
	var ops []replica.Op
	for _, number := range o.fresh {
		if x := o.ops[number]; x != nil {
			ops = append(ops, *x)
		}
	}
	o.fresh = o.fresh[:0]
	if s.lead != nil {
		s.lead.queue.take(s, now, ops)
		return
	}
	for len(ops) > 0 {
		size, count := 0, 0
		for count < len(ops) && count < MostForwarded && size < entryBytes {
			size += ops[count].Size()
			count++
		}
		out.Messages = append(out.Messages, Envelope{leader, Forward{ops[:count:count]}})
		ops = ops[count:]
	}
}

// forwarded accepts operations of another member, if this one leads. Otherwise their member resends them, to the
// leader.
func (s *Shard) forwarded(now protocol.Time, from uint64, m *Forward) error {
	if len(m.Ops) > MostForwarded {
		return fmt.Errorf("%d operations of member %d at once, where %d are the most", len(m.Ops), from, MostForwarded)
	}
	for i := range m.Ops {
		if m.Ops[i].ID.Member != from || m.Ops[i].ID.Number == 0 {
			return fmt.Errorf("operation %v of member %d, which has not sent it", m.Ops[i].ID, from)
		}
	}
	if s.lead != nil {
		s.lead.queue.take(s, now, m.Ops)
	}
	return nil
}
