package sim

import (
	"fmt"
	"time"
)

// Where leaders number tickets, a twelfth of the runs with lost messages have one more client, the crowd. Once, near
// the end of the faults, it asks for thousands of names at the same time. The first envelopes from its member to
// another one are then lost, so that link is behind by more envelopes than it resends at a time. The link catches up:
// all requests of the burst are answered within 30 s of the last fault (P4). Where members are far from each other this
// takes up to burstWays more one-way trips: of tens of thousands of envelopes, the link sends twice as many in each
// round trip.

// burstWays is the maximum number of consecutive one-way trips of a burst over slow links.
const burstWays = 32

// drawBurst draws whether there is a burst, and its size, from its own source of chance.
func (s *settings) drawBurst(c *Config, r dice) {
	drawn, size, before := r.IntN(12) == 0, 1500+r.IntN(3000), r.between(500*time.Millisecond, 3*time.Second)
	if drawn && c.Protocol.LeaderProbe != nil && s.faults.Has(Loss) && s.members > 1 {
		s.crowd, s.burst, s.locksPerSession = size, max(0, s.duration-before), 0
	}
}

// crowd is a client that asks for many names at the same time.
type crowd struct {
	handsBack
	open int // unanswered requests
}

// addCrowd makes the client that asks for many names at the same time.
func (w *world) addCrowd() {
	c := w.addClient("crowd")
	w.crowd = &crowd{handsBack: handsBack{c}}
	c.crowd = w.crowd
}

// burst makes the crowd ask, and loses the first envelopes from its member to another one. A crowd that is not
// connected asks once it is.
func (n *nemesis) burst() {
	w := n.world
	c := w.crowd
	if c == nil {
		return // a script that was edited
	}
	to, lost := n.member("to"), w.between("lost-for", time.Millisecond, 100*time.Millisecond)
	if l := c.client.stream.link; l != nil {
		w.befall(Loss, w.now+lost, []string{l.member.name, to.name}, "%s asks for %d names at once, and what %s sends to %s is lost for %v", c, w.settings.crowd, l.member, to, lost)
		n.cut(int(l.member.place), int(to.place), w.now+lost)
	}
	if !c.client.up || c.client.paused {
		return
	}
	for i := range w.settings.crowd {
		c.open++
		c.client.stream.acquire(w.exclusive(fmt.Sprintf("crowd%d", i)), c)
	}
	c.client.arm()
}

func (c *crowd) granted(r *request) {
	c.open--
	c.handsBack.granted(r)
}

func (c *crowd) failed(r *request, err error) {
	c.open--
	c.handsBack.failed(r, err)
}

// checkBurst checks that a burst is answered in time after healing.
func (w *world) checkBurst(healed instant) {
	c := w.crowd
	if c == nil || c.client.stuck || w.now <= healed+patience+w.slower(burstWays) {
		return
	}
	if c.open > 0 {
		w.judge.violate(liveness, "%d of the %d requests that %s has made at once are not answered %v after the last fault", c.open, w.settings.crowd, c, patience+w.slower(burstWays))
	}
}
