package group

import (
	"testing"
	"time"
)

// pair is two members whose journals are done at once, and a network that loses the messages that lost selects.
type pair struct {
	*testing.T
	now    Time
	groups map[uint64]*Group
	lost   func(*Message) bool
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{T: t, groups: map[uint64]*Group{}, lost: func(*Message) bool { return false }}
	for id := uint64(1); id <= 2; id++ {
		g, err := New(Config{Self: id, Election: time.Second, Heartbeat: 100 * time.Millisecond, Random: id}, &Kept{Snapshot: Founding([]uint64{1, 2})}, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.groups[id] = g
	}
	return p
}

// act performs an act at one member, and all its consequences.
func (p *pair) act(id uint64, do func(*Group, *Output)) {
	p.Helper()
	var out Output
	do(p.groups[id], &out)
	for len(out.Writes) > 0 {
		w := out.Writes[0]
		out.Writes = out.Writes[1:]
		p.groups[id].Written(p.now, w.ID, &out)
	}
	for _, m := range out.Messages {
		if to := p.groups[m.To]; to != nil && !p.lost(&m) {
			p.act(m.To, func(g *Group, out *Output) { _ = g.Hear(p.now, &m, out) }) // a message of a removed member does not count
		}
	}
}

// await lets time pass until a condition holds.
func (p *pair) await(what string, so func() bool) {
	p.Helper()
	for range 1000 {
		if so() {
			return
		}
		p.now += 50 * time.Millisecond
		for id := uint64(1); id <= 2; id++ {
			if p.groups[id].Wake() <= p.now {
				p.act(id, func(g *Group, out *Output) { g.Tick(p.now, out) })
			}
		}
	}
	p.Fatalf("%s is not so", what)
}

// TestLeavingLeader checks the removal of one of two members, which becomes leader before it has heard of that. It
// reports this while it is possible, and the other one continues alone, for which it needs the vote of the removed one.
func TestLeavingLeader(t *testing.T) {
	p := newPair(t)
	p.await("that one leads", func() bool { return p.groups[1].Leading() || p.groups[2].Leading() })
	remaining := uint64(1)
	if p.groups[2].Leading() {
		remaining = 2
	}
	goes := 3 - remaining
	if p.groups[remaining].Leaving() {
		t.Error("the leader counts as leaving, and no member has been changed")
	}
	p.lost = func(m *Message) bool { return m.From == goes } // the confirmation that it has the entry is lost
	p.act(remaining, func(g *Group, out *Output) {
		if err := g.Change(p.now, []uint64{remaining}, nil, out); err != nil {
			t.Fatal(err)
		}
	})
	p.lost = func(m *Message) bool { return true }
	p.await("that no member leads", func() bool { return !p.groups[remaining].Leading() })
	p.lost = func(m *Message) bool {
		return m.From == remaining && m.RequestsVote() || m.From == goes && len(m.Entries) > 0
	}
	p.await("that who goes leads", func() bool { return p.groups[goes].Leading() })
	if !p.groups[goes].Leaving() {
		t.Error("who is about to go leads, and does not say that it is leaving")
	}
	p.lost = func(*Message) bool { return false }
	p.await("that who stays leads alone", func() bool {
		return p.groups[remaining].Leading() && len(p.groups[remaining].Members().Voters) == 1 && !p.groups[remaining].Changing()
	})
	if p.groups[remaining].Leaving() || p.groups[goes].Leading() {
		t.Error("who stays is leaving, or who has gone leads")
	}
}
