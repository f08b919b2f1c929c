package consensus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// suspensions returns those of a space of several shards from this member's copies. A session that suspends all shards
// holds the suspension, under the token of the last one; a session that suspends some waits. All of them are in the
// first shard, in order.
func (m *Machine) suspensions() lock.Lock {
	first, last := m.suspensionsOf(m.parts[0]), m.suspensionsOf(m.parts[len(m.parts)-1])
	l := lock.Lock{Name: lock.SpaceLock, Shape: holdfast.Shape{Mode: first.Mode}, History: last.History}
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
		waits := lock.Wait{Session: g.Session, Attributes: g.Attributes, Client: g.Client, Since: g.Since, Until: lock.Never}
		l.Waiters = append(l.Waiters, slices.Repeat([]lock.Wait{waits}, g.Holds)...)
	}
	l.Waiters = append(l.Waiters, first.Waiters...)
	return l
}

func (m *Machine) suspensionsOf(p *part) lock.Lock {
	return m.shown(p, p.shard.Replica().Table().Show(lock.SpaceLock))
}

// suspendsAll reports whether the session that suspends the last shard suspends all, and whether the suspension is to
// end in one.
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

// breaking is a Break in progress at its shards: the one that has the name, or all suspended ones.
type breaking struct {
	call    protocol.CallID
	note    protocol.Broke
	missing int
	last    *part        // of those shards
	grants  []lock.Grant // of that one
	failed  error
}

// breakIn has shards notify the holders of a name to stop.
func (m *Machine) breakIn(call protocol.CallID, f *protocol.Break, parts []*part, out *protocol.Effects) {
	for _, p := range parts {
		if err := p.endsByItself(f.Name); err != nil {
			out.Reply(call, &protocol.Broken{Err: err})
			return
		}
	}
	suspended := len(parts) > 1
	if suspended {
		if l := m.suspensions(); len(l.Holders) == 0 || f.Token != 0 && f.Token != l.Token {
			out.Reply(call, &protocol.Broken{Err: holdfast.ErrNotHeld})
			return
		}
	}
	b := &breaking{call: call, note: protocol.Broke(*f), missing: len(parts), last: parts[len(parts)-1]}
	for _, p := range parts {
		op := replica.Op{Kind: replica.Break, Name: f.Name, Token: f.Token, Attributes: holdfast.Attributes{Reason: f.Reason}}
		if suspended {
			grant, _ := p.shard.Replica().Table().Suspension()
			op.Token = grant.Token
		}
		if err := m.submit(p, op, &work{breaking: b}); err != nil {
			b.failed = err
			m.endBreaking(b, out)
		}
	}
}

// broken continues when a shard has notified the holders to stop.
func (m *Machine) broken(p *part, b *breaking, result *shard.Result, out *protocol.Effects) {
	switch {
	case result.Repeated:
		// It was done where this member could not see it, and a repetition might hit another client.
		b.failed = cmp.Or(b.failed, errRepeated())
	case errors.Is(result.Err, holdfast.ErrNotHeld):
		// None holds it there, or it has ended meanwhile.
	case result.Err != nil:
		b.failed = cmp.Or(b.failed, result.Err)
	case p == b.last:
		b.grants = result.Broken
	}
	m.endBreaking(b, out)
}

// errRepeated is why no member knows the effect of a Break.
func errRepeated() error {
	return fmt.Errorf("%w: the lock was broken while this member was behind, and it does not know whose it was", holdfast.ErrUnavailable)
}

// endBreaking answers a Break when all shards have.
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
		out.Reply(b.call, &protocol.Broken{Grants: m.shownGrants(b.last, b.grants)})
	}
}
