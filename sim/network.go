package sim

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// network carries messages between members, without any guarantee: the fate of each message is drawn.
type network struct {
	world *world
	// cut has the end of the cut from one place to another.
	cut [][]instant
	// last has the arrival of the latest message from one place to another; the next must not overtake it unless it is
	// reordered.
	last [][]instant
	of   map[protocol.ID]*process // the place of the member with that id, present or past; nil if no member has ever had it
}

func newNetwork(w *world, places int) network {
	n := network{world: w, of: map[protocol.ID]*process{}}
	for range places {
		n.cut = append(n.cut, make([]instant, places))
		n.last = append(n.last, make([]instant, places))
	}
	return n
}

// send takes one message from a member.
func (n *network) send(from *process, e *protocol.Envelope) {
	w := n.world
	if e.To == protocol.Storage {
		w.keep(from, e)
		return
	}
	to := n.receiver(e)
	if w.tape != nil && to != nil {
		w.tape.begin(from.name+"→"+to.name, strings.TrimPrefix(reflect.TypeOf(e.Message).String(), "*"))
	}
	s := w.scope()
	if w.tracing {
		w.detail("%s → %s:%d  %T %v", from, receiverName(to, e), e.Port, e.Message, e.Message)
	}
	w.count.sent(e.Port, e.Message)
	if w.meter != nil && e.Port != protocol.Below {
		w.meter.saw(from, receiverName(to, e), e.Message)
	}
	if w.settings.restless > 0 || w.replaying() {
		w.nemesis.silence(from, e.Message)
	}
	if w.protocol.Position != nil && w.protocol.Request != nil {
		n.follow(from, e.Message)
	}
	if to == nil {
		return // no member is there: lost, as on any network
	}
	w.goOn(s)
	w.sends(from, to, e.Message)
	eventID := w.reporter.sent(from, to.name, e.Port, e.Message)
	if n.cut[from.place][to.place] > w.now {
		w.detail("        lost: cut")
		w.misses(to, e.Message)
		w.reporter.lost(eventID, "the network is cut")
		return
	}
	if w.odds("lost", w.weather.loss) {
		w.hit(Loss)
		w.detail("        lost")
		w.misses(to, e.Message)
		w.reporter.lost(eventID, "lost")
		return
	}
	t := task{kind: taskMessage, to: to.place, id: uint64(e.To), from: uint64(from.id), port: uint16(e.Port), fact: e.Message, eventID: eventID}
	w.at(n.arrival(from.place, to.place), t)
	if w.odds("twice", w.weather.duplicate) {
		w.hit(Duplicate)
		t.eventID = w.reporter.copied(eventID)
		w.at(n.arrival(from.place, to.place), t)
	}
}

// follow reports to the judge the way of a request into the queue. A member's request in the very step of a client's
// call is that client's request.
func (n *network) follow(from *process, m protocol.Message) {
	w := n.world
	if r := from.current; r != nil {
		if at, ok := w.protocol.Request(m); ok && at.Session == r.Session && at.Name == r.Name {
			w.judge.requestsOf(at.Name, requestKey{at.Session, at.Request}, requestKey{r.Session, r.ID})
			return
		}
	}
	if at, ok := w.protocol.Request(m); ok && w.protocol.Decides != nil {
		// Where reigns outlive views, a member that a view drops has lost its place in the queues, and arrives again.
		w.judge.leaves(at.Name, w.judge.clientRequests[requestKey{at.Session, at.Request}])
	}
	switch at, ok := w.protocol.Position(m); {
	case ok && at.Token != 0:
		w.judge.gives(at.Name, at.Token, requestKey{at.Session, at.Request})
	case ok && at.Gone:
		w.judge.leaves(at.Name, w.judge.clientRequests[requestKey{at.Session, at.Request}])
	case ok && n.current(at):
		if w.protocol.Decides != nil {
			at.Reign = protocol.Epoch{Candidate: at.Reign.Candidate}
			at.Reign.Counter, _ = from.reigns()
		}
		w.judge.stands(at.Name, requestKey{at.Session, at.Request}, at.Reign)
	}
}

// current reports whether the tenure under which a request was made still runs.
func (n *network) current(at probe.Standing) bool {
	m := n.of[protocol.ID(at.Session.Member)]
	return m != nil && m.up && m.view != nil && m.view.Lease.Tenure == at.Tenure
}

// receiver returns the member that a message goes to, or nil.
func (n *network) receiver(e *protocol.Envelope) *process {
	if e.To != protocol.AnyMember {
		return n.of[e.To]
	}
	for _, m := range n.world.members {
		if m.address == e.Address {
			return m
		}
	}
	return nil
}

func receiverName(to *process, e *protocol.Envelope) string {
	switch {
	case e.To == protocol.AnyMember:
		return e.Address
	case to == nil:
		return fmt.Sprint(e.To)
	}
	return to.name
}

// arrival draws when a message that is sent now arrives. Messages of one pair keep their order, except reordered ones.
func (n *network) arrival(from, to int32) instant {
	w := n.world
	when := w.now + w.latency() + w.way()
	if w.odds("reordered", w.weather.reorder) {
		w.hit(Reorder)
		return when
	}
	when = max(when, n.last[from][to])
	n.last[from][to] = when
	return when
}

// usualLatency is the default time of everything that a script does not mention.
const usualLatency = time.Millisecond

// latency chooses the time from one process to another: mostly that between machines of one room. With the fault delay,
// it sometimes exceeds every timeout and lease by far, up to 5 D.
func (w *world) latency() time.Duration {
	var d time.Duration
	if w.tape == nil {
		d = w.drawLatency()
	} else {
		d = w.tape.length("latency", usualLatency, w.drawLatency)
	}
	w.count.longest = max(w.count.longest, d)
	return d
}

func (w *world) drawLatency() time.Duration {
	usual := w.rand.between(100*time.Microsecond, w.weather.latency)
	if w.nemesis.stalled && !w.healed {
		w.nemesis.stalled = false
		w.hit(Delay)
		return 5 * w.settings.lease
	}
	if !w.rand.odds(w.weather.delay) {
		return usual
	}
	w.hit(Delay)
	switch x := w.rand.IntN(100); {
	case x < 60:
		return usual + w.rand.below(w.settings.lease/4)
	case x < 90:
		return usual + w.rand.below(2*w.settings.lease)
	default:
		return usual + w.rand.below(5*w.settings.lease)
	}
}

// deliver hands an arrived message to its member, if that still exists.
func (w *world) deliver(t *task) {
	m := w.members[t.to]
	if !m.up || t.id != uint64(protocol.AnyMember) && t.id != uint64(m.id) {
		w.reporter.lost(t.eventID, "the receiver is down")
		return
	}
	if m.paused {
		m.keep(*t)
		return
	}
	w.reporter.delivered(t.eventID)
	after := w.takes(m, protocol.ID(t.from), t.fact)
	m.step(protocol.Event{Kind: protocol.Receive, Port: protocol.Port(t.port), From: protocol.ID(t.from), Fact: t.fact})
	if after != nil {
		after()
	}
}
