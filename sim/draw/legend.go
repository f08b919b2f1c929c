package draw

import (
	"slices"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// entry explains one element of a picture.
type entry struct {
	text string
	draw func(s *sheet, x, y float64) // y is the middle of the line
	wide float64
}

// legend explains the elements of this picture only, in lines.
func (l *layout) legend() (lines [][]entry) {
	var line []entry
	x := margin
	for _, e := range l.entries() {
		e.wide = 34 + wide(e.text, labelSize) + 18
		if x+e.wide > l.width-margin && len(line) > 0 {
			lines, line, x = append(lines, line), nil, margin
		}
		line = append(line, e)
		x += e.wide
	}
	return append(lines, line)
}

func (l *layout) renderLegend(s *sheet, lines [][]entry, y float64) {
	for _, line := range lines {
		x := margin
		for _, e := range line {
			e.draw(s, x, y)
			s.text(x+32, y+4, "faint", e.text, "")
			x += e.wide
		}
		y += lineStep * 1.5
	}
}

// entries lists the elements to explain.
func (l *layout) entries() (all []entry) {
	add := func(there bool, text string, draw func(s *sheet, x, y float64)) {
		if there {
			all = append(all, entry{text: text, draw: draw})
		}
	}
	for _, class := range []struct{ name, text string }{
		{"msg", "message; its words stand where it arrives"}, {"late", "late, by as much as +… says"}, {"copy", "delivered once more"}, {"lost", "lost"},
	} {
		there := slices.ContainsFunc(l.messages, func(m *message) bool { return m.class() == class.name })
		add(there, class.text, func(s *sheet, x, y float64) {
			m := &message{late: class.name == "late", copy: class.name == "copy", fate: delivered}
			if class.name == "lost" {
				m.fate = lost
			}
			a := arrow{message: m, x1: x, y1: y, x2: x + 24, y2: y}
			a.render(s)
			a.renderHead(s)
		})
	}
	open := slices.ContainsFunc(l.messages, func(m *message) bool { return m.fate != lost && l.stub(m) })
	add(open, "under way at the end", func(s *sheet, x, y float64) {
		a := arrow{message: &message{}, x1: x, y1: y, x2: x + 16, y2: y, stub: true}
		a.render(s)
		a.renderHead(s)
	})
	add(len(l.ticks) > 0, "routine, or said before", func(s *sheet, x, y float64) {
		s.line(x+12, y-7, x+12, y+7, "life")
		s.line(x+9, y-2, x+15, y-2, "tick")
		s.line(x+9, y+2, x+15, y+2, "tick")
	})
	for _, mode := range []string{"exclusive", "shared", "slots"} {
		there := slices.ContainsFunc(l.choice.bars, func(b *bar) bool { return b.mode == mode || mode == "exclusive" && b.mode == "" })
		add(there, "held "+mode+", name #token", func(s *sheet, x, y float64) { s.rect(box{x + 8, y - 7, x + 16, y + 7}, "bar "+mode, "") })
	}
	there := func(has func(*lane) bool) bool {
		return slices.ContainsFunc(l.lanes, func(i int) bool { return has(&l.run.lanes[i]) })
	}
	add(there(func(l *lane) bool { return len(l.leased) > 0 }), "lease", func(s *sheet, x, y float64) { s.rect(box{x + 10, y - 7, x + 14, y + 7}, "lease", "") })
	add(there(func(l *lane) bool { return len(l.reigns) > 0 }), "may grant", func(s *sheet, x, y float64) { s.rect(box{x + 10, y - 7, x + 14, y + 7}, "reign", "") })
	add(there(func(l *lane) bool {
		return len(l.up) == 0 || len(l.up) > 1 || l.up[0].to != forever || l.up[0].from > 0
	}), "not running", func(s *sheet, x, y float64) { s.line(x+12, y-8, x+12, y+8, "down") })
	for _, sort := range []struct {
		kind timeline.Kind
		text string
	}{
		{timeline.Started, "starts, wakes"}, {timeline.Stopped, "ends"}, {timeline.Paused, "paused"}, {timeline.Viewed, "view epoch:number"},
		{timeline.Lapsed, "lease over"}, {timeline.Fault, "fault"},
	} {
		used := slices.ContainsFunc(l.signs, func(m sign) bool { return m.kind == sort.kind })
		add(used, sort.text, func(s *sheet, x, y float64) { signShape(s, sort.kind, x+12, y) })
	}
	guilty := slices.ContainsFunc(l.choice.bars, func(b *bar) bool { return b.guilty })
	add(guilty, "part of the broken promise", func(s *sheet, x, y float64) { s.rect(box{x + 8, y - 7, x + 16, y + 7}, "bar guilty", "") })
	return all
}
