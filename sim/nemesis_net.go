package sim

import (
	"fmt"
	"time"
)

// The ways in which a network breaks.

// length chooses how long a cut lasts.
func (n *nemesis) length() time.Duration {
	w := n.world
	return w.length("length", time.Second, func() time.Duration {
		if w.rand.IntN(3) == 0 {
			return w.rand.between(200*time.Millisecond, 2*time.Second)
		}
		return w.rand.between(time.Second, 5*w.settings.lease)
	})
}

// cut loses the messages from one place to another for a while.
func (n *nemesis) cut(from, to int, until instant) {
	if from != to {
		at := &n.world.network.cut[from][to]
		*at = max(*at, until)
	}
}

// partition cuts the members into halves, isolates one (mostly the coordinator), leaves it one loyal member, makes a
// ring in which each reaches only its neighbours, or lets one member swing between two halves.
func (n *nemesis) partition() {
	w := n.world
	members := w.settings.members
	if members < 2 {
		return
	}
	w.hit(Partition)
	until := w.now + n.length()
	side := make([]int, members)
	one := n.one()
	switch shapes[w.among("shape", 1, shapes[:])] {
	case "halves":
		n.halve(side)
	case "swing":
		n.swing(1 + w.number("more-swings", 4))
		return
	case "alone":
		side[one] = 1
	case "two":
		side[one], side[(one+1)%members] = 1, 1
	default:
		n.ring(until)
		return
	}
	n.divide(side, until)
	n.cutClients(side, until)
}

// The shapes of a partition, and of a one-way cut.
var (
	shapes  = [...]string{"halves", "alone", "two", "ring", "swing"}
	oneWays = [...]string{"is-not-heard", "hears-none", "is-not-heard-by-some"}
)

// one chooses a member: often the coordinator.
func (n *nemesis) one() int {
	w := n.world
	one := int(n.member("member").place)
	if m := w.coordinator(); m != nil && w.oneIn("coordinator", 2) {
		return int(m.place)
	}
	return one
}

// halve chooses a side for each member; by default the first.
func (n *nemesis) halve(side []int) {
	w := n.world
	for i := range side {
		if w.butOneIn(about(w, "other-side", w.members[i].name), 2) {
			side[i] = 1
		}
	}
}

// about is the name of a choice about one participant, if names matter.
func about(w *world, site, participant string) string {
	if w.tape == nil {
		return site
	}
	return site + "." + participant
}

// divide cuts every member off from those of the other side.
func (n *nemesis) divide(side []int, until instant) {
	n.world.trace("the network comes apart: %v for %v", side, until-n.world.now)
	n.world.reporter.partitioned(side, until)
	for i := range side {
		for j := range side {
			if side[i] != side[j] {
				n.cut(i, j, until)
			}
		}
	}
}

// swing splits the members into two halves, and connects one member to each half in turn. Both halves need this member,
// which must remember its promises. In runs with crashes it may crash in between.
func (n *nemesis) swing(times int) {
	w := n.world
	side := make([]int, w.settings.members)
	n.halve(side)
	one := int(n.member("swings").place)
	s := w.scope()
	var turn func(int)
	turn = func(left int) {
		if left == 0 || w.healed {
			return
		}
		w.goOn(s)
		length := w.between("turn", 200*time.Millisecond, 3*time.Second)
		n.divide(side, w.now+length)
		w.do(w.now+length, func() {
			w.goOn(s)
			if m := w.members[one]; m.up && w.settings.faults.Has(Crash) && w.oneIn("crashes", 2) {
				w.hit(Crash)
				n.fell(m)
				w.do(w.now+w.between("down", 5*time.Millisecond, 100*time.Millisecond), m.start)
			}
			side[one] = 1 - side[one]
			turn(left - 1)
		})
	}
	turn(2 * times)
}

// cutClients lets each client reach the members of one side only.
func (n *nemesis) cutClients(side []int, until instant) {
	w := n.world
	s := w.scope()
	for i, c := range w.clients {
		w.goOn(s)
		if !w.butOneIn(about(w, "parted", c.name), 2) {
			continue // it reaches both sides
		}
		mine := side[n.member(about(w, "beside", c.name)).place]
		for j, s := range side {
			if s == mine {
				continue
			}
			n.cutOff[i*len(side)+j] = until
			for _, l := range w.links {
				if l.client == c && l.member == w.members[j] {
					l.sever(neither)
				}
			}
		}
	}
}

// severed reports whether a client cannot reach a member now.
func (w *world) severed(c *client, m *process) bool {
	return w.nemesis.cutOff[int(c.number)*len(w.members)+int(m.place)] > w.now
}

func (n *nemesis) ring(until instant) {
	w := n.world
	members := w.settings.members
	w.befall(Partition, until, nil, "the network becomes a ring for %v", until-w.now)
	for i := range members {
		for j := range members {
			if d := (i - j + members) % members; d != 0 && d != 1 && d != members-1 {
				n.cut(i, j, until)
			}
		}
	}
}

// oneWay loses the messages from one member, or to one member, or both between two.
func (n *nemesis) oneWay() {
	w := n.world
	members := w.settings.members
	if members < 2 {
		return
	}
	w.hit(OneWay)
	until := w.now + n.length()
	one := n.one()
	shape := w.among("shape", 0, oneWays[:])
	w.befall(OneWay, until, []string{w.members[one].name}, "%s is cut one way (%d) for %v", w.members[one], shape, until-w.now)
	for other := range members {
		switch shape {
		case 0:
			n.cut(one, other, until)
		case 1:
			n.cut(other, one, until)
		default:
			if w.oneIn(about(w, "not", w.members[other].name), 2) {
				n.cut(one, other, until)
			}
		}
	}
}

// disconnect breaks clients' connections repeatedly, in runs in which messages may be lost or delayed.
func (n *nemesis) disconnect(after time.Duration) {
	w := n.world
	if w.settings.faults&(1<<Loss|1<<Partition|1<<OneWay) == 0 {
		return
	}
	at := n.when(disconnects, w.now+after)
	s := w.scope()
	w.do(at, func() {
		if w.healed {
			return
		}
		w.goOn(s)
		n.breakOne()
		n.disconnect(w.rand.below(12 * time.Second))
	})
}

// link is the name of a link among all: a client may have two to one member.
func (n *nemesis) link(i int) string {
	before := 1
	for _, l := range n.world.links[:i] {
		if l.client == n.world.links[i].client && l.member == n.world.links[i].member {
			before++
		}
	}
	if before == 1 {
		return n.world.links[i].String()
	}
	return fmt.Sprintf("%s/%d", n.world.links[i], before)
}

// breakOne breaks one connection.
func (n *nemesis) breakOne() {
	w := n.world
	w.forgetLinks()
	if len(w.links) > 0 {
		l := w.links[w.choose("link", len(w.links), n.link)]
		w.trace("the connection of %s to %s breaks", l.client, l.member)
		w.reporter.disconnected(l)
		l.sever(neither)
	}
}
