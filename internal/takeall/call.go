package takeall

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// most is how many names of a durable space are asked for at the same time.
const most = 256

// Caller makes the requests of a call. A name is its place in the order.
type Caller struct {
	Ask     func(name int, waits bool) error                     // asks for a name, and waits for a holder or tries; the error refuses it at once
	Outcome func(name int, waits bool) (decided bool, err error) // refused, where decided; else the error ends the call, and without one it is not known yet
	GiveUp  func(name int) error                                 // gives up a request that is not taken; it may be over
	Check   func(name int) error                                 // whether a lock that was taken is still held: it may be lost while another is waited for
	Release func(name int)                                       // releases a lock that was taken
}

// Call takes many names, or none.
type Call struct {
	caller  Caller
	names   []int // in the order in which they are asked for
	taken   int   // of the first ones
	asked   int   // of the first ones, those that are taken included
	round   int   // of the first ones: so many are asked for before outcomes are looked at
	keep    int   // of the first ones: what is asked for behind them is given up
	refused int   // the name that has no request because it was refused
	ahead   int   // how many are asked for at the same time next,
	most    int   // and how many at most
	waits   bool  // for the one name of this round
	err     error // why the call fails
}

// New returns a call that takes so many names, of a durable space or of another one.
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

// Go goes on until the call is over or an outcome is not known yet. A call that fails gives up what is under way and releases what is
// taken, the highest names first.
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

// refuse notes that a name is refused. One that was tried is waited for when nothing is held behind it.
func (c *Call) refuse(name int, why error) {
	c.refused = name
	if c.waits {
		c.Fail(why)
		return
	}
	place := c.taken + slices.Index(c.names[c.taken:], name)
	if mutation.Off("nothing is held behind a name that is waited for") {
		c.names = append(slices.Delete(c.names, place, place+1), name) // it is waited for when the others are here
		c.asked--
		place = c.asked
	}
	c.keep, c.round, c.ahead = place, place, 1
}

// Fail ends the call because of an error, if there is one: its context has ended, say. The first error counts.
func (c *Call) Fail(why error) {
	if why != nil && c.err == nil {
		c.err, c.keep = why, 0
	}
}

// Left lists the names that are not taken yet, in the order in which they are asked for.
func (c *Call) Left() []int { return c.names[c.taken:] }
