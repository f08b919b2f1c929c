package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// point is an element with its own height.
type point struct {
	at    time.Duration
	place int
	put   func()
}

// place gives everything its height, downward in the order of the timeline, each as high as the labels before it leave
// room for.
func (l *layout) place() {
	l.head()
	points := l.points()
	l.threshold = threshold(points)
	l.now = l.from
	if len(points) > 0 {
		l.now = points[0].at
	}
	l.opening()
	for i := range points {
		l.advance(points[i].at)
		points[i].put()
		l.anchors = append(l.anchors, anchor{l.now, l.y})
	}
	l.closing()
}

// points lists all elements that need a height, in the order of time.
func (l *layout) points() []point {
	var all []point
	for _, m := range l.messages {
		if m.sent >= l.from {
			all = append(all, point{m.sent, m.said, func() { l.send(m) }})
		}
		if !l.stub(m) {
			all = append(all, point{m.end, m.done, func() { l.arrive(m) }})
		}
	}
	for _, b := range l.choice.bars {
		if b.from >= l.from {
			all = append(all, point{b.from, b.begun, func() { l.begin(b) }})
		}
		if b.to <= l.to {
			all = append(all, point{b.to, b.end, func() { l.finish(b) }})
		}
	}
	for _, m := range l.marks {
		all = append(all, point{m.at, m.place, func() { l.sign(m) }})
	}
	if b := l.run.breach; b != nil && l.within(b.at) {
		all = append(all, point{b.at, math.MaxInt - 1, func() { l.broken(b) }})
	}
	slices.SortStableFunc(all, func(a, b point) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place, b.place)) })
	return all
}

// threshold is the length of silence from which the axis is broken: far longer than most steps of this picture.
func threshold(points []point) time.Duration {
	var steps []time.Duration
	for i := 1; i < len(points); i++ {
		if d := points[i].at - points[i-1].at; d > 0 {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return forever
	}
	slices.Sort(steps)
	return min(max(20*steps[len(steps)/2], 100*time.Millisecond), time.Second)
}

// advance moves down to an instant, across a break if much time passes.
func (l *layout) advance(at time.Duration) {
	passed := at - l.now
	switch {
	case passed > l.threshold:
		l.interrupt(at)
	case passed > 0:
		step := 3 + 2*math.Log2(1+float64(passed)/float64(time.Millisecond))
		l.y += math.Round(step/grain) * grain
	}
	if l.y-l.headed > headEvery {
		l.y = l.bottom() + 6
		l.heads = append(l.heads, l.y)
		l.block(box{l.left, l.y, l.right, l.y + headSize})
		l.y += headSize + 6
		l.headed = l.y
	}
	l.now = at
}

// stamp puts a time on the axis, if there is room since the last one.
func (l *layout) stamp() {
	if l.y-l.timed < 30 && l.timed > 0 {
		return
	}
	l.timed = l.y
	text := seconds(l.now)
	l.times = append(l.times, label{box: box{margin, l.y - 7, margin + wide(text, labelSize), l.y + 6}, text: text, class: "t"})
}

// interrupt breaks the axis.
func (l *layout) interrupt(at time.Duration) {
	l.anchors = append(l.anchors, anchor{l.now, l.y})
	y := l.bottom() + 4
	text := short(at-l.now) + " pass"
	if n, missing := l.silent(l.now, at); n > 0 {
		text += fmt.Sprintf(", %d routine or repeated messages", n)
		if missing > 0 {
			text += fmt.Sprintf(", %d of them lost", missing)
		}
	}
	b := band{box: box{l.left, y, l.right, y + 20}, lines: []string{text}}
	l.breaks = append(l.breaks, b)
	l.block(b.box)
	l.y = y + 26
	l.timed = 0
}

// silent counts the ticks between two instants.
func (l *layout) silent(from, to time.Duration) (n, missing int) {
	for _, m := range l.ticks {
		if m.sent > from && m.sent < to {
			n++
			if m.fate == lost {
				missing++
			}
		}
	}
	return n, missing
}

// bottom is the height below all labels and signs placed so far.
func (l *layout) bottom() float64 {
	y := l.y
	for _, gap := range l.filled {
		for i := range gap {
			y = max(y, gap[i].y2)
		}
	}
	return y
}

// block keeps a box across all lanes free.
func (l *layout) block(b box) {
	for i := range l.filled {
		l.filled[i] = append(l.filled[i], b)
	}
}

// height is the height of an instant: between two placed ones, in proportion.
func (l *layout) height(at time.Duration) float64 {
	n := len(l.anchors)
	if n == 0 {
		return l.top
	}
	i := sort.Search(n, func(i int) bool { return l.anchors[i].at >= at })
	switch {
	case i == n:
		return l.anchors[n-1].y
	case i == 0 || l.anchors[i].at == at:
		return l.anchors[i].y
	}
	a, b := l.anchors[i-1], l.anchors[i]
	return a.y + (b.y-a.y)*float64(at-a.at)/float64(b.at-a.at)
}
