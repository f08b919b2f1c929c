package consensus

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// listing is a page of a listing, while all shards are asked how far they have come.
type listing struct {
	page    protocol.Scan
	missing int // shards that have not answered
}

// list asks all shards for a page of their names, which stand among one another.
func (m *Machine) list(call protocol.CallID, page *protocol.Scan, out *protocol.Effects) {
	switch {
	case m.failed != nil || !m.hasBegun() || m.view == nil && !page.Stale:
		out.Reply(call, &protocol.Unanswered{Err: m.errUndecided()})
	case page.Stale:
		m.listed(call, page, out)
	case m.operators >= m.config.Operators:
		out.Reply(call, &protocol.Unanswered{Err: &holdfast.LimitError{Limit: "operators", Value: int64(m.config.Operators)}})
	default:
		m.operators++
		q := &inquiry{call: call, listing: &listing{*page, len(m.parts)}, until: m.now + patienceOfInquiry*m.election()}
		for _, p := range m.parts {
			m.inquire(p, q)
		}
	}
}

// listed answers with a page of what this member's copies have.
func (m *Machine) listed(call protocol.CallID, page *protocol.Scan, out *protocol.Effects) {
	answer := &protocol.Scanned{}
	limit := max(1, page.Limit)
	lists := make([]shardList, len(m.parts))
	for i := range lists {
		lists[i] = shardList{part: m.parts[i], after: page.After, more: true}
	}
	for {
		first := (*shardList)(nil)
		for i := range lists {
			l := &lists[i]
			l.fill(page.Prefix, 1+limit/len(lists))
			if len(l.locks) > 0 && (first == nil || l.locks[0].Name < first.locks[0].Name) {
				first = l
			}
		}
		if first == nil {
			break
		}
		if len(answer.Locks) == limit {
			answer.Next = answer.Locks[limit-1].Name
			break
		}
		answer.Locks = append(answer.Locks, m.shown(first.part, first.locks[0]))
		first.locks = first.locks[1:]
	}
	out.Reply(call, answer)
}

// shardList has the next names of a shard.
type shardList struct {
	part  *part
	locks []lock.Lock
	after string // the last name that was read
	more  bool   // there are others behind it
}

// fill reads more names of the shard, when none is left of those that were.
func (l *shardList) fill(prefix string, limit int) {
	if len(l.locks) > 0 || !l.more {
		return
	}
	l.locks = nil
	l.more = l.part.shard.Replica().Table().Scan(l.after, prefix, limit, func(name lock.Lock) bool {
		l.locks, l.after = append(l.locks, name), name.Name
		return true
	})
}
