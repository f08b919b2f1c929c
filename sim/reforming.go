package sim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Where members vote on what a space decides, a third of the runs that have operators change who
// does: a member is removed, added again, and gets its vote back. In two thirds of those the others go
// on without one that is silent for too long, too. When everything is healed operators see to it that all
// vote again, because users are to be served through each of them; so nothing stays broken in such
// a run (core.go): which members suffice would depend on who votes. Where a core has to be healed first no operator does it.

// voted counts what a leader says of who votes.
func (w *world) voted(note protocol.Note) {
	for i := range w.protocol.Votes {
		if row := &w.protocol.Votes[i]; row.Is(note) {
			w.count.hits[mark{"vote", row.Name}]++
		}
	}
}

// drawReforms draws whether and how often operators change who votes, and for how long a member may
// be silent.
func (s *settings) drawReforms(c *Config, r dice) {
	drawn, every, pilots := r.IntN(3) == 1, 2*time.Second+r.below(10*time.Second), r.IntN(3) != 0
	silent := time.Second + r.below(4*time.Second)
	if !drawn || s.members == 1 || !s.faults.Has(Operator) || c.Core == CoreFirst || !c.Protocol.hasOption("autopilot") {
		return
	}
	s.reforms = every
	if pilots {
		s.options["autopilot"] = option.Format(silent.Round(time.Millisecond))
	}
}

// roles are what a member is made, each as often as it is drawn.
var roles = [...]string{"nonmember", "nonmember", "learner", "learner", "voter"}

// reform lets an operator make a member something else. Who is to have no vote any more is removed first, and is added
// after a while; a member that was to be a nonmember gets its vote back, too.
func (n *nemesis) reform() {
	w := n.world
	w.hit(Operator)
	through, about := n.member("through"), n.member("about")
	as := roles[w.among("as", 0, roles[:])]
	if as == "voter" {
		through.reform(about, protocol.Voter)
		return
	}
	through.reform(about, protocol.Nonmember)
	steps := []protocol.Role{protocol.Learner, protocol.Voter, protocol.Voter}
	if as == "learner" {
		steps = steps[:1]
	}
	s := w.scope()
	back := w.now + w.between("back", time.Second, 12*time.Second)
	for i, as := range steps {
		w.do(back+time.Duration(i)*time.Second, func() {
			if !w.healed {
				w.goOn(s)
				n.member("through").reform(about, as)
			}
		})
	}
}

// reform lets an operator ask a member to make another one, or this, something else.
func (m *process) reform(about *process, as protocol.Role) {
	w := m.world
	if !m.up || m.paused {
		return
	}
	w.nemesis.reformed = true
	w.befall(Operator, 0, []string{m.name}, "an operator makes %s a %v through %s", about, as, m)
	m.ask(userSpace, &protocol.Reform{Member: about.id, As: as}, func(result any) {
		if answer, is := result.(*protocol.Reformed); is {
			w.trace("%s answers the operator about %s: %v", m, about, answer.Err)
		}
	})
}

// lateReforms is for how long after the last fault something may still come of what operators have asked before: a
// message on its way may take as long as five leases, and an election over slow links as long as three.
const lateReforms = 45 * time.Second

// reinstate is called when everything is healed: operators look again and again, and ask, until all members vote
// to the knowledge of each, and nothing else can come any more.
func (n *nemesis) reinstate() {
	w := n.world
	if !n.reformed && w.settings.known.Autopilot == 0 {
		return
	}
	const pause = 300 * time.Millisecond
	through, about, as := w.unelected()
	if through != nil {
		through.reform(about, as)
	} else if w.now > w.healedAt+lateReforms && w.allVote() {
		return
	}
	w.do(w.now+pause, n.reinstate)
}

// unelected finds a member that does not vote everywhere as far as one knows that takes part itself, and
// what it is to be made next.
func (w *world) unelected() (through, about *process, as protocol.Role) {
	for _, m := range w.members {
		for _, s := range m.shards() {
			if s.Leader == 0 {
				continue // it may take no part there, and know nothing
			}
			for _, other := range w.members {
				if is := roleIn(&s, other.id); is != protocol.Voter {
					return m, other, is + 1
				}
			}
		}
	}
	return nil, nil, 0
}

// allVote reports whether all members know that all vote.
func (w *world) allVote() bool {
	for _, m := range w.members {
		shards := m.shards()
		if len(shards) == 0 {
			return false
		}
		for i := range shards {
			for _, other := range w.members {
				if shards[i].Leader == 0 || roleIn(&shards[i], other.id) != protocol.Voter {
					return false
				}
			}
		}
	}
	return true
}

// shards is who votes as far as a member knows; nothing where it does not run.
func (m *process) shards() []protocol.Shard {
	if !m.up || m.paused {
		return nil
	}
	all, is := m.query(userSpace, &protocol.ListShards{}).(*protocol.Shards)
	if !is {
		return nil
	}
	return all.List
}

// roleIn is what a member is in a shard.
func roleIn(s *protocol.Shard, id protocol.ID) protocol.Role {
	switch {
	case slices.Contains(s.Voters, id):
		return protocol.Voter
	case slices.Contains(s.Learners, id):
		return protocol.Learner
	}
	return protocol.Nonmember
}
