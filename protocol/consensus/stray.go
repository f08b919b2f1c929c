package consensus

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// The coordinator drops the members that it does not hear. A dropped member may still lead a shard, if others hear it:
// then the coordinator, and any other member that does not hear it, have no leader, and no member carries messages. A
// voter of the view therefore asks a leader that has no place in it to hand over to it. The view then has a majority of
// the voters, and its coordinator hears them.

// patienceOfStray is how many election timeouts a leader may be outside the view: a briefly dropped one comes back.
const patienceOfStray = 3

// stray checks whether a shard's leader has a place in the view, and checks again when it has had none for long enough.
func (m *Machine) stray(p *part) {
	if !m.isStray(p) {
		p.strayed = 0
		return
	}
	if p.strayed != 0 {
		return
	}
	p.strayed = max(1, m.now)
	m.reminders.Push(m.strayEnd(p), due{what: dueStray, number: uint64(p.index)})
}

// isStray reports whether the leader of a shard is another member without a place in the view, though the view has a
// majority of the voters, including this member.
func (m *Machine) isStray(p *part) bool {
	if m.view == nil || p.shard == nil || p.leader == 0 || m.leaving || m.leads(p) || m.isHere(protocol.ID(p.leader)) {
		return false
	}
	here := m.votersHere(p)
	return slices.Contains(here, m.config.Self) && len(here) > len(p.shard.Members().Voters)/2
}

// votersHere are a shard's voters that are in the view, in the order of the view.
func (m *Machine) votersHere(p *part) (ids []protocol.ID) {
	voters := p.shard.Members().Voters
	for i := range m.view.Members {
		if id := m.view.Members[i].ID; slices.Contains(voters, uint64(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// strayEnd returns when this member asks a stray leader to hand over: the members of the view take turns.
func (m *Machine) strayEnd(p *part) protocol.Time {
	turn := slices.Index(m.votersHere(p), m.config.Self)
	return p.strayed + protocol.Time(patienceOfStray+turn)*m.election()
}

// relieve asks a leader that is outside of the view to let this member lead.
func (m *Machine) relieve(p *part, out *protocol.Effects) {
	switch {
	case p.strayed == 0:
		return
	case !m.isStray(p):
		p.strayed = 0
		return
	case m.now >= m.strayEnd(p) && !protocol.Mutated("a leader outside of the view is relieved"):
		out.Note(Relieved{m.config.Space, p.index, m.nameOf(protocol.ID(p.leader))})
		out.Send(protocol.ID(p.leader), m.envelope(p, TransferLeader{To: m.config.Self}))
	}
	m.reminders.Push(max(m.strayEnd(p), m.now+m.election()), due{what: dueStray, number: uint64(p.index)})
}

// Relieved notes that this member asks to lead a shard that a member leads which has no place in the view.
type Relieved struct {
	Space string
	Shard int
	From  string
}

func (n Relieved) String() string {
	return fmt.Sprintf("shard %d is led by %s, which has no place in the view; this member asks it to hand over", n.Shard, n.From)
}

// Log names the member and the shard.
func (n Relieved) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, "a member leads a shard and has no place in the view: this one asks it to hand over", []any{
		"space", n.Space, "shard", n.Shard, "member", n.From,
	}
}
