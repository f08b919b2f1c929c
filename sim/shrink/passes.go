package shrink

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/sim"
)

// all runs all passes until nothing becomes smaller. It reports whether that was reached.
func (s *search) all() bool {
	for !s.spent() {
		before := s.script.String()
		s.fewer()
		s.shortenGaps()
		s.earlier()
		s.values()
		s.first(ready(s.script.Renumber()))
		if s.script.String() == before {
			return !s.spent()
		}
	}
	return false
}

// fewer removes parts until nothing can be removed. Only then are runs spent on rounding the rest.
func (s *search) fewer() {
	for !s.spent() {
		before := s.script.String()
		s.ends()
		s.cast()
		s.drop(kind)
		s.cast()
		s.drop(whose)
		s.drop(act)
		s.ends()
		s.drop((*sim.Choice).Key)
		if s.script.String() == before {
			return
		}
	}
}

// ends cuts off the time after the failure.
func (s *search) ends() {
	at := s.played.Violation.At
	var shorter []*sim.Script
	add := func(d time.Duration) {
		if d >= 0 && d < s.script.Duration {
			c := s.script.Clone()
			c.Duration = d
			c.Choices = slices.DeleteFunc(c.Choices, func(choice sim.Choice) bool {
				when, is := choice.Value.Duration()
				return choice.Name() == "at" && is && when > at
			})
			shorter = append(shorter, c)
		}
	}
	if s.played.Outcome == sim.Stuck {
		d := s.script.Duration
		add(0)
		add((d / 4).Truncate(time.Second))
		add((d / 2).Truncate(time.Second))
		add((d * 3 / 4).Truncate(time.Second))
	}
	add((at + time.Second).Truncate(time.Second))
	s.first(ready(shorter...))
}

// cast drops members, users, names and faults, and unusual settings of the rest, repeatedly.
func (s *search) cast() {
	for !s.spent() && s.first(s.smaller()) >= 0 {
	}
}

// smaller lists casts that are smaller by one step, the largest steps first.
func (s *search) smaller() (all []candidate) {
	now := s.script
	is := settings(now)
	try := func(change func(*sim.Script)) {
		all = append(all, func() *sim.Script {
			c := now.Clone()
			if change(c); settings(c) == is {
				return nil
			}
			return c
		})
	}
	try(func(c *sim.Script) { c.Visitors = 0 })
	try(func(c *sim.Script) { c.Locals = false })
	try(func(c *sim.Script) { c.Gatherers = false })
	try(func(c *sim.Script) { c.Crowd /= 2 })
	try(func(c *sim.Script) { c.Workers = 1 })
	try(closeRanks)
	try(func(c *sim.Script) { c.Workers = max(1, c.Workers-1) })
	try(func(c *sim.Script) { c.Visitors = max(0, c.Visitors-1) })
	for i := now.Clients - 1; i >= 0 && now.Clients > 1; i-- {
		try(func(c *sim.Script) {
			c.Clients--
			exchange(c, client(i), client(c.Clients))
		})
	}
	for i := now.Members - 1; i >= 0 && now.Members > 1; i-- {
		try(func(c *sim.Script) {
			c.Members--
			place := i
			if place < c.Founders && c.Founders > 1 { // the last founder takes its place
				c.Founders--
				exchange(c, member(place), member(c.Founders))
				place = c.Founders
			}
			c.Founders = min(c.Founders, c.Members)
			exchange(c, member(place), member(c.Members))
			forget(c, member(c.Members))
		})
	}
	try(func(c *sim.Script) { c.Founders = c.Members })
	for i := len(now.Names) - 1; i >= 0 && len(now.Names) > 1; i-- {
		try(func(c *sim.Script) { c.Names = slices.Delete(c.Names, i, i+1) })
	}
	for i := range now.Names {
		try(func(c *sim.Script) { c.Names[i] = sim.Name{Name: c.Names[i].Name, Use: holdfast.ModeExclusive} })
	}
	try(func(c *sim.Script) { c.Faults = 0 })
	for _, f := range now.Faults.All() {
		try(func(c *sim.Script) { c.Faults = c.Faults.Without(f) })
	}
	try(func(c *sim.Script) { c.Once = false })
	try(func(c *sim.Script) { c.Cells = sim.CellNames()[0] })
	for _, name := range slices.Sorted(maps.Keys(now.Options)) {
		try(func(c *sim.Script) { delete(c.Options, name) })
	}
	try(func(c *sim.Script) { c.Far, c.FarFrom, c.FarUntil = 0, 0, 0 })
	try(func(c *sim.Script) { c.FarFrom, c.FarUntil = 0, 0 })
	try(func(c *sim.Script) { c.Waiters, c.LocksPerSession, c.Sessions = 0, 0, 0 })
	try(func(c *sim.Script) { c.TTL = time.Second })
	return all
}

// settings is the text of a script without its choices.
func settings(s *sim.Script) string {
	short := *s
	short.Choices = nil
	return short.String()
}

func client(i int) string { return fmt.Sprintf("client%d", i) }
func member(i int) string { return string(rune('a' + i)) }

// exchange swaps the names of two processes in a script: the last one takes the place of the one to be removed.
func exchange(c *sim.Script, one, other string) {
	if one == other {
		return
	}
	names := map[string]string{one: other, other: one}
	for i := range c.Choices {
		c.Choices[i] = c.Choices[i].Rename(names)
	}
}

// forget removes a process that no longer exists from the lists that name it.
func forget(c *sim.Script, name string) {
	for i := range c.Choices {
		c.Choices[i] = c.Choices[i].Less(name)
	}
}

// closeRanks renumbers the active workers of each client to be the first, and drops the others.
func closeRanks(c *sim.Script) {
	ranks := map[string]string{}
	most := 1
	for i := range c.Clients {
		rank := 0
		for k := range c.Workers {
			worker := fmt.Sprintf("%s.%d", client(i), k)
			if slices.ContainsFunc(c.Choices, func(choice sim.Choice) bool { return choice.Who() == worker }) {
				ranks[worker] = fmt.Sprintf("%s.%d", client(i), rank)
				rank++
			}
		}
		most = max(most, rank)
	}
	c.Workers = most
	for i := range c.Choices {
		if who, moves := ranks[c.Choices[i].Who()]; moves {
			c.Choices[i] = c.Choices[i].Of(who)
		}
	}
}

// The groups in which choices are removed: all of one kind and size, all of one process or link, all of one act.

func kind(c *sim.Choice) string {
	size := ""
	if d, is := c.Value.Duration(); is && c.Name() != "at" {
		size = strconv.Itoa(len(strconv.FormatInt(int64(d.Abs()/time.Millisecond), 10)))
	}
	if c.Who() == "" {
		return c.What()
	}
	return c.Name() + " " + size
}

func whose(c *sim.Choice) string { return c.Who() + " " + c.What() }

func act(c *sim.Choice) string { return c.Who() + " " + c.What() + "#" + strconv.Itoa(c.Act()) }

// drop removes groups of choices: all at once, then halves, and so on to single groups.
func (s *search) drop(group func(*sim.Choice) string) {
	keys := s.groups(group)
	for size := len(keys); size > 0 && !s.spent(); size /= 2 {
		for from := 0; from < len(keys) && !s.spent(); {
			var candidates []*sim.Script
			for at := from; at < len(keys) && len(candidates) < width; at += size {
				candidates = append(candidates, s.less(group, keys[at:min(at+size, len(keys))]))
			}
			went := s.first(ready(candidates...))
			if went < 0 {
				from += size * len(candidates)
				continue
			}
			from += size * went
			before := len(keys)
			keys = s.remaining(group, keys, from)
			size = max(1, min(size, len(keys)))
			if len(keys) == before {
				from += size
			}
		}
	}
}

// groups lists the groups, in the order of the script.
func (s *search) groups(group func(*sim.Choice) string) (keys []string) {
	seen := map[string]bool{}
	for i := range s.script.Choices {
		if key := group(&s.script.Choices[i]); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// remaining lists the groups of keys that are left. Those before from stay, so that tried groups keep their index.
func (s *search) remaining(group func(*sim.Choice) string, keys []string, from int) []string {
	left := map[string]bool{}
	for _, key := range s.groups(group) {
		left[key] = true
	}
	kept := slices.Clone(keys[:from])
	for _, key := range keys[from:] {
		if left[key] {
			kept = append(kept, key)
		}
	}
	return kept
}

// less is the script without some groups of choices.
func (s *search) less(group func(*sim.Choice) string, keys []string) *sim.Script {
	out := map[string]bool{}
	for _, key := range keys {
		out[key] = true
	}
	c := s.script.Clone()
	c.Choices = slices.DeleteFunc(c.Choices, func(choice sim.Choice) bool { return out[group(&choice)] })
	return c
}
