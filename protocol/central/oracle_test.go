package central_test

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// oracle is an omniscient membership: it gives views and leases as package membership may, at random moments.
type oracle struct {
	w       *world
	epoch   uint64
	number  uint64
	order   []*citizen // the view, in order of seniority
	dropped []dropped
	from    time.Duration // true time from which the coordinator may grant
	calm    bool          // no more faults
	// electing reports that promises are being gathered.
	electing bool
}

type dropped struct {
	id     protocol.ID
	tenure protocol.Tenure
	free   time.Duration // true time; Never while unknown
}

// margin is how much longer than necessary the oracle waits: a lease's drift.
const margin = term / 10

func (o *oracle) draw(d time.Duration) time.Duration { return time.Duration(o.w.rand.Int64N(int64(d))) }

// begin elects the first view.
func (o *oracle) begin() {
	o.order = slices.Clone(o.w.members)
	o.elect(o.w.now)
	o.next()
}

// next schedules an event of the members after a while.
func (o *oracle) next() {
	o.w.after(time.Second+o.draw(6*time.Second), func() {
		if o.calm {
			return
		}
		switch o.w.rand.IntN(5) {
		case 0:
			o.change()
		case 1:
			o.crash(o.order[0])
		case 2:
			o.crash(o.order[o.w.rand.IntN(len(o.order))])
		case 3:
			o.lapse()
		case 4:
			o.miss()
		}
		o.next()
	})
}

// elect begins an epoch: all members in the order promise, the missing ones' power is over at the true time until, and
// all accept the view.
func (o *oracle) elect(until time.Duration) {
	o.epoch++
	epoch := o.epoch
	o.electing, o.from = true, until
	for _, c := range o.order {
		o.w.after(o.draw(200*time.Millisecond), func() {
			if o.epoch != epoch || c.down {
				return
			}
			c.lease.Promised = epoch
			c.step(protocol.Event{Kind: protocol.Raised, Fact: &protocol.Halted{Promised: epoch}})
		})
	}
	o.w.after(200*time.Millisecond, func() {
		if o.epoch != epoch {
			return
		}
		o.electing, o.from = false, max(until, o.w.now)
		for _, c := range o.order {
			if !c.down {
				// The lease that it had promised under, unless it carries something older.
				c.lease.Carried = min(c.lease.Carried, c.clock(o.w.now+term))
				o.carry(c, epoch)
			}
		}
		o.publish()
	})
}

// carry lets a lapse follow if no confirmation has come.
func (o *oracle) carry(c *citizen, epoch uint64) {
	life := c.life
	o.w.after(term, func() {
		if c.life == life && !c.down && o.epoch == epoch {
			c.step(protocol.Event{Kind: protocol.Tick})
		}
	})
}

// publish raises the newest view at all its members, each at a different moment.
func (o *oracle) publish() { o.publishWithin(150 * time.Millisecond) }

func (o *oracle) publishWithin(most time.Duration) {
	if o.electing {
		return // the view of the election comes
	}
	o.number++
	number, epoch := o.number, o.epoch
	for _, c := range o.order {
		o.w.after(o.draw(most), func() {
			if o.number == number && o.epoch == epoch && !c.down {
				c.step(protocol.Event{Kind: protocol.Raised, Fact: o.view(c)})
			}
		})
	}
}

func (o *oracle) view(c *citizen) *protocol.View {
	v := &protocol.View{
		Number: o.number, Epoch: protocol.Epoch{Counter: o.epoch, Candidate: o.order[0].id}, Coordinator: o.order[0].id,
		Installed: true, Open: true, GrantFrom: c.clock(o.from) + 1, Lease: c.lease,
	}
	for _, member := range o.order {
		v.Members = append(v.Members, protocol.Member{ID: member.id, Tenure: member.lease.Tenure})
	}
	for _, d := range o.dropped {
		free := protocol.Never
		if d.free != protocol.Never {
			free = c.clock(d.free) + 1
		}
		v.Dropped = append(v.Dropped, protocol.Dropped{ID: d.id, Tenure: d.tenure, Free: free})
	}
	return v
}

// raised takes a space's fact for the membership.
func (o *oracle) raised(c *citizen, fact any) {
	if confirmed, ok := fact.(*protocol.Confirmed); ok && confirmed.Epoch == o.epoch {
		c.lease.Carried = protocol.Never
	}
}

// change makes another member the most senior one. No member is missing.
func (o *oracle) change() {
	o.dropped = o.outstanding()
	o.order = append(slices.Clone(o.order[1:]), o.order[0])
	o.elect(o.latest())
}

// outstanding lists dropped tenures that are not over: a new epoch waits for them.
func (o *oracle) outstanding() (left []dropped) {
	for _, d := range o.dropped {
		if d.free > o.w.now {
			left = append(left, d)
		}
	}
	return left
}

func (o *oracle) latest() time.Duration {
	at := max(o.w.now, o.from)
	for _, d := range o.dropped {
		at = max(at, d.free)
	}
	return at
}

// crash stops a member forever; a new life of it joins later. Its clients believe until its lease is over.
func (o *oracle) crash(c *citizen) {
	if len(o.order) < 2 || c.down {
		return
	}
	c.down = true
	over := o.w.now + term
	for _, cl := range c.clients {
		//tidy:unordered each request is changed on its own
		for _, one := range cl.requests {
			if one.belief != nil {
				one.belief.until = min(one.belief.until, over)
			}
		}
	}
	o.w.trace("%v crash of %v", o.w.now, c)
	o.leave(c, over)
	o.w.after(over-o.w.now+o.draw(term), func() {
		c.start()
		for _, cl := range c.clients {
			cl.open()
		}
		o.join(c)
	})
}

// leave takes a member out of the view, whose power is over at the given true time.
func (o *oracle) leave(c *citizen, over time.Duration) {
	coordinator := o.order[0] == c
	o.order = slices.DeleteFunc(slices.Clone(o.order), func(other *citizen) bool { return other == c })
	if coordinator {
		o.dropped = nil
		o.elect(max(o.latest(), over+margin))
		return
	}
	epoch := o.epoch
	o.dropped = append(o.outstanding(), dropped{c.id, c.lease.Tenure, over + margin})
	o.w.after(o.draw(time.Second), func() {
		if o.epoch == epoch {
			o.publish()
		}
	})
}

// join admits a member as the most junior one.
func (o *oracle) join(c *citizen) {
	if !slices.Contains(o.order, c) {
		o.admit(c)
		o.publish()
	}
}

func (o *oracle) admit(c *citizen) {
	c.lease.Promised = max(c.lease.Promised, o.epoch)
	o.order = append(slices.Clone(o.order), c)
}

// lapse cuts a member off until its lease is over. It comes back under its next tenure.
func (o *oracle) lapse() {
	c := o.order[o.w.rand.IntN(len(o.order))]
	if len(o.order) < 2 || c.down {
		return
	}
	o.w.trace("%v %v is cut off", o.w.now, c)
	c.cut = true
	over := o.w.now + term
	c.lease.Member = c.clock(over)
	life := c.life
	o.leave(c, over)
	o.w.after(term, func() {
		if c.down || c.life != life {
			return
		}
		c.lapsed()
	})
	o.w.after(term+o.draw(term), func() {
		if c.down || c.life != life {
			return
		}
		c.cut = false
		o.join(c)
	})
}

// lapsed informs a member and its clients that its lease is over.
func (c *citizen) lapsed() {
	c.lease.Tenure.Lapses++
	c.lease.Member, c.lease.Carried = protocol.Never, protocol.Never
	c.step(protocol.Event{Kind: protocol.Raised, Fact: &protocol.Lapsed{Tenure: c.lease.Tenure}})
	for _, cl := range c.clients {
		if !cl.local {
			cl.end(holdfast.SessionExpired)
			cl.open()
		}
	}
}

// miss leaves a member out of an election, and admits it again unchanged, while its former lease still runs (V13 of
// docs/design/membership.md §9: its holds are unconfirmed).
func (o *oracle) miss() {
	if len(o.order) < 3 {
		return
	}
	c := o.order[1+o.w.rand.IntN(len(o.order)-1)]
	if c.down {
		return
	}
	o.w.trace("%v %v misses an election", o.w.now, c)
	over := o.w.now + term
	o.order = slices.DeleteFunc(slices.Clone(o.order), func(other *citizen) bool { return other == c })
	o.order = append(slices.Clone(o.order[1:]), o.order[0])
	life, tenure := c.life, c.lease.Tenure
	o.dropped = o.outstanding()
	o.elect(max(o.latest(), over+margin))
	epoch := o.epoch
	o.w.after(300*time.Millisecond+o.draw(term-300*time.Millisecond), func() {
		if o.epoch != epoch || c.down || c.life != life || c.lease.Tenure != tenure || slices.Contains(o.order, c) {
			o.w.after(over-o.w.now, func() {
				if c.life == life && !c.down && c.lease.Tenure == tenure && !slices.Contains(o.order, c) {
					c.lapsed()
					o.join(c)
				}
			})
			return
		}
		c.lease.Carried = c.clock(over)
		o.w.after(over-o.w.now, func() {
			if c.life == life && !c.down {
				c.step(protocol.Event{Kind: protocol.Tick})
			}
		})
		// Its own acceptance renews its lease; that of the coordinator may follow late.
		o.admit(c)
		if !o.electing {
			o.publishWithin(2 * time.Second)
			c.step(protocol.Event{Kind: protocol.Raised, Fact: o.view(c)})
		}
	})
}
