package consensus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// leaders returns the deciding members, each once.
func (m *Machine) leaders() (ids []protocol.ID) {
	for _, p := range m.parts {
		if p.leader != 0 && !slices.Contains(ids, protocol.ID(p.leader)) {
			ids = append(ids, protocol.ID(p.leader))
		}
	}
	slices.Sort(ids)
	return ids
}

// condition returns the space's condition, as this member sees it.
func (m *Machine) condition() *protocol.Condition {
	c := &protocol.Condition{
		State: protocol.Unavailable, Until: protocol.Never, Class: holdfast.Fenced, Closed: m.instance.Closed(), Authority: m.leaders(),
	}
	c.Why = m.trouble()
	for _, p := range m.parts {
		if p.shard == nil {
			continue
		}
		copied := p.shard.Replica()
		table := copied.Table()
		c.Reign = max(c.Reign, copied.Reign())
		c.Locks, c.Waiters, c.Sessions = c.Locks+table.Names(), c.Waiters+table.Waiters(), c.Sessions+table.Sessions()
	}
	suspended, suspending := m.countSuspensions(c)
	switch {
	case c.Why != "":
	case suspended:
		c.State = protocol.Suspended
	default:
		c.State = protocol.Ready
		if suspending {
			c.Why = "a suspension waits until nothing is held; nothing new is granted meanwhile"
		}
	}
	return c
}

// countSuspensions reports whether the space is suspended, which takes all shards, and whether a suspension waits. It
// corrects the shards' counts so that a suspension counts once.
func (m *Machine) countSuspensions(c *protocol.Condition) (suspended, suspending bool) {
	if !m.hasBegun() {
		return false, false
	}
	if len(m.parts) == 1 {
		table := m.parts[0].shard.Replica().Table()
		_, suspended = table.Suspension()
		return suspended, table.Suspending() > 0
	}
	all := m.suspensions()
	live := 0
	for _, p := range m.parts {
		table := p.shard.Replica().Table()
		if _, is := table.Suspension(); is || table.Suspending() > 0 {
			live++
		}
		c.Waiters -= table.Suspending()
	}
	c.Waiters += len(all.Waiters)
	return len(all.Holders) > 0, live > 0
}

// trouble returns why nothing is decided as far as this member knows; "" if something is.
func (m *Machine) trouble() string {
	switch {
	case m.failed != nil:
		return fmt.Sprintf("this member's part has ended: %v", m.failed)
	case m.foreign != 0 && m.leaderless() >= 0:
		return fmt.Sprintf("this member's log is of cluster %x, and others are of cluster %x: their logs began with other members. Its folder is not the one that it began with; give that back, or let it join as a new member", m.cluster, m.foreign)
	}
	for _, p := range m.parts {
		if p.shard == nil {
			if m.config.Founders == 1 {
				return "the log is about to begin"
			}
			return fmt.Sprintf("the log has not begun: that takes all %d voters at once", m.config.Founders)
		}
	}
	if at := m.leaderless(); at >= 0 {
		voters := m.parts[at].shard.Members().Voters
		if len(voters) == 0 {
			return "this member has no part in the space yet: in a view it passes clients on to members that have one; holdfast member add gives it a part"
		}
		if m.removed() {
			return "this member was removed from the space: add it again with holdfast member add, or switch it off"
		}
		if lacks := m.parts[at].lacks; lacks != nil {
			return fmt.Sprintf("the log of shard %d ends at entry %d here, and another member knows that this one has had entry %d: its folder is an older copy of the one that it had, or its disk has lost what it had written. Remove this member from the space, and let it join as a new one, with a new folder", at, lacks.Has, lacks.Committed)
		}
		if why := m.lacksVoters(at, voters); why != "" {
			return why
		}
		return fmt.Sprintf("no leader is known of shard %d; that takes %d of %d voters", at, len(voters)/2+1, len(voters)) + m.unheard(m.parts[at], voters)
	}
	if m.view == nil {
		return "this member is in no view yet, and takes no clients before it is"
	}
	return ""
}

// lacksVoters returns an error text if the view has no majority of a shard's voters, with the fix; "" if it has one, or
// there is no view.
func (m *Machine) lacksVoters(at int, voters []uint64) string {
	if m.view == nil {
		return ""
	}
	var away []string
	for _, id := range voters {
		if _, listed := m.view.Of(protocol.ID(id)); !listed {
			away = append(away, m.nameOf(protocol.ID(id)))
		}
	}
	if here := len(voters) - len(away); here <= len(voters)/2 {
		return fmt.Sprintf("shard %d needs %d of its %d voters, and the view has %d: start %s again with their data folders. "+
			"If those are lost for good, begin a new cluster with a snapshot (holdfast snapshot restore)",
			at, len(voters)/2+1, len(voters), here, strings.Join(away, " and "))
	}
	return ""
}

// unheard names the voters that are silent; "" if none is known to be. This member knows since when the lost leader is
// silent, and, if it was leader itself, since when all are: they were heard all the time. The others would have sent
// something within an election timeout. Without a view, so without names, it returns nothing: the member's status says
// who is missing.
func (m *Machine) unheard(p *part, voters []uint64) string {
	if m.view == nil {
		return ""
	}
	var silent []string
	for _, id := range voters {
		heard := m.heard[protocol.ID(id)]
		followed := id == p.former || uint64(m.config.Self) == p.former
		switch {
		case id == uint64(m.config.Self) || m.now < heard+m.election():
		case followed && heard > 0:
			silent = append(silent, fmt.Sprintf("%s (silent for %v)", m.nameOf(protocol.ID(id)), (m.now-heard).Truncate(100*time.Millisecond)))
		case m.now >= p.turned+m.election():
			silent = append(silent, m.nameOf(protocol.ID(id)))
		}
	}
	switch len(silent) {
	case 0:
		return ""
	case 1:
		return ": " + silent[0] + " is missing"
	}
	return ": " + protocol.JoinNames(silent) + " are missing"
}

// Nonmember reports whether this member has no part in the space as far as it knows: it was not added yet, or was removed. It serves
// no client then.
func (m *Machine) Nonmember() bool {
	return m.removed() || !m.config.Founder && slices.ContainsFunc(m.parts, func(p *part) bool { return p.shard == nil || len(p.shard.Members().Voters) == 0 })
}

// removed reports whether this member no longer has a role in some shard, according to its own log, or the leader if
// the log does not have that. It then serves no clients: it receives no decisions.
func (m *Machine) removed() bool {
	return slices.ContainsFunc(m.parts, func(p *part) bool {
		if p.shard == nil {
			return false
		}
		conf := p.shard.Members()
		return p.nonmember && p.leader == 0 || len(conf.Voters) > 0 && roleOf(&conf, m.config.Self) == protocol.Nonmember && !slices.Contains(conf.Outgoing, uint64(m.config.Self))
	})
}

// errRemoved is why a removed member does not serve clients.
var errRemoved = fmt.Errorf("%w: this member was removed from the space", holdfast.ErrUnavailable)

// leaderless returns the first shard without a known leader, or -1.
func (m *Machine) leaderless() int {
	return slices.IndexFunc(m.parts, func(p *part) bool { return p.leader == 0 })
}
