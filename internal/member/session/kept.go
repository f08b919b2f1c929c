package session

import "github.com/holdfast-locks/holdfast/protocol"

// kept is the part of the horizon that stays for the next session when the last one has ended, so that a client of a
// quiet member that is alone does not wait for a disk each time: see the package comment.
type kept struct {
	alone bool // the view has no other member
	reach protocol.Reach
	until protocol.Time // 0 if there is none
}

func (k *kept) wake() protocol.Time {
	if k.until == 0 {
		return protocol.Never
	}
	return k.until
}

// heedView notes the lease and the company of another view.
func (m *Machine) heedView(now protocol.Time, v *protocol.View, out *protocol.Effects) {
	m.lease = v.Lease
	if m.kept.alone = len(v.Members) == 1; !m.kept.alone {
		m.forgetKept(now, out)
	}
}

// keep keeps the promise of a session that ends. The one of a longer ttl than usual shrinks to the usual one.
func (m *Machine) keep(now protocol.Time, p *presence) {
	until := min(p.expiresIfSet(), now+m.stretch(m.config.TTL))
	if !m.kept.alone || !p.counted || m.closing.stage != serving || m.lapsed || until <= now {
		return
	}
	m.kept.reach = max(m.kept.reach, min(p.far, m.reachOfBound(m.config.TTL)))
	m.kept.until = max(m.kept.until, until)
}

// endKept ends what was kept long enough.
func (m *Machine) endKept(now protocol.Time, out *protocol.Effects) {
	if m.kept.until <= now {
		m.forgetKept(now, out)
	}
}

// forgetKept lets the horizon sink as if nothing had been kept.
func (m *Machine) forgetKept(now protocol.Time, out *protocol.Effects) {
	if m.kept.until > 0 {
		m.kept.reach, m.kept.until = 0, 0
		m.sink(now, out)
	}
}
