package timeline

import (
	"fmt"
	"time"
)

// Check returns nil if the events are a timeline as the package describes it. The error names the first wrong event, by
// its index and kind, and the reason.
func Check(events []Event) error {
	c := checker{lanes: map[string]bool{}, messages: map[uint64]state{}, grants: map[uint64]state{}}
	for i := range events {
		if err := c.check(&events[i]); err != nil {
			return fmt.Errorf("event %d, %v at %v: %w", i, events[i].Kind, events[i].At, err)
		}
	}
	return nil
}

// state is the state of a message or a grant.
type state uint8

const (
	unknown state = iota
	open
	closed
)

type checker struct {
	now      time.Duration
	lanes    map[string]bool
	messages map[uint64]state
	grants   map[uint64]state
}

func (c *checker) check(h *Event) error {
	if h.At < c.now {
		return fmt.Errorf("it was %v before", c.now)
	}
	c.now = h.At
	if err := c.known(h); err != nil {
		return err
	}
	switch h.Kind {
	case Sent:
		return begin(c.messages, h.ID, "message")
	case Copied:
		if c.messages[h.Of] == unknown {
			return fmt.Errorf("it copies message %d, which was not sent", h.Of)
		}
		return begin(c.messages, h.ID, "message")
	case Delivered, Lost:
		return end(c.messages, h.ID, "message")
	case Granted:
		return begin(c.grants, h.ID, "grant")
	case Ended:
		return end(c.grants, h.ID, "grant")
	case Held:
		if c.grants[h.ID] != open {
			return fmt.Errorf("grant %d is not held", h.ID)
		}
	case Violated:
		for _, id := range h.Grants {
			if c.grants[id] == unknown {
				return fmt.Errorf("the event is about grant %d, which is unknown", id)
			}
		}
	}
	return nil
}

// known checks that the lane of an event was introduced, and introduces a lane.
func (c *checker) known(h *Event) error {
	switch {
	case h.Kind == 0 || h.Kind >= kinds:
		return fmt.Errorf("kind %d is none", h.Kind)
	case h.Kind == Lane && (h.Who == "" || c.lanes[h.Who]):
		return fmt.Errorf("lane %q has no name, or that of another lane", h.Who)
	case h.Kind == Lane:
		c.lanes[h.Who] = true
	case h.Who != "" && !c.lanes[h.Who]:
		return fmt.Errorf("%q was not introduced", h.Who)
	case h.To != "" && !c.lanes[h.To]:
		return fmt.Errorf("%q was not introduced", h.To)
	case h.Who == "" && h.Kind < Fault:
		return fmt.Errorf("it happens in no lane")
	}
	for _, lane := range h.Lanes {
		if !c.lanes[lane] {
			return fmt.Errorf("%q was not introduced", lane)
		}
	}
	return nil
}

func begin(all map[uint64]state, id uint64, what string) error {
	if id == 0 || all[id] != unknown {
		return fmt.Errorf("%s %d has no number, or that of another", what, id)
	}
	all[id] = open
	return nil
}

func end(all map[uint64]state, id uint64, what string) error {
	if all[id] != open {
		return fmt.Errorf("%s %d is not open", what, id)
	}
	all[id] = closed
	return nil
}
