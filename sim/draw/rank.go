package draw

import (
	"cmp"
	"github.com/holdfast-locks/holdfast/sim/timeline"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rank is the relation of an element to the subject of the picture: the broken promise or, if all were kept,
// everything.
type rank uint8

const (
	vital   rank = iota // its lock, and messages about that lock with a fault
	near                // other messages about that lock; lives, views and reigns of members
	general             // elements without a lock
	foreign             // other locks, and clients that are not involved
	routine             // routine messages: never more than a tick
)

// item is an element that counts as an event.
type item struct {
	at    time.Duration
	place int
	rank  rank
}

// repeated is the set of messages that repeat an earlier one with the same outcome.
func (c *choice) repeated() map[*message]bool {
	type saying struct {
		from, to int
		text     string
		fate     fate
	}
	said, again := map[saying]bool{}, map[*message]bool{}
	for _, m := range c.run.messages {
		if m.late || m.copy || m.routine {
			continue
		}
		key := saying{m.from, m.to, m.text, m.fate}
		if m.fate == lost {
			key.text = m.short // one that does not arrive differs only in its numbers
		}
		if m.sent < c.from {
			continue
		}
		if said[key] {
			again[m] = true
		}
		said[key] = true
	}
	return again
}

// items lists the counted elements, in the order of the timeline.
func (c *choice) items(repeated map[*message]bool) []item {
	var all []item
	for _, m := range c.run.messages {
		if rank := c.ofMessage(m); rank < routine && !repeated[m] {
			all = append(all, item{m.sent, m.said, rank})
		}
	}
	for _, b := range c.run.bars {
		all = append(all, item{b.from, b.begun, c.ofBar(b)})
	}
	for _, m := range c.once() {
		if !m.over {
			all = append(all, item{m.at, m.place, c.ofMark(m)})
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place, b.place)) })
	return all
}

// once returns the marks without repetitions on one lane within a short time: a full disk is reported at each write.
func (c *choice) once() (kept []*mark) {
	last := make([]*mark, len(c.run.lanes))
	for _, m := range c.run.marks {
		if len(m.lanes) == 1 && m.at >= c.from {
			before := last[m.lanes[0]]
			last[m.lanes[0]] = m
			if m.kind == timeline.Fault && before != nil && before.kind == m.kind && before.short == m.short && m.at-before.at < time.Second {
				continue
			}
		}
		kept = append(kept, m)
	}
	return kept
}

// concerned reports whether a lane is involved in the broken promise; if none is broken, each lane is.
func (c *choice) concerned(lane int) bool {
	b := c.run.breach
	return b == nil || slices.Contains(b.lanes, lane) || !c.run.lanes[lane].client
}

func (c *choice) ofMessage(m *message) rank {
	b := c.run.breach
	switch {
	case m.routine:
		return routine
	case b == nil:
		return near
	case b.name != "" && (m.name == b.name || strings.Contains(m.text, strconv.Quote(b.name))):
		if m.late || m.copy || m.fate == lost {
			return vital
		}
		return near
	case m.name != "" || !c.concerned(m.from) || !c.concerned(m.to):
		return foreign
	case b.name == "" && (c.run.lanes[m.from].client || c.run.lanes[m.to].client):
		return foreign
	}
	return general
}

func (c *choice) ofBar(b *bar) rank {
	switch broken := c.run.breach; {
	case b.guilty || broken != nil && b.name == broken.name:
		return vital
	case broken == nil:
		return near
	}
	return foreign
}

func (c *choice) ofMark(m *mark) rank {
	one := len(m.lanes) == 1
	switch {
	case one && !c.concerned(m.lanes[0]):
		return foreign
	case m.kind == timeline.Fault && one:
		return general
	}
	return near
}
