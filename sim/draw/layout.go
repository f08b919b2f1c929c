package draw

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// The dimensions of a picture, in pixels.
const (
	margin    = 16.0
	axisWidth = 84.0 // to the left of the first lane's gap: the times
	lineStep  = 14.0 // from a label to the next one below it
	leftRoom  = 13.0 // to the left of a lifeline: its lease
	barWidth  = 8.0
	barStep   = 10.0
	leastGap  = 64.0
	mostGap   = 188.0
	headEvery = 1200.0 // lane names are repeated after so much
	headSize  = 22.0
	grain     = 0.25 // all heights are multiples of it, so that sums of them are exact
)

// box is the room that an element takes.
type box struct{ x1, y1, x2, y2 float64 }

// overlaps reports whether two boxes share more than an edge.
func (b box) overlaps(o box) bool { return b.x1 < o.x2 && o.x1 < b.x2 && b.y1 < o.y2 && o.y1 < b.y2 }

// label is a text with its place.
type label struct {
	box
	text  string
	title string // shown on hover
	class string
	right bool // it ends at x2 instead of beginning at x1
}

// arrow is a message with its place.
type arrow struct {
	*message
	x1, y1, x2, y2 float64
	stub           bool // it ends before its lane
}

// piece is a bar with its place.
type piece struct {
	*bar
	x, y1, y2 float64
	placed    bool
}

// sign is a mark on one lane.
type sign struct {
	*mark
	x, y float64
}

// band is a box across all lanes.
type band struct {
	box
	class string
	lines []string
	mark  *mark
}

// anchor is the height of an instant.
type anchor struct {
	at time.Duration
	y  float64
}

// layout is a picture with all parts placed.
type layout struct {
	*choice
	picture   *Picture
	column    []int // by lane: its x position, or -1
	xs        []float64
	bars      map[*bar]*piece
	slots     []int // by lane: number of bars next to each other
	left      float64
	right     float64
	width     float64
	top       float64
	y         float64
	now       time.Duration
	headed    float64
	timed     float64
	threshold time.Duration
	filled    [][]box // by gap

	labels  []label
	arrows  []arrow
	pieces  []*piece
	signs   []sign
	bands   []band
	heads   []float64
	breaks  []band
	times   []label
	anchors []anchor
	started map[*message]float64
	ended   float64           // height of the broken promise, or 0
	brief   *strings.Replacer // shortens long tokens
}

func newLayout(c *choice, p *Picture) *layout {
	l := &layout{choice: c, picture: p, bars: map[*bar]*piece{}, started: map[*message]float64{}, column: make([]int, len(c.run.lanes)), slots: make([]int, len(c.run.lanes))}
	for i := range l.column {
		l.column[i] = -1
	}
	for i, lane := range c.lanes {
		l.column[lane] = i
	}
	l.brief = strings.NewReplacer(c.brief()...)
	l.placeBars()
	l.spread()
	return l
}

// placeBars puts each bar next to the bars of its lane that overlap it in time.
func (l *layout) placeBars() {
	var busy [][]*bar
	for range l.run.lanes {
		busy = append(busy, nil)
	}
	for _, b := range l.choice.bars {
		row := busy[b.lane]
		slot := slices.IndexFunc(row, func(o *bar) bool { return o.to < b.from })
		if slot < 0 {
			slot = len(row)
			row = append(row, b)
		}
		row[slot] = b
		busy[b.lane] = row
		l.slots[b.lane] = len(row)
		p := &piece{bar: b, x: float64(slot)}
		l.bars[b] = p
		l.pieces = append(l.pieces, p)
	}
}

// rightRoom is the width of a lane's bars.
func (l *layout) rightRoom(lane int) float64 { return 9 + barStep*float64(l.slots[lane]) }

// spread gives each lane its x position: the gap next to it has room for the longest label in it.
func (l *layout) spread() {
	gaps := make([]float64, len(l.lanes)+1)
	want := func(gap int, room float64) { gaps[gap] = max(gaps[gap], room) }
	for i, lane := range l.lanes {
		want(i, leftRoom+10+wide(l.nameOf(lane), nameSize)/2)
		want(i+1, l.rightRoom(lane)+leftRoom+14)
		want(i+1, 10+wide(l.nameOf(lane), nameSize)/2)
		if i > 0 {
			want(i, 24+wide(l.nameOf(lane), nameSize)/2+wide(l.nameOf(l.lanes[i-1]), nameSize)/2)
		}
	}
	for _, m := range l.messages {
		lane, toRight := l.side(m)
		want(l.gap(lane, toRight), l.clearance(lane, toRight)+wide(l.caption(m), labelSize))
	}
	for _, b := range l.choice.bars {
		want(l.gap(b.lane, true), l.clearance(b.lane, true)+max(wide(l.holding(b), labelSize), wide(l.ending(b), labelSize)))
	}
	for _, m := range l.marks {
		if len(m.lanes) == 1 {
			want(l.gap(m.lanes[0], true), l.clearance(m.lanes[0], true)+wide(l.marked(m), labelSize))
		}
	}
	x := margin + axisWidth
	l.left = x
	for i := range l.lanes {
		x += min(max(gaps[i], leastGap), mostGap)
		if i == 0 {
			x = l.left + min(max(gaps[0], leastGap/2), mostGap)
		}
		l.xs = append(l.xs, x)
	}
	l.right = x + min(max(gaps[len(l.lanes)], leastGap), mostGap)
	l.width = max(l.right+margin, 760)
	l.right = l.width - margin
	l.filled = make([][]box, len(l.lanes)+1)
}

// clearance is the room that a gap needs in addition to the label of a lane.
func (l *layout) clearance(lane int, toRight bool) float64 {
	other := l.column[lane] + 1
	room := l.rightRoom(lane) + 4
	if !toRight {
		room, other = leftRoom+4, l.column[lane]-1
	}
	switch {
	case other < 0 || other >= len(l.lanes):
	case toRight:
		room += leftRoom
	default:
		room += l.rightRoom(l.lanes[other])
	}
	return room
}

// gap is the number of the gap on one side of a lane.
func (l *layout) gap(lane int, toRight bool) int {
	if toRight {
		return l.column[lane] + 1
	}
	return l.column[lane]
}

// side returns the lane of a message's label, and the side: at the arrival, on the side from which it comes; for a
// message without an arrival, at the sender.
func (l *layout) side(m *message) (lane int, toRight bool) {
	rightwards := l.column[m.from] < l.column[m.to]
	if l.stub(m) {
		return m.from, rightwards
	}
	return m.to, !rightwards
}

// stub reports whether a message is drawn without reaching its lane: it was lost as soon as it was sent, or is in
// flight when the picture ends.
func (l *layout) stub(m *message) bool {
	return m.fate == underWay || m.end > l.to || m.fate == lost && m.end == m.sent
}

func (l *layout) nameOf(lane int) string { return fit(clean(l.run.lanes[lane].name), 18) }

// caption is the label at the head of an arrow.
func (l *layout) caption(m *message) string {
	text := m.short
	switch {
	case m.fate == lost:
		text += " ✕"
	case l.stub(m):
		text += " …"
	case m.copy:
		text += " ×2"
	}
	if m.fate == delivered && m.late && !l.stub(m) {
		text += " +" + strings.ReplaceAll(short(m.end-m.sent), " ", "")
	}
	return clean(l.brief.Replace(text))
}

// holding is the label at the beginning of a bar.
func (l *layout) holding(b *bar) string {
	text := fit(clean(b.name), 16) + " #" + l.brief.Replace(timeline.Token(b.token))
	if b.mode != "" && b.mode != "exclusive" {
		text += " " + b.mode
	}
	if b.from < l.from {
		text += " since " + seconds(b.from)
	}
	return text
}

// ending is the label at the end of a bar, if its holder did not ask for the end.
func (l *layout) ending(b *bar) string {
	if b.to == forever || b.why == "unlocked" {
		return ""
	}
	return "ends: " + clean(b.why)
}

// marked is the label of a sign.
func (l *layout) marked(m *mark) string {
	switch m.kind {
	case timeline.Started:
		return strings.TrimSpace("starts " + m.short)
	case timeline.Stopped:
		return m.short
	case timeline.Paused:
		return "paused"
	case timeline.Woke:
		return "wakes"
	case timeline.Lapsed:
		return "lease over"
	case timeline.Reigned:
		return "may grant"
	case timeline.Viewed:
		return clean(m.short)
	case timeline.Fault:
		if m.short != "" {
			return clean(m.short)
		}
	}
	return clean(m.text)
}

// short is a duration in three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
