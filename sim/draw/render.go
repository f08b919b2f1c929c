package draw

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// render writes the document: the background first, labels last.
func (l *layout) render() string {
	s := &sheet{}
	end := l.y
	key := l.legend()
	height := end + headSize + 20 + lineStep*1.5*float64(len(key)) + margin
	title := clean(l.picture.Title)
	if l.run.breach != nil && l.within(l.run.breach.at) {
		title += ": " + l.run.breach.headline()
	}
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="hf-title hf-desc">`,
		num(l.width), num(height), num(l.width), num(height))
	s.add(`<title id="hf-title">%s</title>`, escaped(title))
	s.add(`<desc id="hf-desc">%s</desc>`, escaped(l.description()))
	s.add("<style>\n%s</style>", style())
	s.rect(box{0, 0, l.width, height}, "ground", "")
	s.text(margin, margin+14, "title", l.headline(title), title)
	for i, line := range l.preface() {
		s.text(margin, margin+34+lineStep*float64(i), "faint", line, "")
	}
	l.renderTimes(s)
	l.renderLanes(s, end)
	l.renderBands(s)
	l.renderTicks(s)
	l.renderBars(s)
	for i := range l.arrows {
		l.arrows[i].render(s)
	}
	for i := range l.signs {
		l.signs[i].render(s)
	}
	for _, t := range l.labels {
		s.rect(box{t.x1 - 1, t.y1 + 2, t.x2 + 1, t.y2}, "pad", "")
		x, class := t.x1, t.class
		if t.right {
			x, class = t.x2, class+" end"
		}
		s.text(x, t.y2-3, class, t.text, t.title)
	}
	for i := range l.arrows {
		l.arrows[i].renderHead(s)
	}
	l.renderTexts(s)
	for _, y := range append(slices.Clone(l.heads), end) {
		l.renderNames(s, y)
	}
	l.renderLegend(s, key, end+headSize+24)
	s.add("</svg>")
	return s.String()
}

// headline is the title if it fits; otherwise it only names the broken promise: the rest is in the band below.
func (l *layout) headline(title string) string {
	room := int((l.width - 2*margin) / (16 * em))
	if b := l.run.breach; cells(title) > room && b != nil && l.within(b.at) && promises[b.promise] != "" {
		title = clean(l.picture.Title) + ": " + b.promise + " is not kept"
	}
	return fit(title, room)
}

// description describes the picture for readers who cannot see it.
func (l *layout) description() string {
	text := "Sequence diagram, time from above to below, one lane each for"
	for _, lane := range l.lanes {
		text += " " + l.nameOf(lane)
	}
	text += ". " + l.summary()
	if b := l.run.breach; b != nil && l.within(b.at) {
		text += " " + b.headline() + ": " + b.caption(l.run)
	}
	return text
}

func (l *layout) renderTimes(s *sheet) {
	for _, t := range l.times {
		s.line(l.left-6, t.y2-6, l.right, t.y2-6, "guide")
		s.text(t.x1, t.y2-2, "faint", t.text, "")
	}
}

// renderBands writes the bands across the lanes, and the breaks of the axis.
func (l *layout) renderBands(s *sheet) {
	for _, b := range l.bands {
		s.rect(b.box, "band "+b.class, ` rx="3"`)
	}
	for _, b := range l.breaks {
		y := (b.y1 + b.y2) / 2
		s.rect(box{b.x1, y - 8, b.x1 + 14 + wide(b.lines[0], labelSize), y + 8}, "ground", "")
		s.shape("zig", "", "M%s %sl4 -4l6 8l6 -8l6 8l4 -4", margin+16, y)
	}
}

// renderLanes writes the lifelines: whether a process runs, is paused, has a lease and may grant.
func (l *layout) renderLanes(s *sheet, end float64) {
	top := l.top + headSize
	each := func(spans []span, render func(y1, y2 float64)) {
		for _, p := range spans {
			if p.to < l.from || p.from > l.to || p.from == p.to {
				continue
			}
			y1, y2 := top, end
			if p.from > l.from {
				y1 = l.height(p.from)
			}
			if p.to < l.to {
				y2 = l.height(p.to)
			}
			render(y1, y2)
		}
	}
	for i, lane := range l.lanes {
		x, who := l.xs[i], &l.run.lanes[lane]
		s.line(x, top, x, end, "down")
		each(who.up, func(y1, y2 float64) { s.line(x, y1, x, y2, "life") })
		each(who.leased, func(y1, y2 float64) { s.rect(box{x - 9, y1, x - 5, y2}, "lease", "") })
		each(who.reigns, func(y1, y2 float64) { s.rect(box{x - 9, y1, x - 5, y2}, "reign", "") })
		each(who.paused, func(y1, y2 float64) {
			s.rect(box{x - 4, y1, x + 4, y2}, "pause", ` rx="2"`)
			for y := y1 + 4; y < y2-4; y += 8 {
				s.line(x-4, y+4, x+4, y, "zig")
			}
		})
	}
}

// renderTicks writes routine messages: a short line at the arrival, at most one per three pixels.
func (l *layout) renderTicks(s *sheet) {
	type spot struct {
		lane int
		y    int
	}
	there := map[spot]bool{}
	for _, m := range l.ticks {
		if m.fate != delivered || l.column[m.to] < 0 || !l.within(m.end) || l.broke(m.end) {
			continue
		}
		y := l.height(m.end)
		at := spot{m.to, int(math.Round(y / 3))}
		if !there[at] {
			there[at] = true
			x := l.xs[l.column[m.to]]
			s.line(x-3, y, x+3, y, "tick")
		}
	}
}

// broke reports whether an instant is in a break of the axis, or behind a band.
func (l *layout) broke(at time.Duration) bool {
	y := l.height(at)
	in := func(b band) bool { return b.y1-4 < y && y < b.y2+6 }
	return slices.ContainsFunc(l.breaks, in) || slices.ContainsFunc(l.bands, in)
}

func (l *layout) renderBars(s *sheet) {
	for _, p := range l.pieces {
		if !p.placed {
			continue
		}
		x := l.xs[l.column[p.lane]] + 6 + barStep*p.x
		class := "bar " + p.mode
		if p.guilty {
			class += " guilty"
		}
		b := box{x, p.y1, x + barWidth, max(p.y2, p.y1+6)}
		s.add(`<rect x="%s" y="%s" width="%s" height="%s" class="%s">%s</rect>`,
			num(b.x1), num(b.y1), num(b.x2-b.x1), num(b.y2-b.y1), escaped(class), pointed(l.barTitle(p.bar)))
		if p.to <= l.to && p.why != "unlocked" {
			s.shape("head lost", "", "M%s %sL%s %sL%s %sL%s %sL%s %sZ",
				b.x1-2, b.y2-2, b.x2+2, b.y2-2, b.x2+2, b.y2, b.x1-2, b.y2, b.x1-2, b.y2-2)
		}
	}
}

// aim is the end of an arrow, a little before the lane, and its direction.
func (a *arrow) aim() (x, y, ux, uy float64) {
	length := max(1, math.Hypot(a.x2-a.x1, a.y2-a.y1))
	ux, uy = (a.x2-a.x1)/length, (a.y2-a.y1)/length
	return a.x2 - 1.5*ux, a.y2 - 1.5*uy, ux, uy
}

// render writes the line of a message; its end comes after the labels.
func (a *arrow) render(s *sheet) {
	x2, y2, _, _ := a.aim()
	class := "arrow " + a.class()
	if a.y2-a.y1 > farAway {
		class += " far"
	}
	s.shape(class, "", "M%s %sL%s %s", a.x1, a.y1, x2, y2)
}

// farAway is the length in pixels from which the line of a message is drawn faintly: it crosses many unrelated
// elements.
const farAway = 240

// renderHead writes the end of a message: a cross if it was lost, an open end if it is in flight.
func (a *arrow) renderHead(s *sheet) {
	x2, y2, ux, uy := a.aim()
	class := a.class()
	switch {
	case a.fate == lost:
		s.shape("head "+class, "", "M%s %sl8 8m0 -8l-8 8", a.x2-4, a.y2-4)
	case a.stub:
		s.shape("arrow "+class, "", "M%s %sl6 0m3 0l2 0", x2, y2)
	default:
		// The head: a triangle with its tip at the arrival.
		bx, by := x2-8*ux, y2-8*uy
		s.shape("head "+class, "", "M%s %sL%s %sL%s %sZ", x2, y2, bx-3.2*uy, by+3.2*ux, bx+3.2*uy, by-3.2*ux)
	}
}

// render writes the sign of a mark: each kind has a shape.
func (m *sign) render(s *sheet) { signShape(s, m.kind, m.x, m.y) }

func signShape(s *sheet, kind timeline.Kind, x, y float64) {
	switch kind {
	case timeline.Started, timeline.Woke:
		s.shape("sign", "", "M%s %sl6 0l-6 -10l-6 10z", x, y+5)
	case timeline.Stopped:
		s.shape("sign fault", "", "M%s %sl10 10m0 -10l-10 10", x-5, y-5)
	case timeline.Paused:
		s.shape("sign fault", "", "M%s %sl0 10m5 0l0 -10", x-2.5, y-5)
	case timeline.Viewed:
		s.shape("sign", "", "M%s %sl6 6l-6 6l-6 -6z", x, y-6)
	case timeline.Reigned:
		s.shape("sign", "", "M%s %sl0 -9l3.5 4l2.5 -5l2.5 5l3.5 -4l0 9z", x-6, y+4)
	case timeline.Lapsed, timeline.Abdicated:
		s.shape("sign", "", "M%s %sl10 0m-10 10l10 0m-10 -10l10 10m0 -10l-10 10", x-5, y-5)
	case timeline.Fault:
		s.shape("sign fault", "", "M%s %sl-5 7l4 0l-3 6l7 -8l-4 0l3 -5z", x+1, y-6)
	default:
		s.rect(box{x - 4, y - 4, x + 4, y + 4}, "sign", "")
	}
}

// renderTexts writes the texts of bands and breaks.
func (l *layout) renderTexts(s *sheet) {
	for _, b := range l.breaks {
		s.text(b.x1+6, b.y2-6, "faint", b.lines[0], "")
	}
	for _, b := range l.bands {
		title := ""
		if b.mark != nil {
			title = l.markTitle(b.mark)
		}
		for i, line := range b.lines {
			class := "fault"
			switch b.class {
			case "remark":
				class = "faint"
			case "broken":
				class = "wrong"
				title = l.run.breach.text
			}
			if b.class == "broken" && i == 0 {
				class += " strong"
			}
			s.text(b.x1+8, b.y1+13+lineStep*float64(i), class, line, title)
		}
	}
}

// renderNames writes the names of the lanes.
func (l *layout) renderNames(s *sheet, y float64) {
	for i, lane := range l.lanes {
		name := l.nameOf(lane)
		half := wide(name, nameSize)/2 + 8
		round := ` rx="2"`
		if l.run.lanes[lane].client {
			round = ` rx="11"`
		}
		s.rect(box{l.xs[i] - half, y, l.xs[i] + half, y + headSize}, "box", round)
		s.text(l.xs[i], y+15, "name", name, l.run.lanes[lane].name)
	}
}
