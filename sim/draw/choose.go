package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// choice is the part of a run that a picture shows.
type choice struct {
	run      *run
	from, to time.Duration
	worst    rank // the last rank that is shown
	messages []*message
	ticks    []*message // repeated, or routine
	bars     []*bar
	marks    []*mark
	lanes    []int // those shown, members first
	left     int   // messages in the window that are neither shown nor ticks
	cut      bool  // the window was narrowed
}

// choose selects the window, and what to show of it.
func choose(r *run, p *Picture) *choice {
	c := &choice{run: r, from: p.From, to: p.To, worst: foreign}
	repeated := c.repeated()
	items := c.items(repeated)
	most := cmp.Or(p.Events, Events)
	switch {
	case p.From == 0 && p.To == 0 && r.breach != nil:
		c.to = r.breach.at
		if c.from = last(items, most, c); c.from > 0 { // not everything fits
			c.worst = general
			c.from = last(items, most, c)
		}
	case p.From == 0 && p.To == 0:
		c.to = first(items, most, c)
	default:
		if c.to == 0 {
			c.to = r.end
		}
		c.narrow(items, most)
	}
	c.pick(repeated)
	return c
}

// last returns when the last n of the items begin.
func last(items []item, n int, c *choice) time.Duration {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].rank > c.worst {
			continue
		}
		if n--; n == 0 {
			return items[i].at
		}
	}
	return 0
}

// first returns when the first n of the items end.
func first(items []item, n int, c *choice) time.Duration {
	for i := range items {
		if items[i].rank > c.worst {
			continue
		}
		if n--; n == 0 {
			return items[i].at
		}
	}
	return c.run.end
}

// narrow reduces a requested window to at most n items. It drops the least related ones first, and then those farthest
// from the broken promise or, if all were kept, from the beginning.
func (c *choice) narrow(items []item, n int) {
	within := slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i.at < c.from || i.at > c.to })
	count := func() (found int) {
		for i := range within {
			if within[i].rank <= c.worst {
				found++
			}
		}
		return found
	}
	for c.worst > near && count() > n {
		c.worst--
	}
	if count() <= n {
		return
	}
	c.cut = true
	if b := c.run.breach; b != nil && b.at <= c.to {
		c.from = max(c.from, last(within, n, c))
	} else {
		c.to = min(c.to, first(within, n, c))
	}
}

// within reports whether an instant is in the window.
func (c *choice) within(at time.Duration) bool { return c.from <= at && at <= c.to }

// pick takes what the window and the rank admit, and the lanes of those elements.
func (c *choice) pick(repeated map[*message]bool) {
	involved := make([]bool, len(c.run.lanes))
	for i := range c.run.lanes {
		involved[i] = !c.run.lanes[i].client
	}
	for _, m := range c.run.messages {
		rank := c.ofMessage(m)
		inside := c.within(m.sent) || m.end != forever && c.within(m.end) && rank <= near && m.late
		switch {
		case !inside:
		case rank == routine || repeated[m] && rank <= c.worst:
			c.ticks = append(c.ticks, m)
		case rank > c.worst:
			c.left++
		default:
			c.messages = append(c.messages, m)
			involved[m.from], involved[m.to] = true, true
		}
	}
	for _, b := range c.run.bars {
		if b.from <= c.to && b.to >= c.from && c.ofBar(b) <= c.worst {
			c.bars = append(c.bars, b)
			involved[b.lane] = true
		}
	}
	if b := c.run.breach; b != nil && c.within(b.at) {
		for _, lane := range b.lanes {
			involved[lane] = true
		}
	}
	for i := range involved {
		if involved[i] {
			c.lanes = append(c.lanes, i)
		}
	}
	for _, m := range c.once() {
		shown := slices.ContainsFunc(m.lanes, func(lane int) bool { return involved[lane] }) || len(m.lanes) == 0
		if shown && c.within(m.at) && c.ofMark(m) <= c.worst {
			c.marks = append(c.marks, m)
		}
	}
}

// summary describes which part of the run is shown.
func (c *choice) summary() string {
	text := fmt.Sprintf("%s to %s of a run of %s: %d messages, %d grants", seconds(c.from), seconds(c.to), seconds(c.run.end), len(c.messages), len(c.bars))
	if n := len(c.ticks); n > 0 {
		text += fmt.Sprintf("; %d that are routine or repeat one are ticks", n)
	}
	if c.left > 0 {
		text += fmt.Sprintf("; %d about other things are left out", c.left)
	}
	if absent := len(c.run.lanes) - len(c.lanes); absent > 0 {
		text += fmt.Sprintf("; clients without a part in it: %d", absent)
	}
	if c.cut {
		text += "; the window is narrower than asked for, because no more fits"
	}
	return text + "."
}

// brief pairs the long tokens of the picture with short forms: the last digits tell long tokens of one reign apart.
func (c *choice) brief() (pairs []string) {
	reigns, forms := map[string]bool{}, map[string]string{}
	shorten := func(token string) string {
		reign, count, reigned := strings.Cut(token, ":")
		if !reigned || len(count) < 6 {
			return token
		}
		if len(reigns) == 1 {
			return "…" + count[len(count)-3:]
		}
		return reign + ":…" + count[len(count)-3:]
	}
	tokens := c.tokens()
	for _, token := range tokens {
		reign, _, _ := strings.Cut(token, ":")
		reigns[reign] = true
	}
	for _, token := range tokens {
		form := shorten(token)
		if other, taken := forms[form]; taken && other != token {
			return nil // two would look the same
		}
		if forms[form] == "" {
			forms[form] = token
			pairs = append(pairs, token, form)
		}
	}
	return pairs
}

// tokens are the tokens in the picture.
func (c *choice) tokens() (all []string) {
	for _, b := range c.bars {
		all = append(all, timeline.Token(b.token))
	}
	for _, m := range c.messages {
		if m.token != 0 {
			all = append(all, timeline.Token(m.token))
		}
	}
	return all
}

// seconds is an instant, as the axis shows it.
func seconds(at time.Duration) string {
	return strconv.FormatFloat(at.Seconds(), 'f', 3, 64) + " s"
}
