package draw

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// forever is the end of elements that the timeline leaves open.
const forever = time.Duration(math.MaxInt64)

// fate is the outcome of a message.
type fate uint8

const (
	underWay fate = iota
	delivered
	lost
)

// lane is a process.
type lane struct {
	name   string
	client bool
	up     []span
	paused []span
	leased []span
	reigns []span
}

// span is a period in which a condition held.
type span struct{ from, to time.Duration }

// message is a sent message, or a copy of one.
type message struct {
	from, to   int
	sent, end  time.Duration // end is when it was delivered or lost
	fate       fate
	late       bool
	copy       bool
	routine    bool
	short      string
	text       string
	why        string
	name       string
	token      uint64
	said, done int // indexes in the timeline
}

// bar is a grant.
type bar struct {
	lane       int
	by         string
	name       string
	mode       string
	token      uint64
	from, to   time.Duration // to is forever while it lasts
	why        string        // it ended
	believed   time.Duration // for a current grant, the end of its holder's belief
	guilty     bool          // it is part of the broken promise
	begun, end int           // indexes in the timeline
	open       int           // number of its holds that are current
}

// mark is any other event of some lanes.
type mark struct {
	kind  timeline.Kind
	at    time.Duration
	lanes []int
	short string
	text  string
	until time.Duration
	place int // in the timeline
	over  bool
}

// breach is a broken promise.
type breach struct {
	promise string
	at      time.Duration
	name    string
	text    string
	lanes   []int
	bars    []*bar
	place   int
}

// run is a timeline in which every element has its beginning and its end.
type run struct {
	lanes    []lane
	messages []*message
	bars     []*bar
	marks    []*mark
	breach   *breach
	end      time.Duration
	length   int // of the timeline
}

// reader reads a timeline.
type reader struct {
	run
	index  map[string]int
	sent   map[uint64]*message
	grants map[uint64]*bar
}

// read makes a run of a timeline that timeline.Check accepts.
func read(events []timeline.Event) *run {
	r := &reader{index: map[string]int{}, sent: map[uint64]*message{}, grants: map[uint64]*bar{}}
	for _, clients := range []bool{false, true} { // members come before clients
		for i := range events {
			if events[i].Kind == timeline.Lane && events[i].Client == clients {
				r.enter(&events[i])
			}
		}
	}
	for i := range events {
		r.take(i, &events[i])
	}
	r.length = len(events)
	return &r.run
}

func (r *reader) enter(h *timeline.Event) {
	r.index[h.Who] = len(r.lanes)
	r.lanes = append(r.lanes, lane{name: h.Who, client: h.Client})
}

// take reads one event, at its index in the timeline.
func (r *reader) take(place int, h *timeline.Event) {
	r.end = h.At
	switch h.Kind {
	case timeline.Started, timeline.Stopped, timeline.Paused, timeline.Woke, timeline.Viewed, timeline.Leased, timeline.Lapsed, timeline.Reigned, timeline.Abdicated:
		r.standing(place, h)
	case timeline.Fault, timeline.Remark:
		r.begins(h)
		r.mark(place, h, r.all(h))
	case timeline.Sent:
		r.add(h.ID, &message{
			from: r.index[h.Who], to: r.index[h.To], sent: h.At, end: forever, routine: h.Routine, short: h.Short, text: h.Text, name: h.Name, token: h.Token, said: place,
		})
	case timeline.Copied:
		again := *r.sent[h.Of]
		again.copy, again.fate, again.end, again.late, again.why = true, underWay, forever, false, ""
		r.add(h.ID, &again)
	case timeline.Delivered, timeline.Lost:
		m := r.sent[h.ID]
		m.end, m.done, m.late, m.why, m.fate = h.At, place, h.Late, h.Why, delivered
		if h.Kind == timeline.Lost {
			m.fate = lost
		}
	case timeline.Granted, timeline.Ended, timeline.Held:
		r.hold(place, h)
	case timeline.Violated:
		r.violated(place, h)
	}
}

func (r *reader) add(id uint64, m *message) {
	r.sent[id] = m
	r.messages = append(r.messages, m)
}

// all lists the lanes of an event.
func (r *reader) all(h *timeline.Event) (lanes []int) {
	for _, name := range h.Lanes {
		lanes = append(lanes, r.index[name])
	}
	if len(lanes) == 0 && h.Who != "" {
		lanes = append(lanes, r.index[h.Who])
	}
	return lanes
}

func (r *reader) mark(place int, h *timeline.Event, lanes []int) {
	short := h.Short
	if h.Kind == timeline.Stopped || h.Kind == timeline.Fault && short == "" {
		short = h.Why
	}
	r.marks = append(r.marks, &mark{kind: h.Kind, at: h.At, lanes: lanes, short: short, text: h.Text, until: h.Until, place: place})
	if h.Kind == timeline.Fault && h.Until > h.At && len(lanes) > 1 {
		r.marks = append(r.marks, &mark{kind: h.Kind, at: h.Until, lanes: lanes, short: h.Short, text: h.Short + " is over", place: math.MaxInt, over: true})
	}
}

// begins removes the end of an earlier fault of several lanes if another fault of its kind replaces it at that instant,
// or if all faults end before.
func (r *reader) begins(h *timeline.Event) {
	r.marks = slices.DeleteFunc(r.marks, func(m *mark) bool {
		return m.over && (m.at > h.At && h.Why == "healed" || m.at == h.At && m.short == h.Short)
	})
}

// standing reads the state of a process from here on.
func (r *reader) standing(place int, h *timeline.Event) {
	who := r.index[h.Who]
	l := &r.lanes[who]
	switch h.Kind {
	case timeline.Started:
		open(&l.up, h.At)
	case timeline.Stopped:
		closeSpan(&l.up, h.At)
		closeSpan(&l.paused, h.At)
	case timeline.Paused:
		open(&l.paused, h.At)
	case timeline.Woke:
		closeSpan(&l.paused, h.At)
	case timeline.Leased:
		open(&l.leased, h.At)
		return
	case timeline.Lapsed:
		closeSpan(&l.leased, h.At)
	case timeline.Reigned:
		open(&l.reigns, h.At)
	case timeline.Abdicated:
		closeSpan(&l.reigns, h.At)
		return
	}
	r.mark(place, h, []int{who})
}

func open(spans *[]span, at time.Duration) {
	*spans = append(*spans, span{at, forever})
}

func closeSpan(spans *[]span, at time.Duration) {
	if n := len(*spans); n > 0 && (*spans)[n-1].to == forever {
		(*spans)[n-1].to = at
	}
}

// hold reads an event of a grant. Several holds of one token by one process are one bar: its owner has entered it
// again.
func (r *reader) hold(place int, h *timeline.Event) {
	if h.Kind == timeline.Granted {
		who := r.index[h.Who]
		for _, b := range r.bars {
			if b.open > 0 && b.lane == who && b.name == h.Name && b.token == h.Token {
				b.open++
				r.grants[h.ID] = b
				return
			}
		}
		b := &bar{
			lane: who, by: h.By, name: h.Name, mode: h.Mode, token: h.Token, from: h.At, to: forever, begun: place, open: 1,
		}
		r.grants[h.ID] = b
		r.bars = append(r.bars, b)
		return
	}
	b := r.grants[h.ID]
	if h.Kind == timeline.Held {
		b.believed = max(b.believed, h.Until)
		return
	}
	if b.open--; b.open == 0 {
		b.to, b.why, b.end = h.At, h.Why, place
	}
}

func (r *reader) violated(place int, h *timeline.Event) {
	if r.breach != nil {
		return // the first counts
	}
	r.breach = &breach{promise: h.Promise, at: h.At, name: h.Name, text: h.Text, lanes: r.all(h), place: place}
	for _, id := range h.Grants {
		b := r.grants[id]
		b.guilty = true
		r.breach.bars = append(r.breach.bars, b)
	}
}
