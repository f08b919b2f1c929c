package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// waitSentence is a sentence about a wait, in parts. On a narrow terminal the parts with the highest ranks are omitted.
type waitSentence []waitPart

type waitPart struct {
	rank int
	text string
	long string // instead of text in a line of its own; "" is text
	only bool   // on a terminal only: it changes each second
}

// line returns the whole sentence, without what changes each second.
func (s waitSentence) line() string {
	var b strings.Builder
	for _, part := range s[1:] { // the printer adds the name of the program
		if !part.only {
			b.WriteString(cmp.Or(part.long, part.text))
		}
	}
	return b.String()
}

// fit returns as much of the sentence as fits a terminal of that width.
func (s waitSentence) fit(width int) string {
	highest := 0
	for _, part := range s {
		highest = max(highest, part.rank)
	}
	for rank := highest; ; rank-- {
		var b strings.Builder
		for _, part := range s {
			if part.rank <= rank {
				b.WriteString(part.text)
			}
		}
		text := visible(b.String())
		if ansi.StringWidth(text) <= width {
			return text
		}
		if rank <= 1 {
			return ansi.Truncate(text, max(1, width), "…")
		}
	}
}

// sentence describes the wait.
func (w *waiting) sentence(o occurrence) waitSentence {
	s := waitSentence{{rank: 7, text: name + ": "}, {text: "waiting "}, {text: formatAge(time.Since(w.began)) + " ", only: true}}
	if w.limit < asLongAsItTakes {
		s = append(s, waitPart{rank: 4, text: "of " + formatAge(w.limit) + " ", only: true})
	}
	s = append(s, waitPart{text: "for lock " + strconv.Quote(o.Name)})
	if w.space != "" && w.space != holdfast.DefaultSpace {
		s = append(s, waitPart{rank: 4, text: " in space " + strconv.Quote(w.space)})
	}
	if len(w.names) > 1 {
		s = append(s, waitPart{rank: 3, text: fmt.Sprintf(" (%d of %d)", w.at+1, len(w.names))})
	}
	switch cause := w.cause(); {
	case o.Holder != "":
		s = append(s, holderParts(o, w.finding.lock)...)
	case cause != "":
		s = append(s, waitPart{rank: 1, text: ": " + cause, long: ": " + o.Why})
	}
	switch {
	case o.Position == nil:
	case *o.Position == 0:
		s = append(s, waitPart{rank: 2, text: "; next", long: "; it is next"})
	default:
		s = append(s, waitPart{rank: 2, text: fmt.Sprintf("; %d before it", *o.Position)})
	}
	return s
}

// holderParts describe the holder.
func holderParts(o occurrence, shown *schema.Lock) waitSentence {
	first := shown.Holders[0]
	s := waitSentence{{rank: 1, text: ": held by " + o.Holder}}
	if first.Member != "" {
		s = append(s, waitPart{rank: 8, text: " on " + first.Member})
	}
	if !o.Since.IsZero() {
		s = append(s, waitPart{rank: 3, text: " for " + formatAge(time.Since(o.Since.Time))})
	}
	if o.Reason != "" {
		s = append(s, waitPart{rank: 6, text: " (" + o.Reason + ")"})
	}
	if others := len(shown.Holders) - 1; others > 0 {
		s = append(s, waitPart{rank: 3, text: fmt.Sprintf(" and %d more", others)})
	}
	if first.Grace {
		s = append(s, waitPart{rank: 9, text: "; its hold limit has passed, and its grace ends in " + formatAge(time.Until(api.TimeOf(first.Until)))})
	}
	return s
}

// describe returns the state of the wait: the holder of the name, or why nothing is granted, and the number of waiters
// ahead.
func (w *waiting) describe() occurrence {
	o := occurrence{Event: "waiting", Name: w.names[w.at]}
	if f := w.finding; f.name == o.Name {
		if f.lock != nil && len(f.lock.Holders) > 0 {
			holder := f.lock.Holders[0]
			o.Holder, o.Since, o.Reason = cmp.Or(holder.Owner, holder.Client), api.At(api.TimeOf(holder.Since)), holder.Reason
			o.grant = holder.Token
		} else {
			o.Why = f.why(w.space)
		}
	}
	if w.position >= 0 && w.finding.err == nil {
		position := w.position
		o.Position = &position
	}
	return o
}

// cause returns why nothing is granted, short enough for a terminal's line.
func (w *waiting) cause() string {
	f := w.finding
	if f.name != w.names[w.at] {
		return ""
	}
	if f.status != nil && f.status.View.Why != "" && len(f.status.Missing) > 0 {
		var names []string
		for _, member := range f.status.Missing {
			names = append(names, member.Name)
		}
		return "no quorum without " + listed(names)
	}
	if f.status != nil {
		for _, s := range f.status.Spaces {
			if g := s.Suspension; g != nil && s.Name == w.space && s.State != spaceReady {
				return strings.TrimSuffix("suspended by "+cmp.Or(g.Client, g.Owner)+": "+g.Reason, ": ")
			}
		}
	}
	return f.why(w.space)
}

// why returns why nothing is granted, as the member says it; "" if it is granted, or will be.
func (f finding) why(space string) string {
	if f.status != nil {
		if f.status.View.Why != "" {
			return f.status.View.Why
		}
		for _, s := range f.status.Spaces {
			if s.Name == space && s.State != spaceReady {
				return spaceWhy(s)
			}
		}
	}
	switch {
	case f.err != nil:
		return reasonFor(f.err)
	case f.lock == nil:
		return ""
	}
	for _, waiter := range f.lock.Waiters {
		if len(waiter.For) > 0 {
			return "not held; it waits for the permission of " + listed(waiter.For)
		}
	}
	return ""
}

// spaceReady is the state of a space that grants.
const spaceReady = "ready"

// spaceWhy returns why a space grants nothing.
func spaceWhy(s *schema.Space) string {
	why := cmp.Or(s.Why, fmt.Sprintf("space %q is %s", cmp.Or(s.Name, holdfast.DefaultSpace), s.State))
	if s.Until != nil {
		why += "; until " + formatTime(s.Until)
	}
	return why
}
