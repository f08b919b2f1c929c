package explore

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// user is a user within a member's process, as package host serves them: the session has no ttl, and its holds end with
// the member's lease, by the member's own clock.
type user struct {
	Member  int
	Session lock.SessionID
	Last    uint64 // id of its latest request
	Phase   phase
	Calls   uint8 // number of calls left
	Name    uint8 // the name that it wants, holds or releases
	Token   holdfast.Token
	// Dawdles reports that it delays its next act.
	Dawdles bool
}

// ready reports whether a user can act.
func (w *world) ready(i int) bool {
	u := &w.Users[i]
	m := w.members[u.Member]
	return m.up && !m.paused && (u.Phase == idle && u.Calls > 0 || w.believes(i))
}

// phase is the state of a user.
type phase uint8

const (
	away      phase = iota // its member has no view yet, or is down
	opening                // its session is about to be opened
	idle                   // it wants nothing
	waiting                // it has asked for a name
	holding                // its grant has reached it
	releasing              // it releases its lock
)

// operator is not a user: no user waits for its answers.
const operator = maxUsers

// opOther marks operations that are not requests for locks.
const opOther = 1 << 62

// nameOf returns the n-th name that users lock.
func nameOf(n uint8) string { return string(rune('a' + n)) }

func (w *world) who(i int) string {
	return fmt.Sprintf("user %d at %s", i+1, w.members[w.Users[i].Member].name)
}

// believes reports whether a user believes at this instant that it holds, by the rules of package host: its member's
// lease covers the lock. For a lock of an earlier epoch, this ends if the new authority does not confirm it.
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

// begins makes a user ask for a name.
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

// unlocks makes a user release the lock that it believes it holds.
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

// decided takes the outcome of a user's request.
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

// granted checks P2 and P6 for a reported grant, and also P1 and P3: at that instant no other user believes.
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

// contends reports whether another user believes it holds the name of a user.
func (w *world) contends(i, other int) bool {
	return w.Users[other].Name == w.Users[i].Name && w.believes(other)
}

// excess reports whether the users that believe they hold a name have more than all of it.
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
