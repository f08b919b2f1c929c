package sim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Where members vote on a space's decisions, operators change the voters in a third of the runs with operators: a
// member is removed, added again, and gets its vote back. In two thirds of those, the others also remove a member that
// is silent for too long. When everything is healed operators restore all votes, because users must be served through
// each member. So nothing stays broken in such a run (core.go): the sufficient members would depend on the voters. In
// runs that must heal a core first no operator changes voters.

// voted counts a leader's report about the voters.
func (w *world) voted(note protocol.Note) {
	for i := range w.protocol.Votes {
		if row := &w.protocol.Votes[i]; row.Is(note) {
			w.count.hits[mark{"vote", row.Name}]++
		}
	}
}

// drawReforms draws whether and how often operators change the voters, and how long a member may be silent.
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

// roles are the roles that a member gets, each repeated by its odds.
var roles = [...]string{"nonmember", "nonmember", "learner", "learner", "voter"}

// reform makes an operator change the role of a member. A member that is to be a learner is first removed, and added
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

// reform makes an operator ask a member to change the role of another one, or its own.
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

// lateReforms is how long after the last fault an earlier request of operators may still take effect: a message may
// take as long as five leases, and an election over slow links as long as three.
const lateReforms = 45 * time.Second

// reinstate is called when everything is healed: operators ask repeatedly, until each member knows that all vote, and
// no earlier request can take effect any more.
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

// unelected finds a member that lacks a vote, to the knowledge of a member that takes part itself, and its next role.
func (w *world) unelected() (through, about *process, as protocol.Role) {
	for _, m := range w.members {
		for _, s := range m.shards() {
			if s.Leader == 0 {
				continue // it may not take part there, and know nothing
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

// allVote reports whether all members know that all have a vote.
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

// shards returns the voters to a member's knowledge; nothing if it is not running.
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

// roleIn returns the role of a member in a shard.
func roleIn(s *protocol.Shard, id protocol.ID) protocol.Role {
	switch {
	case slices.Contains(s.Voters, id):
		return protocol.Voter
	case slices.Contains(s.Learners, id):
		return protocol.Learner
	}
	return protocol.Nonmember
}
