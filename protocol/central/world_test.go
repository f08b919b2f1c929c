package central_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// The world of the random runs: members with their own clocks; a network that loses, duplicates, delays and reorders
// messages; clients that believe in their grants for as long as they may; and in place of the membership an oracle
// (oracle_test.go) that knows the truth and gives views and leases by the rules of docs/design/membership.md §3 and §4.

// term is the oracle's lease.
const term = 3 * time.Second

type world struct {
	rand    *rand.Rand
	now     time.Duration // true time
	seq     uint64
	queue   eventQueue
	members []*citizen
	oracle  oracle
	checks  *checks
	lossy   bool
	trace   func(string, ...any)
}

// citizen is one member and its clients.
type citizen struct {
	w       *world
	id      protocol.ID
	machine *central.Machine
	lease   *protocol.Lease
	offset  time.Duration
	rate    float64 // the rate of its clock: 1 to 1.05
	life    int     // number of starts
	down    bool
	cut     bool // it neither sends nor receives messages
	wake    time.Duration
	ids     uint64 // sessions opened
	clients []*client
	out     protocol.Effects
}

type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

type eventQueue []event

func (h eventQueue) Len() int { return len(h) }
func (h eventQueue) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventQueue) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventQueue) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventQueue) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + d, w.seq, do})
}

// run executes events until a time.
func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until && w.checks.failed == "" {
		next := heap.Pop(&w.queue).(event)
		w.now = next.at
		next.do()
	}
	w.now = max(w.now, until)
}

func newWorld(seed uint64, members int, trace func(string, ...any)) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 7)), lossy: true, trace: trace}
	w.checks = &checks{w: w, names: map[string]*nameHistory{}}
	w.oracle = oracle{w: w, epoch: 100}
	for i := range members {
		c := &citizen{w: w, id: protocol.ID(i + 1)}
		w.members = append(w.members, c)
		c.start()
		for range 3 {
			c.clients = append(c.clients, newClient(c, w.rand.IntN(3) == 0))
		}
	}
	return w
}

// start begins a life of the member, without memory of the one before.
func (c *citizen) start() {
	w := c.w
	m, err := central.New(central.Config{Self: c.id, Tuning: authority.Tuning{Chunk: 1 + w.rand.IntN(4)}})
	if err != nil {
		panic(err)
	}
	c.life++
	c.machine, c.down, c.cut = m, false, false
	c.rate = 1 + 0.05*w.rand.Float64()
	c.offset = time.Duration(w.rand.Int64N(int64(time.Hour)))
	c.wake = protocol.Never
	c.lease = &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}
	c.lease.Tenure.Incarnation = uint64(c.life)
}

// clock reads the member's clock at a true time.
func (c *citizen) clock(t time.Duration) protocol.Time {
	return c.offset + time.Duration(float64(t)*c.rate)
}

// trueTime is the time at which its clock will show t, rounded up.
func (c *citizen) trueTime(t protocol.Time) time.Duration {
	if t == protocol.Never {
		return protocol.Never
	}
	return time.Duration(float64(t-c.offset)/c.rate) + 1
}

func (c *citizen) step(ev protocol.Event) {
	if c.down {
		return
	}
	now := c.clock(c.w.now)
	c.machine.Step(now, ev, &c.out)
	out := c.out
	c.out = protocol.Effects{}
	for _, note := range out.Notes {
		c.w.trace("%v %d: %v", c.w.now, c.id, note)
	}
	for _, send := range out.Sends {
		c.w.send(c, send)
	}
	for _, fact := range out.Raises {
		c.w.oracle.raised(c, fact)
	}
	for _, reply := range out.Replies {
		c.deliver(reply)
	}
	c.schedule()
}

func (c *citizen) schedule() {
	at := c.trueTime(c.machine.Wake())
	if c.down || at == protocol.Never || at >= c.wake && c.wake > c.w.now {
		return
	}
	life := c.life
	c.wake = max(at, c.w.now+1)
	due := c.wake
	c.w.after(due-c.w.now, func() {
		if c.life == life && c.wake == due {
			c.wake = protocol.Never
			c.step(protocol.Event{Kind: protocol.Tick})
			c.schedule()
		}
	})
}

func (w *world) send(c *citizen, send protocol.Envelope) {
	to := w.members[send.To-1]
	w.trace("%v %d→%d %v", w.now, c.id, to.id, send.Message)
	if c.cut {
		return
	}
	copies := 1
	if w.lossy {
		switch w.rand.IntN(12) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	for range copies {
		delay := time.Duration(w.rand.Int64N(int64(20 * time.Millisecond)))
		if w.lossy {
			switch w.rand.IntN(10) {
			case 0:
				delay = time.Duration(w.rand.Int64N(int64(time.Second)))
			case 1:
				delay = time.Duration(w.rand.Int64N(int64(5 * term)))
			}
		}
		w.after(delay, func() {
			if !to.cut {
				to.step(protocol.Event{Kind: protocol.Receive, From: c.id, Fact: send.Message})
			}
		})
	}
}

// deliver hands the member's decision to a client.
func (c *citizen) deliver(reply protocol.Reply) {
	d := reply.Decision
	if d.Kind == 0 {
		return
	}
	c.w.trace("%v %d: %v #%d %v %q token=%d:%d %v %v", c.w.now, c.id, d.Session, d.Request, d.Kind, d.Name, d.Token>>32, uint32(d.Token), d.Loss, d.Err)
	for _, cl := range c.clients {
		if cl.session == d.Session {
			cl.onDecision(reply)
			return
		}
	}
}

func (c *citizen) String() string { return fmt.Sprintf("member %d", c.id) }

// opened draws a session that this life has opened.
func (c *citizen) opened() lock.SessionID {
	c.ids++
	return lock.SessionID{Member: uint64(c.id), Number: uint64(c.life)<<32 + c.ids}
}
