package shrink

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/sim"
)

// shortenGaps shortens idle time: the events after a gap come sooner.
func (s *search) shortenGaps() {
	for i := 0; !s.spent(); i++ {
		times := s.times()
		if i >= len(times) {
			return
		}
		before := time.Duration(0)
		if i > 0 {
			before = times[i-1]
		}
		gap := times[i] - before
		var sooner []*sim.Script
		for _, by := range []time.Duration{gap, gap - 100*time.Millisecond, gap * 3 / 4, gap / 2, gap / 4} {
			if by >= 50*time.Millisecond {
				sooner = append(sooner, s.shifted(times[i], by.Truncate(10*time.Millisecond)))
			}
		}
		s.first(ready(sooner...))
	}
}

// times lists the times of events in the script.
func (s *search) times() (times []time.Duration) {
	for i := range s.script.Choices {
		if at, is := s.script.Choices[i].Value.Duration(); is && s.script.Choices[i].Name() == "at" {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// shifted moves everything from a time on to an earlier one.
func (s *search) shifted(from, by time.Duration) *sim.Script {
	c := s.script.Clone()
	c.Duration = max(0, c.Duration-by)
	for i := range c.Choices {
		if at, is := c.Choices[i].Value.Duration(); is && c.Choices[i].Name() == "at" && at >= from {
			c.Choices[i], _ = c.Choices[i].Sets(at - by)
		}
	}
	return c
}

// earlier moves choices of a late act to an early one: the first message of its kind is lost instead of the eighteenth.
// If it must be the last one, calls are removed with it.
func (s *search) earlier() {
	for _, key := range s.groups(act) {
		i := slices.IndexFunc(s.script.Choices, func(c sim.Choice) bool { return act(&c) == key })
		if i < 0 || s.spent() {
			continue
		}
		number := s.script.Choices[i].Act()
		var candidates []*sim.Script
		try := func(from *sim.Script, to int) {
			if c := moved(from, key, to); c != nil && to > 0 && to < number {
				candidates = append(candidates, c)
			}
		}
		try(s.script, 1)
		try(s.script, number/2)
		try(s.script, number-1)
		calls := s.groups(act)
		calls = slices.DeleteFunc(calls, func(key string) bool { return !strings.Contains(key, " call#") })
		for n := len(calls); n > 0; n /= 2 {
			try(s.less(act, calls[len(calls)-n:]), number-n)
		}
		s.first(ready(candidates...))
	}
}

// moved is the script with an act at another place in the order of its kind; nil if the script has an act there
// already, or if a time in the script determines the act.
func moved(script *sim.Script, key string, to int) *sim.Script {
	c := script.Clone()
	taken := ""
	for i := range c.Choices {
		choice := &c.Choices[i]
		if act(choice) != key {
			continue
		}
		if choice.Name() == "at" {
			return nil
		}
		c.Choices[i] = choice.In(to)
		taken = act(&c.Choices[i])
	}
	if slices.ContainsFunc(script.Choices, func(choice sim.Choice) bool { return act(&choice) == taken }) {
		return nil
	}
	return c
}

// values makes durations shorter and rounder.
func (s *search) values() {
	for _, key := range s.groups((*sim.Choice).Key) {
		i := slices.IndexFunc(s.script.Choices, func(c sim.Choice) bool { return c.Key() == key })
		if i < 0 || s.spent() {
			continue
		}
		d, is := s.script.Choices[i].Value.Duration()
		if !is {
			continue
		}
		var simpler []*sim.Script
		for _, other := range simplerThan(d, s.script.Choices[i].Name() != "at") {
			c := s.script.Clone()
			c.Choices[i], _ = c.Choices[i].Sets(other)
			simpler = append(simpler, c)
		}
		s.first(ready(simpler...))
	}
}

// simplerThan lists durations that are simpler than d, the simplest first: shorter ones, if that counts as simpler, and
// rounder ones.
func simplerThan(d time.Duration, shorter bool) (all []time.Duration) {
	add := func(other time.Duration) {
		if other != d && other > 0 && digits(other) <= digits(d) && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	if shorter {
		add(leading(d / 4))
		add(leading(d / 2))
	}
	for _, unit := range []time.Duration{10 * time.Second, time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
		if digits(d.Round(unit)) < digits(d) {
			add(d.Round(unit))
		}
		if digits(d.Truncate(unit)) < digits(d) {
			add(d.Truncate(unit))
		}
	}
	return all
}

// leading is d rounded down to its first digit.
func leading(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10 {
		unit *= 10
	}
	return d / unit * unit
}

// digits counts the digits of d without trailing zeros.
func digits(d time.Duration) (n int) {
	for d != 0 && d%10 == 0 {
		d /= 10
	}
	for ; d != 0; d /= 10 {
		n++
	}
	return n
}
