package draw

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// head makes room for the title, and for the names of the lanes.
func (l *layout) head() {
	l.top = margin + 26 + lineStep*float64(len(l.preface())) + 10
	l.heads = append(l.heads, l.top)
	l.y = l.top + headSize + 14
	l.headed = l.y
}

// preface is the text below the title.
func (l *layout) preface() (lines []string) {
	room := int((l.width - 2*margin) / (labelSize * em))
	if l.picture.Repeat != "" {
		lines = append(lines, wrap(clean(l.picture.Repeat), room)...)
	}
	return append(lines, wrap(l.summary(), room)...)
}

// put finds the height at which a label has room in a gap, at l.y or below it, and takes that room.
func (l *layout) put(lane int, toRight bool, text, title, class string, below float64) {
	gap := l.gap(lane, toRight)
	x := l.xs[l.column[lane]]
	room := l.room(lane, toRight)
	text = fit(text, max(1, int(room/(labelSize*em))))
	size := wide(text, labelSize)
	b := box{x1: x + l.rightRoom(lane)}
	if !toRight {
		b.x1 = x - leftRoom - size
	}
	b.x2 = b.x1 + size
	free := func() bool {
		b.y1, b.y2 = l.y+below, l.y+below+lineStep-1
		for _, o := range l.filled[gap] {
			if b.overlaps(o) {
				l.y = max(o.y2-below, l.y+grain)
				return false
			}
		}
		return true
	}
	for !free() { // each time it moves below something in the way
		continue
	}
	l.filled[gap] = append(l.filled[gap], b)
	l.labels = append(l.labels, label{box: b, text: text, title: title, class: class, right: !toRight})
}

// room is the maximum width of a label of a lane.
func (l *layout) room(lane int, toRight bool) float64 {
	i := l.column[lane]
	switch {
	case toRight && i+1 < len(l.lanes):
		return l.xs[i+1] - leftRoom - l.xs[i] - l.rightRoom(lane)
	case toRight:
		return l.right - l.xs[i] - l.rightRoom(lane)
	case i > 0:
		return l.xs[i] - leftRoom - l.xs[i-1] - l.rightRoom(l.lanes[i-1])
	}
	return l.xs[0] - leftRoom - l.left
}

// send places the start of a message, and its end too if it does not arrive.
func (l *layout) send(m *message) {
	l.stamp()
	l.started[m] = l.y
	if !l.stub(m) {
		return
	}
	lane, toRight := l.side(m)
	l.put(lane, toRight, l.caption(m), l.messageTitle(m), m.class(), 3)
	x := l.xs[l.column[lane]]
	reach := min(l.room(lane, toRight), 60) + l.rightRoom(lane)
	if !toRight {
		reach = -min(l.room(lane, toRight), 60) - leftRoom
	}
	l.arrows = append(l.arrows, arrow{message: m, x1: x, y1: l.y, x2: x + reach, y2: l.y, stub: true})
}

// arrive places the end of a message.
func (l *layout) arrive(m *message) {
	begin, known := l.started[m]
	l.y = max(l.y, begin+2)
	lane, toRight := l.side(m)
	l.put(lane, toRight, l.caption(m), l.messageTitle(m), m.class(), 3)
	l.stamp()
	a := arrow{message: m, x1: l.xs[l.column[m.from]], y1: begin, x2: l.xs[l.column[m.to]], y2: l.y}
	if !known { // it was sent before the window: only its end is shown
		a.x1, a.y1 = a.x2-40, l.y-6
		if toRight {
			a.x1 = a.x2 + 40
		}
	}
	l.arrows = append(l.arrows, a)
}

// class is the style class of a message.
func (m *message) class() string {
	switch {
	case m.fate == lost:
		return "lost"
	case m.copy:
		return "copy"
	case m.late:
		return "late"
	}
	return "msg"
}

// messageTitle is the full description of a message.
func (l *layout) messageTitle(m *message) string {
	text := fmt.Sprintf("%s → %s, sent at %s", l.run.lanes[m.from].name, l.run.lanes[m.to].name, seconds(m.sent))
	switch m.fate {
	case delivered:
		text += ", arrived at " + seconds(m.end)
	case lost:
		text += ", lost: " + m.why
	default:
		text += ", under way"
	}
	if m.copy {
		text += ", delivered once more"
	}
	return text + "\n" + m.text
}

// begin begins a bar.
func (l *layout) begin(b *bar) {
	l.put(b.lane, true, l.holding(b), l.barTitle(b), "held", -5)
	l.stamp()
	p := l.bars[b]
	p.y1, p.placed = l.y, true
}

// barTitle is the full description of a bar.
func (l *layout) barTitle(b *bar) string {
	text := fmt.Sprintf("%s holds %q, %s, token %s, from %s", b.by, b.name, b.mode, timeline.Token(b.token), seconds(b.from))
	switch {
	case b.to != forever:
		text += fmt.Sprintf(" to %s: %s", seconds(b.to), b.why)
	case b.believed > 0:
		text += fmt.Sprintf(", and believes in it until %s", seconds(b.believed))
	}
	return text
}

// finish ends a bar. If the end was not its holder's wish, the label has the reason.
func (l *layout) finish(b *bar) {
	p := l.bars[b]
	l.y = max(l.y, p.y1+9)
	if text := l.ending(b); text != "" {
		l.put(b.lane, true, text, l.barTitle(b), "held", -5)
	}
	l.stamp()
	p.y2 = l.y
}

// opening begins the bars that began before the window.
func (l *layout) opening() {
	for _, b := range l.choice.bars {
		if b.from < l.from {
			l.begin(b)
			l.bars[b].y1 = l.top + headSize
		}
	}
}

// closing ends the elements that are open at the end of the window.
func (l *layout) closing() {
	l.y = l.bottom() + 10
	for _, p := range l.pieces {
		if p.to > l.to {
			p.y2 = l.y - 2
			if l.ended > 0 {
				p.y2 = l.ended
			}
		}
	}
	l.anchors = append(l.anchors, anchor{l.to, l.y})
}

// sign places a mark: on its lane or, if it concerns several, across all.
func (l *layout) sign(m *mark) {
	if len(m.lanes) != 1 {
		l.across(m)
		return
	}
	text := l.marked(m)
	x := l.xs[l.column[m.lanes[0]]]
	class := "mark"
	if m.kind == timeline.Fault || m.kind == timeline.Stopped || m.kind == timeline.Paused {
		class = "fault"
	}
	l.put(m.lanes[0], true, text, l.markTitle(m), class, -5)
	l.stamp()
	l.signs = append(l.signs, sign{mark: m, x: x, y: l.y})
	l.y += 4
}

// markTitle is the full description of a mark.
func (l *layout) markTitle(m *mark) string {
	text := fmt.Sprintf("%s, %v", seconds(m.at), m.kind)
	for _, lane := range m.lanes {
		text += " " + l.run.lanes[lane].name
	}
	for _, more := range []string{m.short, m.text} {
		if more != "" {
			text += "\n" + more
		}
	}
	if m.until > 0 {
		text += "\nuntil " + seconds(m.until)
	}
	return text
}

// across places a mark that concerns several lanes.
func (l *layout) across(m *mark) {
	text := clean(m.text)
	if m.until > m.at && !m.over {
		text += " for " + short(m.until-m.at)
	}
	class := "cut"
	if m.kind == timeline.Remark {
		class = "remark"
	}
	y := l.bottom() + 3
	b := band{box: box{l.left, y, l.right, y + 18}, class: class, mark: m, lines: []string{fit(text, int((l.right-l.left-12)/(labelSize*em)))}}
	l.bands = append(l.bands, b)
	l.block(b.box)
	l.y = y + 9
	l.stamp()
	l.y = y + 24
}
