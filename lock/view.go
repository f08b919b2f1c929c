package lock

import "github.com/holdfast-locks/holdfast"

// Lock is one name as people see it: a copy, not the table's own state.
type Lock struct {
	Name     string
	Mode     holdfast.Mode  // of the first holder that is to stay or, without any, of the first revoked one, or waiter
	Units    int            // units held, in mode slots, those of revoked holders among them
	Capacity int            // mode slots; else 0
	Token    holdfast.Token // of the newest live grant; 0 when nobody holds it
	Holders  []Grant        // in order of their tokens
	Waiters  []Wait         // in order of the queue
	History  []Grant        // grants that have ended, newest first, as far as remembered
}

// Grant is one holder. Reentry adds to Holds, not to the holders.
type Grant struct {
	Session SessionID
	Owner   string
	Client  string
	Reason  string
	Mode    holdfast.Mode
	Units   int
	Token   holdfast.Token
	Since   Time
	Until   Time // the end of its hold limit on the authority's clock, or Never; in History: when it ended
	Holds   int
	Revoked bool // it shall end, and its holder has not yet said that it has stopped
}

// Wait is one waiter.
type Wait struct {
	Session SessionID
	Owner   string
	Client  string
	Reason  string
	Mode    holdfast.Mode
	Units   int
	Request uint64
	Since   Time
	Until   Time // its wait limit, or Never
}
