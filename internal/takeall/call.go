package takeall

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// most is the maximum number of concurrent requests in a durable space.
const most = 256

// Caller makes the requests of a call. A name is its index in the order.
type Caller struct {
	Ask     func(name int, waits bool) error                     // requests a name, as a wait or a try; the error is an immediate refusal
	Outcome func(name int, waits bool) (decided bool, err error) // if decided, the error is the refusal; otherwise it ends the call, and nil means that the outcome is not known yet
	GiveUp  func(name int) error                                 // gives up a request that is not taken; it may be over
	Check   func(name int) error                                 // reports whether a taken lock is still held: it may be lost while another is waited for
	Release func(name int)                                       // releases a taken lock
}

// Call takes many names, or none.
type Call struct {
	caller  Caller
	names   []int // in request order
	taken   int   // of the first ones
	asked   int   // of the first ones, including taken ones
	round   int   // of the first ones: requested before outcomes are checked
	keep    int   // of the first ones: requests after them are given up
	refused int   // the name without a request because it was refused
	ahead   int   // number of concurrent requests in the next round,
	most    int   // and its maximum
	waits   bool  // for the single name of this round
	err     error // why the call fails
}

// New returns a call for that many names, of a durable space or of another one.
func New(names int, durable bool, caller Caller) *Call {
	c := &Call{caller: caller, names: make([]int, names), ahead: 1, most: 1}
	if durable {
		c.ahead, c.most = most, most
	}
	for i := range c.names {
		c.names[i] = i
	}
	return c
}

// Go continues until the call is over or an outcome is not known yet. A failing call gives up its pending requests and
// releases its taken locks, the highest names first.
func (c *Call) Go() (over bool, err error) {
	for {
		switch {
		case c.asked > c.keep:
			c.asked--
			switch name := c.names[c.asked]; {
			case c.asked < c.taken:
				c.taken = c.asked
				c.caller.Release(name)
			case name != c.refused:
				c.Fail(c.caller.GiveUp(name))
			}
		case c.err != nil:
			return true, c.err
		case c.asked < c.round:
			name := c.names[c.asked]
			c.asked++
			if why := c.caller.Ask(name, c.waits); why != nil {
				c.refuse(name, why)
			}
		case c.taken < c.round:
			name := c.names[c.taken]
			switch decided, err := c.caller.Outcome(name, c.waits); {
			case decided && err == nil:
				c.taken++
			case decided:
				c.refuse(name, err)
			case err == nil:
				return false, nil
			default:
				c.Fail(err)
			}
		case c.taken < len(c.names):
			count := min(c.ahead, len(c.names)-c.taken)
			c.round, c.waits, c.ahead = c.taken+count, count == 1, min(2*c.ahead, c.most)
			c.keep, c.refused = len(c.names), -1
		default:
			for i := 0; i < len(c.names) && c.err == nil; i++ {
				c.Fail(c.caller.Check(c.names[i]))
			}
			if c.err == nil {
				return true, nil
			}
		}
	}
}

// refuse handles a refused name. A refused try is waited for once no later name is held.
func (c *Call) refuse(name int, why error) {
	c.refused = name
	if c.waits {
		c.Fail(why)
		return
	}
	place := c.taken + slices.Index(c.names[c.taken:], name)
	if mutation.Off("nothing is held behind a name that is waited for") {
		c.names = append(slices.Delete(c.names, place, place+1), name) // it is waited for after the others
		c.asked--
		place = c.asked
	}
	c.keep, c.round, c.ahead = place, place, 1
}

// Fail ends the call because of an error, if not nil: for example, its context has ended. The first error counts.
func (c *Call) Fail(why error) {
	if why != nil && c.err == nil {
		c.err, c.keep = why, 0
	}
}

// Left lists the names not yet taken, in request order.
func (c *Call) Left() []int { return c.names[c.taken:] }
