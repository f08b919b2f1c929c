package sim

import (
	"time"

	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// client is a separate process that locks through a member. It has its own clock, and runs, sleeps and dies on its own.
type client struct {
	world  *world
	number int32
	name   string
	clock  dial
	origin time.Duration // what the clock showed when the run began
	places []*process    // members that it may connect to, in its own order
	ttl    time.Duration

	up      bool
	life    uint32
	paused  bool
	stuck   bool // it stays down or paused until it is healed
	inbox   []task
	wake    uint32
	wakeAt  instant
	stream  stream
	account account // of what it is charged (quota.go)
	workers []*worker
	gathers *gatherer // nil in runs without gatherers

	crowd    *crowd    // it has no users, and asks for many names at once (burst.go)
	heir     bool      // it has no users, and takes sessions over (heir.go)
	handover *presence // the session that it was started for
}

func (c *client) String() string { return c.name }

// now is the reading of the client's clock.
func (c *client) now() time.Duration { return c.clock.read(c.world.now) }

// start begins a life of the process.
func (c *client) start() {
	w := c.world
	if c.up || c.stuck || c.heir && c.handover == nil {
		return
	}
	c.up, c.paused = true, false
	c.life++
	c.inbox = c.inbox[:0]
	c.wakeAt = protocol.Never
	c.stream = newStream(c, c.handover)
	c.workers, c.gathers = c.workers[:0], nil
	if !c.heir && w.protocol.Locks && c.crowd == nil {
		for range w.settings.workers {
			c.workers = append(c.workers, newWorker(c, len(c.workers)))
		}
		if w.settings.gathers {
			c.gathers = newGatherer(c)
		}
	}
	w.trace("%s starts", c)
	w.reporter.life(timeline.Started, c, "")
	c.stream.step(clientsession.Event{Kind: clientsession.Begin})
	c.arm()
}

// arm schedules the next wake-up of the stream or a worker.
func (c *client) arm() {
	if !c.up || c.paused {
		return
	}
	local := c.stream.wake()
	for _, worker := range c.workers {
		local = min(local, worker.next)
	}
	if c.gathers != nil {
		local = min(local, c.gathers.next)
	}
	at := c.clock.when(local)
	if at == c.wakeAt && at > c.world.now {
		return
	}
	c.wake++
	c.wakeAt = at
	if at != protocol.Never {
		c.world.at(at, task{kind: taskWake, to: c.number, life: c.wake})
	}
}

// tick does what is due.
func (c *client) tick(t *task) {
	if !c.up || t.life != c.wake {
		return
	}
	if c.paused {
		c.keep(*t)
		return
	}
	now := c.now()
	c.wakeAt = protocol.Never
	c.stream.tick(now)
	for _, worker := range c.workers {
		if now >= worker.next {
			worker.act(now)
		}
	}
	if g := c.gathers; g != nil && now >= g.next {
		g.act()
	}
	c.arm()
}

// nextCall returns when a user of the client makes its next call: after a pause or, in a script, at the time given
// there, which may be never. It also returns the number of that call in the names of choices: call, if there is no
// other one.
func (c *client) nextCall(user string, call int, pause func() time.Duration) (next time.Duration, number int) {
	if c.world.tape == nil {
		return c.now() + pause(), call
	}
	at, number, comes := c.world.call(user, c.now()-c.origin, pause)
	switch {
	case comes:
		return c.origin + at, number
	case c.world.settling:
		return c.now(), call
	}
	return protocol.Never, call
}

// chooses names the choices that follow a user's call.
func (c *client) chooses(user string, call int) {
	if t := c.world.tape; t != nil {
		t.enter(scope{user, "call", call})
	}
}

// unsettle lets its users make new calls again.
func (c *client) unsettle(pause func() time.Duration) {
	for _, worker := range c.workers {
		worker.probing, worker.probes = false, 0
		if worker.idle() {
			worker.plan(pause)
		}
	}
	c.gathers.unsettle(pause)
	c.arm()
}

// hear takes the answer of the member at the other end of l.
func (c *client) hear(l *link, a *answer) {
	if a.frame == nil {
		c.broken(l, a.status)
		return
	}
	c.stream.heard(l, a.frame.Message.GetEvents())
	c.arm()
}

// broken handles a connection that has ended, with its status; nil is an orderly end.
func (c *client) broken(l *link, status error) {
	c.stream.broken(l, status)
	c.arm()
}

func (c *client) keep(t task) { c.inbox = append(c.inbox, t) }

// pause stops the process. Its clock still runs, and so do the beliefs of others about it.
func (c *client) pause(length time.Duration) {
	w := c.world
	if !c.up || c.paused {
		return
	}
	w.trace("%s is paused for %v", c, length)
	w.reporter.paused(c, length)
	c.paused = true
	life := c.life
	w.do(w.now+length, func() {
		if c.up && c.life == life {
			c.resume()
		}
	})
}

// resume continues the process.
func (c *client) resume() {
	if !c.paused || c.stuck {
		return
	}
	c.world.trace("%s wakes", c)
	c.world.reporter.life(timeline.Woke, c, "")
	c.paused = false
	c.world.tape.begin(c.name, "wakes")
	c.inbox = c.world.again(c.inbox)
	// A thread that wakes in the middle of its work finishes it before it looks at the clock: tokens protect against
	// that.
	for _, worker := range c.workers {
		worker.write(false)
	}
	c.arm()
}

// close ends the session in good order, as Client.Close does; the process ends soon after, acknowledged or not.
func (c *client) close() {
	s := &c.stream
	if !c.up || c.paused || !s.connected() {
		return
	}
	c.world.trace("%s closes", c)
	c.world.reporter.emit(timeline.Event{Kind: timeline.Remark, Who: c.name, Text: c.name + " closes its session"})
	s.step(clientsession.Event{Kind: clientsession.Close})
	c.workers, c.gathers = c.workers[:0], nil
}

// crash ends the process, and its beliefs with it.
func (c *client) crash() {
	w := c.world
	if !c.up {
		return
	}
	w.trace("%s crashes", c)
	w.reporter.life(timeline.Stopped, c, "crash")
	w.reporter.unread(c.inbox)
	if c.crowd != nil {
		c.crowd.open = 0
	}
	c.up = false
	c.wake++
	for _, r := range c.stream.requests() {
		if r.lock != nil {
			c.stream.end(r, nil)
		}
	}
	if c.stream.session != nil {
		c.stream.session.End(c.now())
	}
	for _, l := range w.links {
		if l.client == c {
			l.sever(clientEnd)
		}
	}
}

// again schedules what a paused process finds when it wakes: in any order, except that each connection keeps its own.
func (w *world) again(waiting []task) []task {
	for _, t := range waiting {
		when := w.now + w.below("finds", time.Millisecond)
		if l := t.link; l != nil && (t.kind == taskOperation || t.kind == taskBreak && t.end == serverEnd) {
			l.up = max(l.up, when)
			when = l.up
		} else if l != nil {
			l.down = max(l.down, when)
			when = l.down
		}
		w.at(when, t)
	}
	clear(waiting)
	return waiting[:0]
}
