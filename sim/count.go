package sim

import (
	"reflect"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// counts is the tally of one run or many.
type counts struct {
	covering bool // whether handlers are counted

	faults    [faultCount]int
	hits      map[mark]int // of all rows except messages and handlers
	grants    int
	failures  int
	deadlocks int // requests that were refused rather than left in a cycle of waits
	reigns    int
	lost      int
	grown     int           // cores that came to need more members
	busy      int           // heartbeats that reached a paused member before their sessions ended
	stale     int           // writes that the register refused
	histories int           // histories of names compared with a model
	undecided int           // of those, within the bound of steps
	longest   time.Duration // longest time that a message was in flight
	messages  map[message]int
	handlers  map[handler]int
	steps     [machineCount]tally // of this run, not yet added to handlers
	sends     [2]tally            // of this run, not yet added to messages: between spaces, and below them
}

// The phases of a run, by how many have begun.
var (
	phaseFaults      = mark{"phase", "faults"}
	phaseCore        = mark{"phase", "core healed"}
	phaseCoreSettled = mark{"phase", "core settled"}
	phaseHealed      = mark{"phase", "healed"}
	phaseSettling    = mark{"phase", "settling"}
	phaseSettled     = mark{"phase", "settled"}
)

// The machines of a member.
const (
	theSessions = iota
	theMembership
	theSpace
	machineCount
)

var machineNames = [machineCount]string{"sessions", "membership", "space"}

// tally counts the steps of a machine by the kind of event and type of fact, or messages by type. It has a few dozen
// entries, the most frequent in front, so that counting is cheap.
type tally []kindCount

type kindCount struct {
	kind protocol.Kind
	fact reflect.Type
	n    int
}

func (t *tally) count(kind protocol.Kind, fact any) {
	is, all := reflect.TypeOf(fact), *t
	for i := range all {
		if one := &all[i]; one.kind == kind && one.fact == is {
			if one.n++; i > 0 && all[i-1].n < one.n {
				all[i-1], all[i] = all[i], all[i-1]
			}
			return
		}
	}
	*t = append(all, kindCount{kind, is, 1})
}

// message is a type of message, at the membership or at a space.
type message struct {
	below bool
	is    reflect.Type
}

// handler is an event that a machine can be stepped with.
type handler struct {
	machine string
	kind    protocol.Kind
	fact    reflect.Type
}

func newCounts(covering bool) *counts {
	return &counts{covering: covering, hits: map[mark]int{}, messages: map[message]int{}, handlers: map[handler]int{}}
}

func (c *counts) sent(port protocol.Port, m protocol.Message) {
	if port == protocol.Below {
		c.sends[1].count(0, m)
	} else {
		c.sends[0].count(0, m)
	}
	if carrier, is := m.(protocol.Carrier); is {
		c.sends[0].count(0, carrier.Carried())
	}
}

// add adds the counts of another run.
func (c *counts) add(o *counts) {
	for machine, list := range o.steps {
		for _, t := range list {
			c.handlers[handler{machineNames[machine], t.kind, t.fact}] += t.n
		}
	}
	for below, list := range o.sends {
		for _, t := range list {
			c.messages[message{below == 1, t.fact}] += t.n
		}
	}
	for f, n := range o.faults {
		c.faults[f] += n
	}
	c.grants += o.grants
	c.failures += o.failures
	c.deadlocks += o.deadlocks
	c.reigns += o.reigns
	c.lost += o.lost
	c.grown += o.grown
	c.busy += o.busy
	c.stale += o.stale
	c.histories += o.histories
	c.undecided += o.undecided
	c.longest = max(c.longest, o.longest)
	sumBy(c.hits, o.hits)
	sumBy(c.messages, o.messages)
	sumBy(c.handlers, o.handlers)
}

// sumBy adds the counts of another run by key.
func sumBy[K comparable](to, of map[K]int) {
	for k, n := range of {
		to[k] += n
	}
}

// watch wraps each machine in a counter, if handlers are counted.
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
	c.steps[machine].count(ev.Kind, ev.Fact)
}
