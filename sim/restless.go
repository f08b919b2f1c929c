package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In protocols without locks, half of the runs are restless: members leave and lapse more often, sessions come and go,
// and clients ask for long and short ttls. So the horizon rises and falls all the time, during elections too.

// drawRestless draws whether and how a run is restless.
func (s *settings) drawRestless(c *Config, r *rand.Rand) {
	if c.Protocol.Locks || s.faults == 1<<Crash && s.once || r.IntN(2) == 0 {
		return
	}
	if small := r.IntN(2) == 0; small && c.Members == 0 {
		s.members, s.founders = c.Protocol.Fewest, c.Protocol.Fewest
	}
	s.restless = 100*time.Millisecond + time.Duration(r.Int64N(int64(3*time.Second)))
	if s.modest = r.IntN(4) != 0; s.modest {
		s.ttl = []time.Duration{time.Second, 2 * time.Second, s.lease * 9 / 10}
	}
	for _, f := range []Fault{Crash, Pause, Join, Leave, Drain, Shutdown} {
		if r.IntN(2) == 0 {
			s.every[f] /= 4
		}
	}
}

// appetite chooses a ttl for a client.
func (w *world) appetite() time.Duration {
	s := &w.settings
	return w.length("ttl", s.ttl[0], func() time.Duration {
		if !s.memory.trusted() || s.modest && w.rand.IntN(64) != 0 || w.rand.IntN(2) == 0 {
			return s.ttl[w.rand.IntN(len(s.ttl))]
		}
		return s.lease + w.rand.below(3*s.lease)
	})
}

// stirOne makes a client act restlessly.
func (n *nemesis) stirOne() { n.stir(pick(n.world, "client", n.world.clients)) }

// whims are the acts of a restless client, each repeated by its odds.
var whims = [...]string{"closes", "crashes", "asks", "asks"}

// stir makes a client ask for another ttl, or end its session, in good order or not, and begin another.
func (n *nemesis) stir(c *client) {
	w := n.world
	ttl := w.appetite()
	s := w.scope()
	switch whims[w.among("does", len(whims)-1, whims[:])] {
	case "closes":
		c.close()
		w.goOn(s)
		fallthrough
	case "crashes":
		life := c.life
		w.do(w.now+w.below("after", 500*time.Millisecond), func() {
			if c.life == life {
				c.crash()
				c.ttl = ttl
				w.goOn(s)
				w.do(w.now+w.below("back", time.Second), c.start)
			}
		})
	default:
		c.crave(ttl)
	}
}

// crave makes a client ask for another ttl from its next heartbeat on, as a client that speaks gRPC directly can.
func (c *client) crave(ttl time.Duration) { c.ttl = ttl }

// silence is called before a message is sent. A new election winner may go unheard until others have been elected;
// meanwhile its clients ask it for more, and it may crash, and stay away.
func (n *nemesis) silence(winner *process, message protocol.Message) {
	w := n.world
	first, is := message.(membership.NewView)
	if !is || w.healed || first.View.Installed || first.View.Epoch == n.silent {
		return
	}
	n.silent = first.View.Epoch
	half := len(first.View.Members) == 2 // one of them alone is a quorum of that view
	if w.settings.faults&(1<<OneWay|1<<Partition) == 0 {
		return
	}
	w.tape.begin(winner.name, "victory")
	s := w.scope()
	if !w.whether("silent", func() bool { return w.rand.IntN(4) == 0 || half }) {
		return
	}
	length := w.between("length", 300*time.Millisecond, 4*w.settings.lease)
	w.befall(OneWay, w.now+length, []string{winner.name}, "%s has won, and is not heard for %v", winner, length)
	for place := range w.members {
		n.cut(int(winner.place), place, w.now+length)
	}
	life := winner.life
	w.do(w.now+w.below("tempts", 300*time.Millisecond), func() {
		w.goOn(s)
		n.tempt(winner)
	})
	if w.settings.faults.Has(Crash) && w.oneIn("crashes", 2) {
		w.do(w.now+300*time.Millisecond+w.below("crashes-after", w.settings.lease), func() {
			if winner.life == life && !w.healed {
				n.kill(winner)
			}
		})
	}
}

// tempt makes the clients of a member ask for ttls so long that their belief outlasts the others' election and wait for
// a lease, if enough is remembered for such promises.
func (n *nemesis) tempt(m *process) {
	w := n.world
	for _, c := range w.clients {
		if l := c.stream.link; c.up && l != nil && l.member == m && w.settings.memory.trusted() {
			before, life := c.ttl, c.life
			c.crave(w.between(about(w, "ttl", c.name), 3*w.settings.lease, 6*w.settings.lease))
			w.do(w.now+w.below(about(w, "sated", c.name), w.settings.lease), func() {
				if c.life == life {
					c.ttl = before
				}
			})
		}
	}
}

// tenancy permanently identifies a tenure of a member.
type tenancy struct {
	id     protocol.ID
	tenure protocol.Tenure
}

// checkBacking checks P3 in protocols without locks. The membership knows tenures, not sessions: once a member that may
// grant has a tenure with a lease in its view, it must wait for all promises to the clients of that tenure, because any
// of them may hold. So while a member may grant, such a tenure must be in its view or be waited for, as long as a
// client believes in a session of it. bystander.go defines the sessions that count.
func (w *world) checkBacking(m *process) {
	for _, other := range w.members {
		if at, listed := m.view.Of(other.id); listed && other.leased() && other.view.Lease.Tenure == at.Tenure {
			w.tenures[tenancy{at.ID, at.Tenure}] = true
		}
	}
	for _, c := range w.clients {
		p := c.stream.session
		if !c.up || p == nil || c.stream.machine.Closing() || !holds(p.id) || !p.aliveAt(c.now()) {
			continue
		}
		of := tenancy{protocol.ID(p.id.Member), p.tenure}
		at, listed := m.view.Of(of.id)
		waited := func(d protocol.Dropped) bool { return d.ID == of.id && d.Tenure == of.tenure && d.Free > m.now() }
		if listed && at.Tenure == of.tenure || !w.tenures[of] || slices.ContainsFunc(m.view.Dropped, waited) {
			continue
		}
		w.judge.violate("P3", "%s may grant in view %d of epoch %d (%s), and %s believes in session %v of tenure %v of %s for another %v",
			m, m.view.Number, m.view.Epoch.Counter, w.listed(m.view), c, p.id, p.tenure, w.called(of.id), p.Deadline()-c.now())
	}
}
