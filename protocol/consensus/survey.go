package consensus

import (
	"cmp"
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// breakSuspension ends a suspension of a space of several shards, all of which have said what they have.
func (m *Machine) breakSuspension(o *operation, out *protocol.Effects) {
	suspensions, token := m.suspensions(), o.Query.Token
	for _, p := range m.parts {
		if err := p.endsByItself(lock.SpaceLock); err != nil {
			out.Reply(o.ID, &protocol.Broken{Err: err})
			return
		}
	}
	if len(suspensions.Holders) == 0 || token != 0 && token != suspensions.Token {
		out.Reply(o.ID, &protocol.Broken{Err: holdfast.ErrNotHeld})
		return
	}
	b := &breaking{call: o.ID, missing: len(m.parts), note: protocol.Broke{Name: lock.SpaceLock, Token: token, Reason: o.Query.Reason}}
	for _, p := range m.parts {
		grant, _ := p.shard.Replica().Table().Suspension()
		op := replica.Op{Kind: replica.Break, Name: lock.SpaceLock, Token: grant.Token, Reason: o.Query.Reason}
		if err := m.submit(p, op, &work{breaking: b}); err != nil {
			b.failed = err
			m.endBreaking(b, out)
		}
	}
}

// suspensions shows those of a space of several shards as this member's copies have them. Who suspends all shards holds it, under
// the token of the last one; who suspends some waits. All of them are in the first shard, in their order.
func (m *Machine) suspensions() lock.Lock {
	first, last := m.suspensionsOf(m.parts[0]), m.suspensionsOf(m.parts[len(m.parts)-1])
	l := lock.Lock{Name: lock.SpaceLock, Mode: first.Mode, History: last.History}
	for _, g := range last.Holders {
		revoked, all := m.suspendsAll(&g)
		if all {
			g.Revoked = revoked
			l.Mode, l.Token, l.Holders = g.Mode, g.Token, append(l.Holders, g)
		}
	}
	for _, g := range first.Holders {
		if slices.ContainsFunc(l.Holders, func(h lock.Grant) bool { return h.Session == g.Session && h.Owner == g.Owner }) {
			continue
		}
		waits := lock.Wait{Session: g.Session, Owner: g.Owner, Client: g.Client, Reason: g.Reason, Mode: g.Mode, Since: g.Since, Until: lock.Never}
		l.Waiters = append(l.Waiters, slices.Repeat([]lock.Wait{waits}, g.Holds)...)
	}
	l.Waiters = append(l.Waiters, first.Waiters...)
	return l
}

func (m *Machine) suspensionsOf(p *part) lock.Lock {
	return m.shown(p, p.shard.Replica().Table().Show(lock.SpaceLock))
}

// suspendsAll reports whether who suspends the last shard suspends all, and whether it is to end in one.
func (m *Machine) suspendsAll(g *lock.Grant) (revoked, all bool) {
	for _, p := range m.parts {
		of, is := p.shard.Replica().Table().Suspension()
		if !is || m.localOf(of.Session) != g.Session || of.Owner != g.Owner {
			return false, false
		}
		revoked = revoked || of.Revoked
	}
	return revoked, true
}

// breaking is the end of a suspension of several shards, while they are told.
type breaking struct {
	call    protocol.CallID
	missing int
	note    protocol.Broke
	grants  []lock.Grant // of the last shard
	failed  error
}

// brokenPiece goes on when a shard has told the session that suspends it to stop.
func (m *Machine) brokenPiece(p *part, b *breaking, result *shard.Result, out *protocol.Effects) {
	switch {
	case result.Repeated:
		b.failed = cmp.Or(b.failed, errRepeated())
	case errors.Is(result.Err, holdfast.ErrNotHeld):
		// It has ended there meanwhile.
	case result.Err != nil:
		b.failed = cmp.Or(b.failed, result.Err)
	case p == m.parts[len(m.parts)-1]:
		b.grants = result.Broken
	}
	m.endBreaking(b, out)
}

// endBreaking answers a Break of a suspension when all shards have.
func (m *Machine) endBreaking(b *breaking, out *protocol.Effects) {
	if b.missing--; b.missing > 0 {
		return
	}
	switch {
	case b.failed != nil:
		out.Reply(b.call, &protocol.Unanswered{Err: b.failed})
	case len(b.grants) == 0:
		out.Reply(b.call, &protocol.Broken{Err: holdfast.ErrNotHeld})
	default:
		out.Note(b.note)
		out.Reply(b.call, &protocol.Broken{Grants: m.shownGrants(m.parts[len(m.parts)-1], b.grants)})
	}
}
