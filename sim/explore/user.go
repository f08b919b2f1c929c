package explore

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// user is one within a member's process, as package host serves them: the session
// has no ttl, and what the user holds ends with the member's lease, by the member's own clock.
type user struct {
	Member  int
	Session lock.SessionID
	Last    uint64 // id of his latest request
	Phase   phase
	Calls   uint8 // that he may still begin
	Name    uint8 // what he wants, has or gives back
	Token   holdfast.Token
	// Dawdles says that he takes his time for what he does next.
	Dawdles bool
}

// ready reports whether a user can do something.
func (w *world) ready(i int) bool {
	u := &w.Users[i]
	m := w.members[u.Member]
	return m.up && !m.paused && (u.Phase == idle && u.Calls > 0 || w.believes(i))
}

// phase says what a user does.
type phase uint8

const (
	away      phase = iota // his member has no view yet, or is down
	opening                // his session is about to be opened
	idle                   // he wants nothing
	waiting                // he has asked for a name
	holding                // his grant has reached him
	releasing              // he gives it back
)

// operator is none of the users: no user waits for what the operator is answered.
const operator = maxUsers

// opOther marks operations that are no request for a lock.
const opOther = 1 << 62

// names are what users lock.
func nameOf(n uint8) string { return string(rune('a' + n)) }

func (w *world) who(i int) string {
	return fmt.Sprintf("user %d at %s", i+1, w.members[w.Users[i].Member].name)
}

// believes reports whether a user takes himself for a holder in this instant, by the
// rules of package host: his member's lease covers the lock, which for one of an earlier
// epoch ends with what the new authority has not confirmed.
func (w *world) believes(i int) bool {
	u := &w.Users[i]
	m := w.members[u.Member]
	if u.Phase != holding || !m.up || m.soul.View == nil {
		return false
	}
	v := m.soul.View
	end := v.Lease.Member
	if uint64(u.Token)>>32 < v.Epoch.Counter {
		end = v.Lease.Carried
	}
	return m.clock(w.now) < end
}

// opens opens the session of a user.
func (e *engine) opens(w *world, i int) error {
	if e.trace != nil {
		e.trace("%s opens a session", w.who(i))
	}
	return e.act(w, w.Users[i].Member, call(i, opOther, protocol.Below, &session.Open{Kind: session.Local}))
}

// begins lets a user ask for a name.
func (e *engine) begins(w *world, i int, name uint8) error {
	u := &w.Users[i]
	u.Last++
	u.Calls--
	u.Phase, u.Name, u.Token, u.Dawdles = waiting, name, 0, false
	if e.trace != nil {
		e.trace("%s wants %q", w.who(i), nameOf(name))
	}
	request := &lock.Request{
		Session: u.Session, ID: u.Last, Name: nameOf(name), Arrived: w.members[u.Member].clock(w.now), WaitEnd: protocol.Never,
	}
	if units, capacity := e.config.Demand(i); capacity > 0 {
		request.Mode, request.Units, request.Capacity = holdfast.ModeSlots, units, capacity
	}
	return e.act(w, u.Member, call(i, u.Last, userSpace, request))
}

// unlocks lets a user give back what he believes that he has.
func (e *engine) unlocks(w *world, i int) error {
	u := &w.Users[i]
	u.Phase, u.Dawdles = releasing, false
	if e.trace != nil {
		e.trace("%s unlocks %q", w.who(i), nameOf(u.Name))
	}
	return e.act(w, u.Member, call(i, opOther|u.Last, userSpace, &protocol.Release{
		Session: u.Session, Name: nameOf(u.Name), Token: u.Token, Request: u.Last,
	}))
}

// decided takes what became of what a user has asked for.
func (e *engine) decided(w *world, m *member, i int, reply *protocol.Reply) {
	u, d := &w.Users[i], &reply.Decision
	if e.trace != nil {
		e.trace("  %s hears %v %q, token %d %v%v", w.who(i), d.Kind, d.Name, d.Token, d.Loss, orNothing(d.Err))
	}
	other := reply.To.Op&opOther != 0
	switch d.Kind {
	case lock.Granted:
		e.granted(w, i, d)
	case lock.Refused:
		switch {
		case other && u.Phase == releasing && d.Request == u.Last:
			e.violate("P3", "%s holds %q until it unlocks, and that is refused: %v", w.who(i), d.Name, d.Err)
		case !other && u.Phase == waiting && d.Request == u.Last:
			u.Phase = idle
		}
	case lock.Released:
		if u.Phase == releasing && d.Request == u.Last {
			u.Phase = idle
		}
	case lock.Lost, lock.Revoked:
		if d.Request == u.Last && (u.Phase == holding || u.Phase == releasing) {
			u.Phase, u.Dawdles = idle, false
		}
	}
}

func orNothing(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// granted checks P2 and P6 for a grant that is reported, and P1 and P3 with it: in that
// instant no other user believes.
func (e *engine) granted(w *world, i int, d *lock.Decision) {
	u := &w.Users[i]
	switch {
	case d.Request != u.Last || u.Phase != waiting && u.Phase != holding || d.Name != nameOf(u.Name):
		e.violate("P6", "%s hears that request %d for %q is granted under token %d, and has settled that before", w.who(i), d.Request, d.Name, d.Token)
		return
	case u.Phase == holding && u.Token == d.Token:
		return
	case u.Phase == holding:
		e.violate("P6", "request %d of %s acts twice, under tokens %d and %d", d.Request, w.who(i), u.Token, d.Token)
		return
	}
	_, capacity := e.config.Demand(i)
	if capacity == 0 || !e.config.Protocol.Peers {
		if uint64(d.Token) <= w.Highest[u.Name] {
			e.violate("P2", "%s is granted token %d for %q, after token %d", w.who(i), d.Token, d.Name, w.Highest[u.Name])
		}
		w.Highest[u.Name] = uint64(d.Token)
	}
	u.Phase, u.Token = holding, d.Token
	for other := range w.Users {
		switch {
		case other == i || !w.contends(i, other):
		case capacity == 0 || e.excess(w, i):
			e.violate("P3", "%s hears that %q is granted under token %d, while %s believes that it holds it under token %d",
				w.who(i), d.Name, d.Token, w.who(other), w.Users[other].Token)
		case w.Users[other].Token == d.Token:
			e.violate("P2", "%s is granted token %d for %q, under which %s holds units of it", w.who(i), d.Token, d.Name, w.who(other))
		}
	}
}

// contends reports whether another user takes himself for a holder of the name that one is about.
func (w *world) contends(i, other int) bool {
	return w.Users[other].Name == w.Users[i].Name && w.believes(other)
}

// excess reports whether those who take themselves for holders of a user's name have more than
// there is of it.
func (e *engine) excess(w *world, i int) bool {
	_, capacity := e.config.Demand(i)
	used := 0
	for other := range w.Users {
		if w.contends(i, other) {
			units, _ := e.config.Demand(other)
			used += max(1, units)
		}
	}
	return used > max(1, capacity)
}

// end ends the users of a process that has ended.
func (w *world) end(place int) {
	for i := range w.Users {
		if u := &w.Users[i]; u.Member == place {
			u.Phase, u.Session, u.Token, u.Last, u.Dawdles = away, lock.SessionID{}, 0, 0, false
		}
	}
}
