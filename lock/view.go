package lock

import "github.com/holdfast-locks/holdfast"

// Lock is the state of one name for display: a copy, not the table's own state.
type Lock struct {
	Name string
	// Shape is that of the first unrevoked holder or, without one, of the first revoked one, or waiter. Its Units are
	// all held units, including those of revoked holders.
	holdfast.Shape
	Token   holdfast.Token // of the newest live grant; 0 when no session holds it
	Holders []Grant        // in order of their tokens
	Waiters []Wait         // in order of the queue
	History []Grant        // grants that have ended, without their values, newest first, as far as remembered
}

// Grant is one holder. A reentry increases Holds, not the number of holders.
type Grant struct {
	Session SessionID
	// Attributes.Hold is 0: Until is its end.
	holdfast.Attributes
	Client  string
	Token   holdfast.Token
	Since   Time
	Until   Time // the end of its hold limit on the authority's clock, or Never; in History: when it ended
	Holds   int
	Revoked bool // it must end, and its holder has not yet confirmed that it has stopped
	// Grace reports that its hold limit has ended it, and that the name stays taken until Until, so that its holder can
	// stop.
	Grace bool
}

// Wait is one waiter.
type Wait struct {
	Session SessionID
	holdfast.Attributes
	Client  string
	Request uint64
	Since   Time
	Until   Time // its wait limit, or Never
	// For lists the members whose permission it waits for, if it has asked members.
	For []uint64
}

// After moves the times of a grant by a clock's reading; Never stays.
func (g Grant) After(by Time) Grant {
	g.Since, g.Until = later(g.Since, by), later(g.Until, by)
	return g
}

// After moves the times of a copy by a clock's reading: times in a message are relative to its sending, because two
// members' clocks are not compared.
func (l Lock) After(by Time) Lock {
	holders, waiters, ended := make([]Grant, len(l.Holders)), make([]Wait, len(l.Waiters)), make([]Grant, len(l.History))
	for i, g := range l.Holders {
		holders[i] = g.After(by)
	}
	for i, g := range l.History {
		ended[i] = g.After(by)
	}
	for i, w := range l.Waiters {
		w.Since, w.Until = later(w.Since, by), later(w.Until, by)
		waiters[i] = w
	}
	l.Holders, l.Waiters, l.History = holders, waiters, ended
	return l
}

// later moves a time; Never stays.
func later(t, by Time) Time {
	if t == Never {
		return t
	}
	return t + by
}

// Part skips the first skip holders and waiters, and returns at most room of the rest. more is the skip of the next
// part; 0 at the end. History is in the first part.
func (l Lock) Part(skip, room int) (part Lock, more int) {
	all := len(l.Holders) + len(l.Waiters)
	end := all
	if room < all-min(skip, all) {
		end = skip + room
	}
	if skip > 0 {
		l.History = nil
	}
	holders := len(l.Holders)
	l.Holders = l.Holders[min(skip, holders):min(end, holders)]
	l.Waiters = l.Waiters[max(0, min(skip-holders, all-holders)):max(0, end-holders)]
	if end < all {
		more = end
	}
	return l, more
}
