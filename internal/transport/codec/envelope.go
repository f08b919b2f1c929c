package codec

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// What is said under a term of protocol bakery. It has numbers as messages have, and is none: it
// occurs in an envelope only, which says once and in which place it was said. So an envelope's body is
// none of the messages either, and no other envelope.

// envelope has the number of what it says before that.
func (c *coder) envelope(v *bakery.Envelope) {
	c.term(&v.Term)
	c.localPlace(&v.From)
	c.localPlace(&v.To)
	number(c, &v.Seq)
	number(c, &v.Seen)
	k := kindOfBody(v.Body)
	number(c, &k)
	switch {
	case c.writing:
		c.writeBody(v.Body)
	case c.err == nil:
		v.Body = c.readBody(k)
	}
}

// kindOfBody returns the number of what an envelope says; 0 where no envelope says such a thing.
func kindOfBody(b bakery.Body) kind {
	switch b.(type) {
	case bakery.Heard:
		return kindHeard
	case bakery.Entering:
		return kindEntering
	case bakery.Entered:
		return kindEntered
	case bakery.GetMax:
		return kindGetMax
	case bakery.Max:
		return kindMax
	case bakery.Add:
		return kindAdd
	case bakery.Added:
		return kindAdded
	case bakery.Exiting:
		return kindExiting
	case bakery.Ready:
		return kindReady
	case bakery.Activate:
		return kindActivate
	case bakery.Activated:
		return kindActivated
	case bakery.Drop:
		return kindDrop
	case bakery.Tickets:
		return kindTickets
	case bakery.Lock:
		return kindLock
	case bakery.Unlock:
		return kindUnlock
	case bakery.Claim:
		return kindClaim
	case bakery.Raise:
		return kindRaise
	case bakery.Locked:
		return kindLocked
	case bakery.Queued:
		return kindQueued
	case bakery.Failed:
		return kindFailed
	case bakery.Unlocked:
		return kindUnlocked
	case bakery.Unlocking:
		return kindUnlocking
	}
	return 0
}

// writeBody appends what leaders say to each other.
func (c *coder) writeBody(b bakery.Body) {
	switch m := b.(type) {
	case bakery.Heard:
	case bakery.Entering:
		c.entering(&m)
	case bakery.Entered:
		c.entered(&m)
	case bakery.GetMax:
		c.key(&m.Key)
	case bakery.Max:
		c.max(&m)
	case bakery.Add:
		c.add(&m)
	case bakery.Added:
		c.added(&m)
	case bakery.Exiting:
		c.exiting(&m)
	case bakery.Ready:
		c.key(&m.Key)
	case bakery.Activate:
		c.activate(&m)
	case bakery.Activated:
		c.activated(&m)
	case bakery.Drop:
		c.key(&m.Key)
	case bakery.Tickets:
		c.tickets(&m)
	default:
		c.writeLeaderMessage(b)
	}
}

// writeLeaderMessage appends what a member and a leader say to each other.
func (c *coder) writeLeaderMessage(b bakery.Body) {
	switch m := b.(type) {
	case bakery.Lock:
		c.ticket(&m.Ticket)
	case bakery.Unlock:
		c.key(&m.Key)
	case bakery.Claim:
		c.claim(&m)
	case bakery.Raise:
		c.raise(&m)
	case bakery.Locked:
		c.locked(&m)
	case bakery.Queued:
		c.queued(&m)
	case bakery.Failed:
		c.failed(&m)
	case bakery.Unlocked:
		c.key(&m.Key)
	case bakery.Unlocking:
		c.unlocking(&m)
	default:
		c.fail(ErrKind)
	}
}

// readBody takes what an envelope of that kind says.
func (c *coder) readBody(k kind) bakery.Body {
	switch k {
	case kindHeard:
		return bakery.Heard{}
	case kindEntering:
		var m bakery.Entering
		c.entering(&m)
		return m
	case kindEntered:
		var m bakery.Entered
		c.entered(&m)
		return m
	case kindGetMax:
		var m bakery.GetMax
		c.key(&m.Key)
		return m
	case kindMax:
		var m bakery.Max
		c.max(&m)
		return m
	case kindAdd:
		var m bakery.Add
		c.add(&m)
		return m
	case kindAdded:
		var m bakery.Added
		c.added(&m)
		return m
	case kindExiting:
		var m bakery.Exiting
		c.exiting(&m)
		return m
	case kindReady:
		var m bakery.Ready
		c.key(&m.Key)
		return m
	case kindActivate:
		var m bakery.Activate
		c.activate(&m)
		return m
	case kindActivated:
		var m bakery.Activated
		c.activated(&m)
		return m
	case kindDrop:
		var m bakery.Drop
		c.key(&m.Key)
		return m
	case kindTickets:
		var m bakery.Tickets
		c.tickets(&m)
		return m
	}
	return c.readLeaderMessage(k)
}

func (c *coder) readLeaderMessage(k kind) bakery.Body {
	switch k {
	case kindLock:
		var m bakery.Lock
		c.ticket(&m.Ticket)
		return m
	case kindUnlock:
		var m bakery.Unlock
		c.key(&m.Key)
		return m
	case kindClaim:
		var m bakery.Claim
		c.claim(&m)
		return m
	case kindRaise:
		var m bakery.Raise
		c.raise(&m)
		return m
	case kindLocked:
		var m bakery.Locked
		c.locked(&m)
		return m
	case kindQueued:
		var m bakery.Queued
		c.queued(&m)
		return m
	case kindFailed:
		var m bakery.Failed
		c.failed(&m)
		return m
	case kindUnlocked:
		var m bakery.Unlocked
		c.key(&m.Key)
		return m
	case kindUnlocking:
		var m bakery.Unlocking
		c.unlocking(&m)
		return m
	}
	c.fail(ErrKind)
	return nil
}

// The fewest bytes that an element of a list can have.
const (
	leastChoosing    = 19
	leastTicketUnits = 11
	leastState       = 3
	leastNumbered    = 50
	leastClaimed     = 38
)

func (c *coder) key(v *bakery.Key) {
	fixed(c, &v.Member)
	number(c, &v.Incarnation)
	number(c, &v.Number)
}

func (c *coder) ticket(v *bakery.Ticket) {
	c.key(&v.Key)
	c.localPlace(&v.For)
	text(c, &v.Name)
	enum(c, &v.Mode, holdfast.ModeSlots)
	c.count(&v.Units)
	c.count(&v.Capacity)
	c.truth(&v.Try)
	text(c, &v.Owner)
	c.session(&v.Session)
}

func (c *coder) entering(v *bakery.Entering) {
	c.ticket(&v.Ticket)
	number(c, &v.Serial)
}

func (c *coder) entered(v *bakery.Entered) {
	c.key(&v.Key)
	number(c, &v.Max)
	c.count(&v.Capacity)
	if optional(c, &v.By) {
		c.held(v.By)
	}
}

func (c *coder) max(v *bakery.Max) {
	c.key(&v.Key)
	number(c, &v.Max)
}

func (c *coder) add(v *bakery.Add) {
	c.key(&v.Key)
	number(c, &v.Number)
	c.truth(&v.Activate)
	number(c, &v.Count)
}

func (c *coder) added(v *bakery.Added) {
	c.key(&v.Key)
	for i := range list(c, &v.Entering, leastChoosing) {
		c.choosing(&v.Entering[i])
	}
	c.truth(&v.Activated)
	c.vote(&v.Vote)
}

func (c *coder) choosing(v *bakery.Choosing) {
	c.key(&v.Key)
	fixed(c, &v.Master)
	number(c, &v.Serial)
}

func (c *coder) vote(v *bakery.Vote) {
	c.truth(&v.First)
	for i := range list(c, &v.Before, leastTicketUnits) {
		c.ticketUnits(&v.Before[i])
	}
	number(c, &v.Count)
}

func (c *coder) ticketUnits(v *bakery.TicketUnits) {
	c.key(&v.Key)
	c.count(&v.Units)
}

func (c *coder) exiting(v *bakery.Exiting) {
	c.key(&v.Key)
	c.truth(&v.Ready)
	c.truth(&v.Activate)
	number(c, &v.Count)
}

func (c *coder) activate(v *bakery.Activate) {
	c.key(&v.Key)
	number(c, &v.Count)
}

func (c *coder) activated(v *bakery.Activated) {
	c.key(&v.Key)
	c.vote(&v.Vote)
}

func (c *coder) tickets(v *bakery.Tickets) {
	for i := range list(c, &v.Names, leastState) {
		c.state(&v.Names[i])
	}
	number(c, &v.Floor)
	c.truth(&v.Done)
}

func (c *coder) state(v *bakery.NameState) {
	text(c, &v.Name)
	number(c, &v.Count)
	for i := range list(c, &v.Tickets, leastNumbered) {
		c.numbered(&v.Tickets[i])
	}
}

func (c *coder) numbered(v *bakery.Numbered) {
	c.ticket(&v.Ticket)
	number(c, &v.Number)
	c.localPlace(&v.Master)
	c.truth(&v.Accepted)
	c.span(&v.Left)
}

func (c *coder) unlocking(v *bakery.Unlocking) {
	c.key(&v.Key)
	c.span(&v.Left)
}

func (c *coder) claim(v *bakery.Claim) {
	for i := range list(c, &v.Claims, leastClaimed) {
		c.claimed(&v.Claims[i])
	}
	c.truth(&v.Done)
}

func (c *coder) claimed(v *bakery.Claimed) {
	c.ticket(&v.Ticket)
	number(c, &v.Token)
	c.span(&v.Age)
}

func (c *coder) raise(v *bakery.Raise) {
	c.key(&v.Key)
	number(c, &v.Above)
}

func (c *coder) locked(v *bakery.Locked) {
	c.key(&v.Key)
	number(c, &v.Token)
}

func (c *coder) queued(v *bakery.Queued) {
	c.key(&v.Key)
	c.count(&v.Position)
}

func (c *coder) failed(v *bakery.Failed) {
	c.key(&v.Key)
	enum(c, &v.Why, bakery.FailedLimit)
	c.count(&v.Limit)
	c.count(&v.Capacity)
	if optional(c, &v.By) {
		c.held(v.By)
	}
}
