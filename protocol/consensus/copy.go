package consensus

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// onCopy handles a request for the whole state of a shard.
func (m *Machine) onCopy(call protocol.CallID, f *protocol.Copy, out *protocol.Effects) {
	if f.Shard < 0 || f.Shard >= len(m.parts) {
		err := fmt.Errorf("%w: shard %d; the space has shards 0 to %d", holdfast.ErrConflict, f.Shard, len(m.parts)-1)
		out.Reply(call, &protocol.Unanswered{Err: err})
		return
	}
	m.calls.Begin(m.now, &operation{ID: call, Query: admin.Query{Kind: admin.Copy}, Of: m.parts[f.Shard]}, out)
}

// copied is all that a shard has.
func (m *Machine) copied(p *part) *protocol.Copied {
	from := p.shard.Replica()
	table := from.Table()
	c := &protocol.Copied{Shards: len(m.parts), Reign: from.Reign(), Sessions: from.Len(), Holds: table.Holds(), Waiters: table.Waiters()}
	if err := from.Snapshot(func(part []byte) error { c.Parts = append(c.Parts, part); return nil }); err != nil {
		panic(fmt.Sprintf("consensus: %v", err)) // there is no other error than ours
	}
	return c
}
