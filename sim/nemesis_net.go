package sim

import "time"

// The shapes in which a network comes apart.

// length draws how long a cut lasts.
func (n *nemesis) length() time.Duration {
	w := n.world
	if w.rand.IntN(3) == 0 {
		return w.between(200*time.Millisecond, 2*time.Second)
	}
	return w.between(time.Second, 5*w.settings.lease)
}

// cut lets messages of one place to another be lost for a while.
func (n *nemesis) cut(from, to int, until instant) {
	if from != to {
		at := &n.world.network.cut[from][to]
		*at = max(*at, until)
	}
}

// partition cuts the members into halves, isolates one (mostly whoever coordinates),
// leaves it one loyal member, makes a ring in which each reaches its neighbours only,
// or lets one member swing between two halves.
func (n *nemesis) partition() {
	w := n.world
	members := w.settings.members
	if members < 2 {
		return
	}
	w.hit(Partition)
	until := w.now + n.length()
	side := make([]int, members)
	one := w.rand.IntN(members)
	if m := w.coordinator(); m != nil && w.rand.IntN(2) == 0 {
		one = int(m.place)
	}
	switch w.rand.IntN(5) {
	case 0:
		for i := range side {
			side[i] = w.rand.IntN(2)
		}
	case 4:
		n.swing(1 + w.rand.IntN(4))
		return
	case 1:
		side[one] = 1
	case 2:
		side[one], side[(one+1)%members] = 1, 1
	default:
		n.ring(until)
		return
	}
	n.divide(side, until)
	n.part(side, until)
}

// divide cuts every member off those of the other side.
func (n *nemesis) divide(side []int, until instant) {
	n.world.trace("the network comes apart: %v for %v", side, until-n.world.now)
	for i := range side {
		for j := range side {
			if side[i] != side[j] {
				n.cut(i, j, until)
			}
		}
	}
}

// swing parts the members into two halves, and lets one member be with one of them,
// then with the other, and so on: whoever both need remembers what it has promised, or
// does not. Where the run has crashes, it may crash in between.
func (n *nemesis) swing(times int) {
	w := n.world
	side := make([]int, w.settings.members)
	for i := range side {
		side[i] = w.rand.IntN(2)
	}
	one := w.rand.IntN(len(side))
	var turn func(int)
	turn = func(left int) {
		if left == 0 || w.healed {
			return
		}
		length := w.between(200*time.Millisecond, 3*time.Second)
		n.divide(side, w.now+length)
		w.do(w.now+length, func() {
			if m := w.members[one]; m.up && w.settings.faults.Has(Crash) && w.rand.IntN(2) == 0 {
				w.hit(Crash)
				n.fell(m)
				w.do(w.now+w.between(5*time.Millisecond, 100*time.Millisecond), m.start)
			}
			side[one] = 1 - side[one]
			turn(left - 1)
		})
	}
	turn(2 * times)
}

// part lets each client reach the members of one side only.
func (n *nemesis) part(side []int, until instant) {
	w := n.world
	for i, c := range w.clients {
		if w.rand.IntN(2) == 0 {
			continue // it reaches both sides
		}
		mine := side[w.rand.IntN(len(side))]
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
func (w *world) severed(c *client, m *member) bool {
	return w.nemesis.cutOff[int(c.number)*len(w.members)+int(m.place)] > w.now
}

func (n *nemesis) ring(until instant) {
	w := n.world
	members := w.settings.members
	w.trace("the network becomes a ring for %v", until-w.now)
	for i := range members {
		for j := range members {
			if d := (i - j + members) % members; d != 0 && d != 1 && d != members-1 {
				n.cut(i, j, until)
			}
		}
	}
}

// oneWay loses what one member sends, or what is sent to it, or both between two.
func (n *nemesis) oneWay() {
	w := n.world
	members := w.settings.members
	if members < 2 {
		return
	}
	w.hit(OneWay)
	until := w.now + n.length()
	one := w.rand.IntN(members)
	if m := w.coordinator(); m != nil && w.rand.IntN(2) == 0 {
		one = int(m.place)
	}
	shape := w.rand.IntN(3)
	w.trace("%s is cut one way (%d) for %v", w.members[one], shape, until-w.now)
	for other := range members {
		switch shape {
		case 0:
			n.cut(one, other, until)
		case 1:
			n.cut(other, one, until)
		default:
			if w.rand.IntN(2) == 0 {
				n.cut(one, other, until)
			}
		}
	}
}

// disconnect breaks connections of clients, again and again, where messages may be
// lost or delayed at all.
func (n *nemesis) disconnect() {
	w := n.world
	if w.healed || w.settings.faults&(1<<Loss|1<<Partition|1<<OneWay) == 0 {
		return
	}
	w.forgetLinks()
	if len(w.links) > 0 {
		l := pick(w.rand, w.links)
		w.trace("the connection of %s to %s breaks", l.client, l.member)
		l.sever(neither)
	}
	w.do(w.now+w.below(12*time.Second), n.disconnect)
}
