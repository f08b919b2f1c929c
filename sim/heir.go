package sim

import (
	"time"

	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// In a third of the runs with operators there is one more client, without users, which takes over the session of
// another one, as client.Resume does: while that client works, is cut off, or sleeps. It keeps the session for a while,
// and ends it, or dies. The previous client is over, and its process starts again. Its messages after the takeover must
// not renew the session (P1): else two clients would share one session. In half of these runs the previous client
// sleeps during the takeover, and the heir gives up at once what it has inherited, which a client that speaks gRPC
// directly can do.

// drawHeirs draws whether and how often this happens, from its own source of chance.
func (s *settings) drawHeirs(c *Config, r dice) {
	drawn, every := r.IntN(3) == 0, 500*time.Millisecond+r.below(4*time.Second)
	if drawn && c.Protocol.Locks && s.faults.Has(Operator) {
		s.heir, s.heirs = true, every
		s.squanders = r.IntN(2) == 0 && s.faults.Has(Pause)
	}
}

// Rows of coverage for sessions that are taken over.
var (
	inheritedTaken    = mark{"heir", "a session is taken over"}
	inheritedNotified = mark{"heir", "the client before hears of it"} // on its stream
	inheritedLate     = mark{"heir", "the client before is refused"}
	inheritedGiven    = mark{"heir", "an inherited lock is given up and believed in"}
)

// addHeir makes the client that takes sessions over.
func (w *world) addHeir() {
	c := w.addClient("heir")
	c.heir, c.wakeAt = true, protocol.Never
	w.judge.users = map[lock.SessionID]*usage{}
}

// healOthers heals the extra clients: the heir and the crowd.
func (w *world) healOthers() {
	for _, c := range w.clients[w.settings.clients:] {
		c.heal()
	}
}

// drawn is the number by which members know a client: it includes the life of its process.
func (c *client) drawn() uint64 { return uint64(c.number+1)<<32 | uint64(c.life) }

// inherit lets the heir take over the session of another client.
func (n *nemesis) inherit() {
	w := n.world
	if !w.settings.heir {
		return // the script was edited
	}
	c, heir := pick(w, "client", w.clients[:w.settings.clients]), w.clients[w.settings.clients]
	p := c.stream.session
	elsewhere := w.oneIn("elsewhere", 2) && w.protocol.Logs
	life, closes := w.between("keeps", 500*time.Millisecond, 6*time.Second), w.butOneIn("dies", 3)
	if !c.up || p == nil || p.at == nil || c.stream.machine.Closing() || heir.up || heir.stuck {
		return
	}
	w.hit(Operator)
	w.befall(Operator, 0, []string{c.name}, "another client takes the session of %s over", c)
	heir.handover = newPresence(heir, &clientsession.Session{ID: p.ID, Secret: p.Secret})
	heir.handover.tenure, heir.handover.taken = p.tenure, true
	if !elsewhere {
		heir.handover.at = p.at
	}
	if w.settings.squanders {
		for _, r := range c.stream.requests() {
			if r.State() == clientsession.Held {
				heir.handover.heirlooms = append(heir.handover.heirlooms, r)
			}
		}
		c.pause(life)
	}
	heir.start()
	handover, s := heir.handover, w.scope()
	w.do(w.now+life, func() {
		if w.goOn(s); heir.handover == handover {
			heir.retire(closes)
		}
	})
}

// squander gives up what the heir has inherited.
func (s *stream) squander() {
	for _, r := range s.session.heirlooms {
		if r.believes(r.client.now()) {
			s.client.world.count.hits[inheritedGiven]++
		}
		s.say(r.release())
	}
	s.session.heirlooms = nil
}

// retire ends the heir, and its session with it: at once, or when the session expires.
func (c *client) retire(closes bool) {
	if closes {
		c.close()
	}
	c.handover = nil
	c.crashAt(c.world.now + c.world.below("after", 500*time.Millisecond))
}

// crashAt ends the process at an instant, if it is in the same life then.
func (c *client) crashAt(at instant) {
	life := c.life
	c.world.do(at, func() {
		if c.life == life {
			c.crash()
		}
	})
}

// endSoon ends the process of an heir that has lost its session.
func (c *client) endSoon() {
	c.handover = nil
	c.crashAt(c.world.now)
}

// onTakenOver restarts the process of a client whose session another one has taken over: the Client of package client
// has ended, and its process makes a new one.
func (s *stream) onTakenOver(p *presence) {
	c := s.client
	w := c.world
	w.trace("%s has lost session %v to another client", c, p.id)
	w.reporter.emit(timeline.Event{Kind: timeline.Remark, Who: c.name, Text: "the session of " + c.name + " was taken over"})
	if s.present.Kind == clientsession.Heard || s.present.Kind == clientsession.Broken {
		w.count.hits[inheritedNotified]++
	} else {
		w.count.hits[inheritedLate]++
	}
	c.workers, c.gathers, c.handover = c.workers[:0], nil, nil
	was := w.scope()
	c.crashAt(w.now)
	w.tape.begin(c.name, "ousted")
	w.do(w.now+w.between("again", 100*time.Millisecond, 3*time.Second), c.start)
	w.goOn(was)
}

// usage is the client that uses a session, as the clients know it, and the ends of its predecessors.
type usage struct {
	number uint64
	former map[uint64]instant
}

// renews is called when a member has renewed a session for a client, by a message sent at an instant. Another client
// must not have taken over the session by then.
func (j *judge) renews(id lock.SessionID, c *client, sent instant) {
	if j.users == nil {
		return
	}
	if len(j.users) >= forgetAt {
		clear(j.users)
	}
	u, number := j.users[id], c.drawn()
	if u == nil {
		u = &usage{number: number, former: map[uint64]instant{}}
		j.users[id] = u
	}
	switch since, former := u.former[number]; {
	case number == u.number:
	case !former:
		u.former[u.number], u.number = j.clock(), number
		c.world.count.hits[inheritedTaken]++
	case sent > since:
		j.violate("P1", "%v is renewed in session %v by what it sent at %v, and another client has taken that over at %v", c, id, sent, since)
	}
}
