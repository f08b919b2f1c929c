package sim

import (
	"reflect"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// counts is what happened in one run or in many.
type counts struct {
	covering bool // handlers are counted, too

	faults    [faultCount]int
	grants    int
	failures  int
	reigns    int
	lost      int
	losses    map[holdfast.Loss]int // of those, why; and what hold limits have ended
	phases    [phaseCount]int       // runs that have come so far
	guests    int                   // runs that have members without a vote
	rests     [restCount]int        // members who stayed so while a core was healed
	absent    int                   // clients who stayed away meanwhile
	grown     int                   // cores that came to need more members
	costs     [probe.Deeds]int      // deeds whose messages were counted
	moves     moves                 // what concerns an authority that moves
	peers     [peerCount]int        // what concerns members that ask one another
	logs      [logCount]int         // what concerns members' journals
	busy      int                   // heartbeats that came to a paused member before their sessions had ended
	inherited [inheritedCount]int   // what came of sessions that were taken over
	meddled   [meddledCount]int     // what came of calls with a client's credentials
	together  [togetherCount]int    // what came of names that were asked for together
	crossed   [crossedCount]int     // what came of breaks while the authority moves
	votes     map[string]int        // how who votes has changed
	again     [againCount]int       // what concerns calls that are made again
	leads     leads                 // what concerns leaders that number tickets
	kept      map[string]int        // what concerns cells that are kept
	deaf      [deafCount]int        // what concerns leaders that hear no other member
	far       [farCount]int         // what concerns members that are far from each other
	stale     int                   // writes that the register refused
	histories int                   // of names, that were compared with a model
	undecided int                   // of those, in the bound of steps
	unlinked  int                   // runs in which one link was cut for good when all had settled
	placed    int                   // members that were to become the authority because they lock most
	longest   time.Duration         // that anything was under way
	messages  map[message]int
	handlers  map[handler]int
	steps     [machineCount][]kindCount // of this run, which handlers does not have yet
}

// The phases of a run.
const (
	phaseFaults = iota
	phaseCore
	phaseCoreSettled
	phaseHealed
	phaseSettling
	phaseSettled
	phaseCount
)

var phaseNames = [phaseCount]string{"faults", "core healed", "core settled", "healed", "settling", "settled"}

// The machines of a member.
const (
	theSessions = iota
	theMembership
	theSpace
	machineCount
)

var machineNames = [machineCount]string{"sessions", "membership", "space"}

// kindCount counts the steps of a machine with one kind of event and fact. There are a few
// dozen of them, the most frequent in front: so that to count costs next to nothing.
type kindCount struct {
	kind protocol.Kind
	fact reflect.Type
	n    int
}

// message is a type of message, at the membership or at a space.
type message struct {
	below bool
	is    reflect.Type
}

// handler is what a machine can be stepped with.
type handler struct {
	machine string
	kind    protocol.Kind
	fact    reflect.Type
}

func newCounts(covering bool) *counts {
	return &counts{covering: covering, losses: map[holdfast.Loss]int{}, votes: map[string]int{}, kept: map[string]int{}, messages: map[message]int{}, handlers: map[handler]int{}}
}

func (c *counts) sent(port protocol.Port, m protocol.Message) {
	c.messages[message{port == protocol.Below, reflect.TypeOf(m)}]++
	if carrier, is := m.(protocol.Carrier); is {
		c.messages[message{false, reflect.TypeOf(carrier.Carried())}]++
	}
}

// add adds what happened in another run.
func (c *counts) add(o *counts) {
	for machine, list := range o.steps {
		for _, t := range list {
			c.handlers[handler{machineNames[machine], t.kind, t.fact}] += t.n
		}
	}
	sum(c.faults[:], o.faults[:])
	c.grants += o.grants
	c.failures += o.failures
	c.reigns += o.reigns
	c.lost += o.lost
	c.guests += o.guests
	c.absent += o.absent
	c.grown += o.grown
	c.moves.add(&o.moves)
	c.leads.add(&o.leads)
	sum(c.peers[:], o.peers[:])
	sumBy(c.kept, o.kept)
	sum(c.far[:], o.far[:])
	sum(c.deaf[:], o.deaf[:])
	sum(c.logs[:], o.logs[:])
	sumBy(c.votes, o.votes)
	c.busy += o.busy
	sum(c.inherited[:], o.inherited[:])
	sum(c.meddled[:], o.meddled[:])
	sum(c.together[:], o.together[:])
	sum(c.crossed[:], o.crossed[:])
	sum(c.again[:], o.again[:])
	sum(c.costs[:], o.costs[:])
	sum(c.rests[:], o.rests[:])
	sum(c.phases[:], o.phases[:])
	sumBy(c.losses, o.losses)
	c.stale += o.stale
	c.histories += o.histories
	c.undecided += o.undecided
	c.unlinked += o.unlinked
	c.placed += o.placed
	c.longest = max(c.longest, o.longest)
	sumBy(c.messages, o.messages)
	sumBy(c.handlers, o.handlers)
}

// sumBy adds counts of another run to those of the same things.
func sumBy[K comparable](to, of map[K]int) {
	for k, n := range of {
		to[k] += n
	}
}

// sum adds counts of another run to those of the same things.
func sum(to, of []int) {
	for i, n := range of {
		to[i] += n
	}
}

// watch puts a counter before each machine, if handlers are counted.
func (c *counts) watch(b Built) (below protocol.Machine, spaces []protocol.Machine) {
	if !c.covering {
		return b.Below, b.Spaces
	}
	for _, space := range b.Spaces {
		spaces = append(spaces, &watched{space, c, theSpace})
	}
	return &watched{b.Below, c, theMembership}, spaces
}

// watched is a machine whose steps are counted.
type watched struct {
	protocol.Machine
	counts *counts
	which  int
}

func (m *watched) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.counts.step(m.which, &ev)
	m.Machine.Step(now, ev, out)
}

func (c *counts) step(machine int, ev *protocol.Event) {
	if !c.covering {
		return
	}
	fact := reflect.TypeOf(ev.Fact)
	all := c.steps[machine]
	for i := range all {
		if t := &all[i]; t.fact == fact && t.kind == ev.Kind {
			if t.n++; i > 0 && all[i-1].n < t.n {
				all[i-1], all[i] = all[i], all[i-1]
			}
			return
		}
	}
	c.steps[machine] = append(all, kindCount{ev.Kind, fact, 1})
}
