package central_test

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// checks are the promises from the holder's side: between the report of a grant and its end as its client knows it.
type checks struct {
	w        *world
	failed   string
	names    map[string]*nameHistory
	draining bool
	grants   int
	losses   map[holdfast.Loss]int
}

type nameHistory struct {
	live   []*belief
	tokens holdfast.Token // the highest reported token
	last   lock.Request
}

func (c *checks) fail(format string, args ...any) {
	if c.failed == "" {
		c.failed = fmt.Sprintf("at %v: ", c.w.now) + fmt.Sprintf(format, args...)
		c.w.trace("VIOLATION %s", c.failed)
	}
}

func (c *checks) name(name string) *nameHistory {
	h := c.names[name]
	if h == nil {
		h = &nameHistory{}
		c.names[name] = h
	}
	return h
}

// begun checks a grant against all current beliefs, and against all earlier tokens.
func (c *checks) begun(b *belief) {
	if b.until <= c.w.now {
		return // over by its client's clock before the report came
	}
	c.grants++
	q := &b.request.request
	h := c.name(q.Name)
	var live []*belief
	for _, other := range h.live {
		if other.until <= c.w.now {
			continue
		}
		live = append(live, other)
		o := &other.request.request
		mate := o.Owner != "" && o.Owner == q.Owner && o.Session == q.Session
		if mate && other.token != b.token {
			c.fail("P1: %q is held by one owner twice: %v, %v", q.Name, other, b)
		}
		if !mate && (q.Mode != holdfast.ModeShared || o.Mode != holdfast.ModeShared) {
			c.fail("P1: %q is held by %v, and granted to %v", q.Name, other, b)
		}
		if mate {
			h.live = append(live, b)
			return
		}
	}
	again := q.Owner != "" && q.Session == h.last.Session && q.Owner == h.last.Owner && b.token == h.tokens
	if q.Mode == holdfast.ModeExclusive && b.token <= h.tokens && !again {
		c.fail("P2: %q is granted to %v after token %d:%d", q.Name, b, h.tokens>>32, uint32(h.tokens))
	}
	h.tokens, h.last = max(h.tokens, b.token), *q
	h.live = append(live, b)
}

// ended ends a belief, because its client has stopped.
func (c *checks) ended(one *request) {
	if one.belief == nil {
		return
	}
	one.belief.until = min(one.belief.until, c.w.now)
}

func (c *checks) lost(one *request, why holdfast.Loss) {
	if c.losses == nil {
		c.losses = map[holdfast.Loss]int{}
	}
	c.losses[why]++
}
