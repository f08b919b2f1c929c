package node

import (
	"sync/atomic"

	"github.com/holdfast-locks/holdfast/protocol"
)

// leased is the member's machine, which tells the locks of this process how long the
// member's lease lets them be held. They compare that with the clock themselves, so
// that one is lost in time even if nothing of the machine has run since.
type leased struct {
	protocol.Machine
	lease *protocol.Lease // nil before the first view
	told  protocol.Time
	ends  *atomic.Int64
}

// Step steps the machine, and tells what its lease has become.
func (m *leased) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	raised := len(out.Raises)
	m.Machine.Step(now, ev, out)
	for ; raised < len(out.Raises); raised++ {
		if view, is := out.Raises[raised].(*protocol.View); is {
			m.lease = view.Lease
		}
	}
	// What is not confirmed yet ends first, and nobody here can tell which that is.
	if m.lease != nil && m.lease.Carried != m.told {
		m.told = m.lease.Carried
		m.ends.Store(int64(m.told))
	}
}
