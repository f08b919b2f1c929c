package host

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// leased wraps the member's machine, and informs the locks of this process how long the member's lease covers them.
// They compare that with the clock themselves, so that a lock is lost in time even if nothing of the machine has run
// since.
type leased struct {
	protocol.Machine
	lease   *protocol.Lease // nil before the first view
	carried protocol.Time
	ends    *atomic.Int64

	assurers  []assurer
	forwarded []forwardedSpace
}

// assurer is a space that reports itself until when its holds are safe.
type assurer struct {
	space protocol.Assures
	ends  *atomic.Int64
}

// Assured returns for how long from now all holds of this process in a space are safe, unless extended by then: in a
// space of protocol claim, until the first of its claims may expire, and in one of protocol consensus, until the group
// may end the first of its sessions. Without holds, and if the session alone determines when locks end, it is
// holdfast.Forever.
func (n *Member) Assured(space string) time.Duration {
	for i := range n.config.Spaces {
		if n.config.Spaces[i].Name != space || n.assured[i] == nil {
			continue
		}
		if end := n.assured[i].Load(); end != int64(protocol.Never) {
			return time.Duration(end) - n.driver.Now()
		}
	}
	return holdfast.Forever
}

// assuredSession is the session behind the locks of such a space.
type assuredSession struct {
	*localSession
	ends *atomic.Int64
}

// lastingSession is the session behind the locks of a space of protocol consensus: holds there outlast the member's
// lease, and the space alone determines until when they are safe.
type lastingSession struct {
	*localSession
	ends *atomic.Int64
}

// Deadline returns when holds in the space end, unless extended by then.
func (s lastingSession) Deadline() time.Duration { return time.Duration(s.ends.Load()) }

// deadlines returns everything that ends locks of this process: the member's lease first, then the spaces of protocol
// consensus.
func (n *Member) deadlines() []*atomic.Int64 {
	all := []*atomic.Int64{&n.ends}
	for i := range n.config.Spaces {
		if n.config.Spaces[i].described.Lasting {
			all = append(all, n.assured[i])
		}
	}
	return all
}

// Deadline returns when holds in the space end, unless extended by then.
func (s assuredSession) Deadline() time.Duration {
	return min(s.localSession.Deadline(), time.Duration(s.ends.Load()))
}

// Step steps the machine, and publishes changes of its lease.
func (m *leased) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	raised := len(out.Raises)
	m.Machine.Step(now, ev, out)
	for ; raised < len(out.Raises); raised++ {
		if view, is := out.Raises[raised].(*protocol.View); is {
			m.lease = view.Lease
		}
	}
	for i := range m.assurers {
		a := &m.assurers[i]
		a.ends.Store(int64(a.space.Assured()))
	}
	for _, o := range m.forwarded {
		o.is.Store(o.space.Nonmember())
	}
	// Unconfirmed holds end first, and this member cannot tell which those are.
	if m.lease != nil && m.lease.Carried != m.carried {
		m.carried = m.lease.Carried
		m.ends.Store(int64(m.carried))
	}
}
