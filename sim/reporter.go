package sim

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// reporter reports the events of a run to its observer. Every method may be called on a nil reporter, which does
// nothing.
type reporter struct {
	world *world
	hear  func(timeline.Event)

	last   uint32              // number of a message
	ways   map[uint32]way      // messages in flight
	grants uint64              // how many were reported
	open   []holding           // current grants, in the order of their beginning
	known  map[believer]uint64 // the number of every grant, past ones included
	looked instant             // the last time of look
	leased []bool              // by place: whether the last report was that the member has a lease
	reigns []bool              // and that it may grant
	ended  bool
}

// way is a message in flight.
type way struct {
	to    string
	sent  instant
	usual time.Duration // the maximum for most messages
}

// holding is a current grant.
type holding struct {
	id uint64
	grant
}

func newReporter(w *world, hear func(timeline.Event)) *reporter {
	if hear == nil {
		return nil
	}
	return &reporter{
		world: w, hear: hear, ways: map[uint32]way{}, known: map[believer]uint64{},
		leased: make([]bool, w.settings.members), reigns: make([]bool, w.settings.members),
	}
}

// emit reports an event of this instant.
func (t *reporter) emit(h timeline.Event) {
	if t == nil {
		return
	}
	h.At = t.world.now
	t.hear(h)
}

// cast introduces all members, and then the others.
func (t *reporter) cast() {
	if t == nil {
		return
	}
	for _, m := range t.world.members {
		t.emit(timeline.Event{Kind: timeline.Lane, Who: m.name})
	}
	if t.world.store != nil {
		t.emit(timeline.Event{Kind: timeline.Lane, Who: theStore})
		t.emit(timeline.Event{Kind: timeline.Started, Who: theStore, Text: "the store"})
	}
	for _, c := range t.world.clients {
		t.emit(timeline.Event{Kind: timeline.Lane, Who: c.name, Client: true})
	}
	for _, s := range t.world.visitors {
		t.emit(timeline.Event{Kind: timeline.Lane, Who: s.name, Client: true})
		t.emit(timeline.Event{Kind: timeline.Started, Who: s.name})
	}
}

// life reports the beginning, the end, or a stay of a process.
func (t *reporter) life(kind timeline.Kind, who fmt.Stringer, why string) {
	t.emit(timeline.Event{Kind: kind, Who: who.String(), Why: why})
}

// paused reports that a process is paused for a while.
func (t *reporter) paused(who fmt.Stringer, length time.Duration) {
	if t != nil {
		t.emit(timeline.Event{Kind: timeline.Paused, Who: who.String(), Until: t.world.now + length})
	}
}

// unread reports the loss of messages that a process has not read.
func (t *reporter) unread(inbox []task) {
	if t == nil {
		return
	}
	for i := range inbox {
		t.lost(inbox[i].eventID, "its reader is gone")
	}
}

// fault reports a fault of some lanes, or of every member if no lane is named.
func (t *reporter) fault(f Fault, until instant, members []string, text string) {
	if t == nil {
		return
	}
	h := timeline.Event{Kind: timeline.Fault, Short: f.String(), Until: until, Lanes: members, Text: text}
	if len(members) == 0 {
		for _, m := range t.world.members {
			h.Lanes = append(h.Lanes, m.name)
		}
	}
	h.Who = h.Lanes[0]
	t.emit(h)
}

// befall reports a fault to the trace and to the observer. No named lane means every member.
func (w *world) befall(f Fault, until instant, members []string, format string, arguments ...any) {
	w.trace(format, arguments...)
	if w.reporter != nil {
		w.reporter.fault(f, until, members, fmt.Sprintf(format, arguments...))
	}
}

// spoilt reports that a disk is slow or full for a while.
func (t *reporter) spoilt(f Fault, member string, until instant) {
	condition := "slow"
	if f == DiskFull {
		condition = "full"
	}
	t.happened(f, until, member, "the disk of "+member+" is "+condition)
}

// happened reports one fault of one process.
func (t *reporter) happened(f Fault, until instant, member, text string) {
	t.fault(f, until, []string{member}, text)
}

// disconnected reports that the connection of a client breaks.
func (t *reporter) disconnected(l *link) {
	t.emit(timeline.Event{
		Kind: timeline.Fault, Who: l.client.name, Lanes: []string{l.client.name}, Short: "disconnected from " + l.member.name,
		Text: fmt.Sprintf("the connection of %s to %s breaks", l.client, l.member),
	})
}

// partitioned reports that the network has split into two sides.
func (t *reporter) partitioned(side []int, until instant) {
	if t == nil {
		return
	}
	var sides [2]string
	for i, m := range t.world.members {
		sides[side[i]] += " " + m.name
	}
	t.fault(Partition, until, nil, fmt.Sprintf("the network comes apart:%s |%s", sides[0], sides[1]))
}

// laneOf returns the lane of a holder, and its name there.
func laneOf(who fmt.Stringer) (lane, by string) {
	if l, within := who.(*ownClient); within {
		return l.member.name, l.String()
	}
	return who.String(), who.String()
}

// granted reports that a holder starts to believe.
func (t *reporter) granted(g *grant) {
	if t == nil {
		return
	}
	t.grants++
	t.known[g.holder] = t.grants
	t.open = append(t.open, holding{t.grants, *g})
	lane, by := laneOf(g.who)
	if r, is := g.holder.(*request); is {
		if user, named := r.asker.(fmt.Stringer); named {
			by = user.String()
		}
	}
	t.emit(timeline.Event{
		Kind: timeline.Granted, Who: lane, By: by, ID: t.grants, Name: g.name, Mode: g.mode.String(), Token: uint64(g.token),
		Text: g.String(),
	})
}

// dropped reports that a holder stops believing, because it released the lock or learned of a loss.
func (t *reporter) dropped(g *grant, why holdfast.Loss) {
	if t == nil {
		return
	}
	reason := "unlocked"
	if why != "" {
		reason = string(why)
	} else if !running(g.holder) {
		reason = "its process has ended"
	}
	for i := range t.open {
		if t.open[i].holder == g.holder {
			t.close(i, t.world.now, reason)
			return
		}
	}
}

// running reports whether the process of a holder is running.
func running(b believer) bool {
	switch b := b.(type) {
	case *request:
		return b.client.up
	case *taking:
		return b.local.alive()
	}
	return true
}

// close ends the grant at an index of the current ones.
func (t *reporter) close(i int, at instant, why string) {
	lane, _ := laneOf(t.open[i].who)
	t.hear(timeline.Event{At: at, Kind: timeline.Ended, Who: lane, ID: t.open[i].id, Name: t.open[i].name, Why: why})
	t.open = append(t.open[:i], t.open[i+1:]...)
}
