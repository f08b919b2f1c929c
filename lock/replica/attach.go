package replica

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
)

// attach records which client uses a session, and to which member it is tied.
func (r *Replica) attach(s *session, o *Op, out *Effects) {
	if o.Tied && s.Tied == 0 {
		s.Tied = o.ID.Member
	}
	before := s.Attached
	if o.Attached != nil {
		s.Attached = before.Join(*o.Attached)
	}
	if before.Attachment == s.Attached.Attachment {
		return
	}
	out.Attached = append(out.Attached, s.ID)
	if before.Client != 0 {
		s.Inherited = r.table.Last()
		r.endWaits(s, out)
	}
}

// endWaits ends a session's waiting stream requests: another client uses it from now on.
func (r *Replica) endWaits(s *session, out *Effects) {
	var waits []requestFor
	r.Requests(s.ID, func(number uint64, name string) {
		if d, _ := r.Standing(s.ID, name, number); d.Kind == lock.Queued && number < lock.SingleCall {
			waits = append(waits, requestFor{number, name})
		}
	})
	slices.SortFunc(waits, func(a, b requestFor) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name)) })
	for _, w := range waits {
		from := len(out.Decisions)
		r.cancel(s, &Op{Session: s.ID, Request: w.number, Name: w.name}, out)
		r.settle(from, out)
	}
	r.decided = len(out.Decisions)
}
