package sim

import (
	"fmt"
	"strings"
	"time"

	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Costs: a protocol is published with a formula for the number of messages that a lock takes. An implementation that
// sends more keeps every promise, but is slower than promised. So a protocol may list the costs of users' acts
// (Protocol.Costs). In runs without faults each act is done several times when everything has settled and no other user
// is active. The count covers the messages between spaces that the network sees, lost or not; those of sessions and of
// the membership flow all the time and do not count.

// deedsInARow is how often an act is done while its messages are counted.
const deedsInARow = 5

// meter records the messages that the network sees.
type meter struct{ seen []string }

// saw records a message.
func (m *meter) saw(from *process, to string, message protocol.Message) {
	m.seen = append(m.seen, fmt.Sprintf("%s→%s %T", from.name, to, message))
}

// checkCosts performs each act with a listed cost, and counts its messages. Where the number of locks of a session is
// small, an unacknowledged release would still count as a lock.
func (w *world) checkCosts() {
	if !w.settings.costs || w.settings.locksPerSession > 0 || w.protocol.Costs == nil || w.judge.violation != nil || w.over() {
		return
	}
	decider := w.decider()
	if decider == nil {
		decider = w.coordinator() // the first member that asks for a name will be it
	}
	users := w.payers(decider)
	for i := range users {
		if w.protocol.Moves { // the decider is looked up once, and known from then on
			w.rehearse(&probe.Cost{Deed: probe.CycleAtCoordinator}, users[i:], 1)
		}
	}
	for _, cost := range w.protocol.Costs(len(w.members)) {
		if cost.Deed == probe.Become && len(users) == 3 {
			w.rehearse(&cost, users, 2) // from here on each of the two takes the other's place in turn
		}
		if len(users) == 3 || len(users) == 1 && cost.Deed == probe.CycleAtCoordinator {
			w.measure(&cost, users)
		}
	}
}

// payers makes the users whose acts are counted: one at the member that decides and, if there are enough members, one
// at each of two others.
func (w *world) payers(decider *process) (users []*client) {
	at := []*process{decider}
	for _, m := range w.members {
		if m != decider {
			at = append(at, m)
		}
	}
	if len(at) < 3 {
		at = at[:1]
	}
	for i, m := range at[:min(len(at), 3)] {
		c := &client{world: w, number: int32(len(w.clients)), name: fmt.Sprintf("payer%d", i), ttl: w.settings.lease / 2, places: []*process{m}}
		c.clock = dial{rate: million}
		w.clients = append(w.clients, c)
		w.reporter.emit(timeline.Event{Kind: timeline.Lane, Who: c.name, Client: true})
		c.start()
		c.workers = c.workers[:0]
		users = append(users, c)
	}
	return users
}

// rehearse performs an act a number of times without counting.
func (w *world) rehearse(cost *probe.Cost, users []*client, times int) {
	d := &doing{cost: cost, users: users, left: times}
	d.begin()
	w.run(w.now + 2*time.Second)
	d.end()
}

// measure performs one act several times, and compares the number of messages with the allowed one.
func (w *world) measure(cost *probe.Cost, users []*client) {
	w.run(w.now + 2*time.Second) // for messages in flight
	w.trace("%v, %d times, takes %d to %d messages each (%s)", cost.Deed, deedsInARow, cost.Least, cost.Most, cost.Formula)
	w.meter = &meter{}
	d := &doing{cost: cost, users: users, left: deedsInARow}
	d.begin()
	w.run(w.now + 5*time.Second)
	seen := w.meter.seen
	w.meter = nil
	w.count.hits[costOf(cost.Deed)]++
	d.end()
	w.run(w.now + time.Second)
	if w.judge.violation != nil {
		return
	}
	if d.left > 0 {
		w.judge.violate(liveness, "%v: %d of %d were not done within 5s, though nothing is wrong (%v)", cost.Deed, d.left, deedsInARow, d.err)
		return
	}
	w.judge.cost(cost, deedsInARow, seen)
}

// cost checks the number of messages of a number of acts in a row.
func (j *judge) cost(cost *probe.Cost, deeds int, seen []string) {
	least, most := deeds*cost.Least, deeds*cost.Most+cost.Tail
	if len(seen) >= least && len(seen) <= most {
		return
	}
	j.violate(frugality, "%v, %d times, has taken %d messages, and %d to %d are allowed: %d to %d each, and %d at the end (%s): %s",
		cost.Deed, deeds, len(seen), least, most, cost.Least, cost.Most, cost.Tail, cost.Formula, strings.Join(seen, ", "))
}

// frugality is the promise that is broken when an act's cost differs from its formula.
const frugality = "cost"

// doing is an act that is repeated. As an asker it receives the outcome of its requests.
type doing struct {
	cost  *probe.Cost
	users []*client
	left  int
	first *request // of a hand-over, or the one that keeps the name while others try
	err   error
}

func (d *doing) begin() {
	switch d.cost.Deed {
	case probe.CycleAtCoordinator:
		d.acquire(d.users[0], false)
	case probe.CycleElsewhere:
		d.acquire(d.users[1], false)
	case probe.Become:
		d.moves()
	default:
		who := d.users[0]
		if d.cost.Deed == probe.HandOver {
			who = d.users[1]
		}
		d.first = d.acquire(who, false)
	}
}

// moves lets an operator make one of two members that do not coordinate the authority: the one that is not.
func (d *doing) moves() {
	w := d.users[0].world
	var to *process
	for i, left := 0, 2; i < len(w.members) && left > 0; i++ {
		if m := w.members[i]; m != w.coordinator() {
			left--
			if _, decides := m.reigns(); !decides {
				to = m
			}
		}
	}
	replies := sinkFunc(func(reply *protocol.Reply) {
		answer, is := reply.Result.(*protocol.Transferred)
		switch {
		case !is:
		case answer.Err != nil:
			d.err = answer.Err
		default:
			d.done()
		}
	})
	call := protocol.CallID{Sink: to.attach(replies), Op: 1}
	to.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: call, Fact: &protocol.Transfer{To: to.id}})
}

// acquire makes a user ask for the name.
func (d *doing) acquire(who *client, try bool) *request {
	c := d.cost
	r := who.stream.acquire(wantedLock{name: "cost", mode: c.Mode, units: c.Units, capacity: c.Capacity, try: try}, d)
	who.arm()
	return r
}

// end releases the kept name.
func (d *doing) end() {
	if d.first != nil && d.first.State() == clientsession.Held {
		d.first.client.stream.abandonOrUnlock(d.first)
		d.first.client.arm()
	}
}

// granted continues the act.
func (d *doing) granted(r *request) {
	w := r.client.world
	switch {
	case r != d.first:
		r.client.stream.abandonOrUnlock(r)
		d.done()
	case d.cost.Deed == probe.TryRefused:
		d.acquire(d.users[1], true)
	default:
		d.acquire(d.users[2], false)
		w.do(w.now+handsOver, d.end)
	}
}

// handsOver is the time after which a holder gives the name to the user that asks for it; by then that user is in the
// queue.
const handsOver = 20 * time.Millisecond

// done begins the next act; if it involves other users, once the messages of this one have arrived.
func (d *doing) done() {
	d.left--
	w := d.users[0].world
	switch {
	case d.left <= 0:
	case d.cost.Deed == probe.TryRefused:
		d.acquire(d.users[1], true)
	case d.cost.Deed == probe.HandOver, d.cost.Deed == probe.Become:
		w.do(w.now+handsOver, d.begin)
	default:
		d.begin()
	}
}

// failed takes a refusal, which is the expected outcome of a try.
func (d *doing) failed(_ *request, err error) {
	if d.cost.Deed == probe.TryRefused {
		d.done()
		return
	}
	d.err = err
}

func (d *doing) extended(_ *request, err error) { d.err = err }
