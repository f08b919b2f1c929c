package sim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In a third of the runs of a durable space each client has one more user, a gatherer, which takes several names by one
// LockAll: package client's lockAll and tryTogether, and holdfast.TakeAll. It asks for the names in their order, and for many
// at the same time. When one is refused, the requests behind it are given up and their grants released, before the refused
// name is waited for. So a gatherer that waits holds only names before the one that it waits for, and no two of them wait for
// each other (P4).

// drawGathers draws whether there are gatherers, from a source of chance of its own.
func (s *settings) drawGathers(c *Config, r dice) {
	if drawn := r.IntN(3) == 0; !drawn || !c.Protocol.Logs || c.Faults == 0 {
		return
	}
	s.gathers, s.locksPerSession = true, 0
	s.atLeastNames(4)
}

// What is counted of names that are asked for together.
var (
	togetherAll     = mark{"together", "all granted at once"}
	togetherWaited  = mark{"together", "all granted after a wait"}
	togetherBehind  = mark{"together", "granted behind a refused name, and released"}
	togetherGivenUp = mark{"together", "given up half taken"} // and what the user had was released
	togetherLost    = mark{"together", "one lost while another is waited for"}
	togetherRefused = mark{"together", "refused half taken"} // by a request that was not a try, and the others were released
)

// gatherer is a thread of a client that takes several names together, works under all of them, and gives them back.
type gatherer struct {
	client *client
	call   int               // that it plans or makes, in the names of choices
	next   time.Duration     // when it has something to do
	until  time.Duration     // when it gives up waiting, or unlocks
	wanted []string          // names that it has still to take, in their order
	ahead  int               // how many of them to ask for at the same time
	batch  []*pendingRequest // requests that were made at the same time, and are not looked at yet
	one    *pendingRequest   // a request that waits by itself
	taken  []*request
	waited bool // a name was refused and is waited for, or was
	works  bool // it has all that it wanted
	probe  bool // it wants all names once, after all faults,
	probed bool // and has had them
}

// pendingRequest is one request of a gatherer, and what became of it.
type pendingRequest struct {
	request *request
	done    bool // there is an outcome:
	err     error
}

func newGatherer(c *client) *gatherer {
	g := &gatherer{client: c}
	g.plan(func() time.Duration { return c.world.rand.below(2 * c.world.settings.think) })
	return g
}

func (g *gatherer) String() string { return g.client.name + ".all" }

// plan sets when the gatherer takes names next, as worker.plan does.
func (g *gatherer) plan(pause func() time.Duration) {
	g.next, g.call = g.client.nextCall(g.String(), g.call, pause)
}

// chooses names the choices that follow after the gatherer's call.
func (g *gatherer) chooses() { g.client.chooses(g.String(), g.call) }

// idle reports whether the gatherer neither holds nor waits.
func (g *gatherer) idle() bool { return !g.works && len(g.wanted) == 0 }

// act does what the gatherer's time has come for.
func (g *gatherer) act() {
	g.next = protocol.Never
	switch {
	case g.works:
		g.rest()
	case g.idle():
		g.begin()
	default: // the Context of the call has ended
		g.client.world.trace("%s gives up waiting for %v", g, g.wanted)
		g.client.world.exercises(togetherGivenUp, len(g.taken) > 0)
		g.fail()
	}
}

// begin calls LockAll: for some names or, after all faults, for each once.
func (g *gatherer) begin() {
	w := g.client.world
	if w.settling && g.probed {
		return
	}
	g.chooses()
	for _, n := range w.settings.names {
		if w.settling || w.butOneIn(about(w, "takes", n.name), 4) {
			g.wanted = append(g.wanted, n.name)
		}
	}
	slices.Sort(g.wanted)
	if len(g.wanted) == 0 {
		g.rest()
		return
	}
	g.ahead, g.waited, g.probe, g.until = holdfast.MostTogether, false, w.settling, protocol.Never
	if patience := g.patience(); patience > 0 && !w.settling {
		g.until = g.client.now() + patience
	}
	g.next = g.until
	w.trace("%s wants %v together", g, g.wanted)
	g.acquireNext()
}

// patience chooses after what time the Context of a call ends; usually never, which is 0.
func (g *gatherer) patience() time.Duration {
	w := g.client.world
	return w.length("gives-up", 0, func() time.Duration {
		if patience := w.rand.between(20*time.Millisecond, 3*time.Second); w.rand.IntN(4) == 0 {
			return patience
		}
		return 0
	})
}

// acquireNext asks for the next names (holdfast.TakeAll).
func (g *gatherer) acquireNext() {
	count := min(g.ahead, len(g.wanted))
	g.ahead = min(2*g.ahead, holdfast.MostTogether)
	if count == 0 {
		g.done()
		return
	}
	if count == 1 {
		g.wait()
		return
	}
	for _, name := range g.wanted[:count] {
		want := g.client.world.exclusive(name)
		want.try = true
		g.batch = append(g.batch, g.enter(want))
	}
}

// wait asks for the first name that is wanted, by itself.
func (g *gatherer) wait() { g.one = g.enter(g.client.world.exclusive(g.wanted[0])) }

func (g *gatherer) enter(want wantedLock) *pendingRequest {
	return &pendingRequest{request: g.client.stream.acquire(want, g)}
}

// granted and failed note what became of a request.
func (g *gatherer) granted(r *request) {
	g.client.world.count.grants++
	g.client.world.trace("%s has %s, token %d", g, r.want.name, r.Token())
	g.learn(r, nil)
}

func (g *gatherer) failed(r *request, err error) {
	g.client.world.trace("%s does not get %s: %v", g, r.want.name, err)
	g.client.world.count.failures++
	g.client.world.judge.limited(err)
	g.learn(r, err)
}

// extended is for nothing: a gatherer asks for no other hold limit.
func (g *gatherer) extended(*request, error) {}

// learn takes the outcome of a request. Those that were made together are looked at in their order.
func (g *gatherer) learn(r *request, err error) {
	if i := g.one; i != nil && i.request == r {
		g.one = nil
		if err != nil {
			g.client.world.exercises(togetherRefused, len(g.taken) > 0)
			g.fail()
			return
		}
		g.take(r)
		g.acquireNext()
		return
	}
	at := slices.IndexFunc(g.batch, func(i *pendingRequest) bool { return i.request == r })
	if at < 0 {
		g.client.stream.abandon(r) // given up meanwhile
		return
	}
	g.batch[at].done, g.batch[at].err = true, err
	g.look()
}

// look goes through the outcomes of the requests that were made together (Client.tryTogether).
func (g *gatherer) look() {
	for len(g.batch) > 0 && g.batch[0].done {
		i := g.batch[0]
		g.batch = g.batch[1:]
		switch {
		case i.err == nil:
			g.take(i.request)
		case protocol.Mutated("nothing is held behind a name that is waited for"):
			g.wanted = append(g.wanted[1:], g.wanted[0]) // it is asked for by itself when the others are here
			g.ahead, g.waited = 1, true
		default:
			g.abandonAll()
			g.ahead, g.waited = 2, true
			g.wait()
			return
		}
	}
	if len(g.batch) == 0 {
		g.acquireNext()
	}
}

func (g *gatherer) take(r *request) {
	g.taken, g.wanted = append(g.taken, r), g.wanted[1:]
}

// abandonAll gives up the requests that are not looked at, the highest names first, and releases their grants
// (Client.abandonAll).
func (g *gatherer) abandonAll() {
	behind := g.batch
	g.batch = nil
	for _, i := range slices.Backward(behind) {
		g.client.world.exercises(togetherBehind, i.request.State() == clientsession.Held)
		g.client.stream.abandon(i.request)
	}
}

// done is that all names are taken. One may have been lost while another was waited for: then the others are released.
func (g *gatherer) done() {
	w, now := g.client.world, g.client.now()
	if slices.ContainsFunc(g.taken, func(r *request) bool { return !r.believes(now) }) {
		g.client.world.exercises(togetherLost, true)
		g.fail()
		return
	}
	w.trace("%s has all of its names", g)
	g.client.world.exercises(togetherAll, !g.waited)
	g.client.world.exercises(togetherWaited, g.waited)
	g.works, g.probed = true, g.probe
	g.chooses()
	g.until = now + w.hold()
	g.next = g.until
}

// fail ends the call without locks: what it has is released (Client.putBack).
func (g *gatherer) fail() {
	if g.one != nil {
		g.client.stream.abandon(g.one.request)
		g.one = nil
	}
	g.abandonAll()
	g.rest()
}

// rest gives back what the gatherer has, the highest names first, and makes a pause.
func (g *gatherer) rest() {
	w := g.client.world
	for _, r := range slices.Backward(g.taken) {
		g.client.stream.abandonOrUnlock(r)
	}
	g.taken, g.wanted, g.works = nil, nil, false
	think := w.settings.think
	if w.settling {
		think = 10 * time.Millisecond
	}
	g.plan(func() time.Duration { return w.rand.below(think) })
	if w.settling && g.probed {
		g.next = protocol.Never
	}
}

// settle lets the gatherer begin nothing new but to take all names once.
func (g *gatherer) settle() {
	if g != nil && g.idle() {
		g.next = g.client.now()
	}
}

// unsettle lets it want new things again.
func (g *gatherer) unsettle(pause func() time.Duration) {
	if g == nil {
		return
	}
	if g.probe, g.probed = false, false; g.idle() {
		g.plan(pause)
	}
}
