package sim

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/takeall"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In a third of the runs of a durable space each client has one more user, a gatherer, which takes several names with
// one LockAll (package internal/takeall). A waiting gatherer holds only names that precede the one that it waits for,
// so two of them never wait for each other (P4).

// drawGathers draws whether there are gatherers, from its own source of chance.
func (s *settings) drawGathers(c *Config, r dice) {
	if drawn := r.IntN(3) == 0; !drawn || !c.Protocol.Logs || c.Faults == 0 {
		return
	}
	s.gathers, s.locksPerSession = true, 0
	s.atLeastNames(4)
}

// Rows of coverage for names that are requested together.
var (
	togetherAll     = mark{"together", "all granted at once"}
	togetherWaited  = mark{"together", "all granted after a wait"}
	togetherBehind  = mark{"together", "granted behind a refused name, and released"}
	togetherGivenUp = mark{"together", "given up half taken"} // and what the user had was released
	togetherLost    = mark{"together", "one lost while another is waited for"}
	togetherRefused = mark{"together", "refused half taken"} // by a request that was not a try, and the others were released
)

// gatherer is a thread of a client that takes several names together, works under all of them, and releases them.
type gatherer struct {
	client *client
	call   int              // the planned or current call, in the names of choices
	next   time.Duration    // time of its next act: begin, give up waiting, unlock
	names  []string         // the names of the call, in their order
	all    *takeall.Call    // the call; nil while the gatherer neither holds nor waits
	asks   []pendingRequest // by their order in names
	waited bool             // a name was refused, and the gatherer waits or waited for it
	works  bool             // it holds all the names
	probe  bool             // it wants each name once, after all faults,
	probed bool             // and has had them all
}

// pendingRequest is one request of a gatherer, and its outcome.
type pendingRequest struct {
	request *request // nil if it was given up
	done    bool     // there is an outcome:
	err     error
}

func newGatherer(c *client) *gatherer {
	g := &gatherer{client: c}
	g.plan(func() time.Duration { return c.world.rand.below(2 * c.world.settings.think) })
	return g
}

func (g *gatherer) String() string { return g.client.name + ".all" }

// plan sets the time of the gatherer's next call, as worker.plan does.
func (g *gatherer) plan(pause func() time.Duration) {
	g.next, g.call = g.client.nextCall(g.String(), g.call, pause)
}

// chooses names the choices that follow the gatherer's call.
func (g *gatherer) chooses() { g.client.chooses(g.String(), g.call) }

// idle reports whether the gatherer neither holds nor waits.
func (g *gatherer) idle() bool { return g.all == nil }

// left lists the names that are not taken yet, in the order of the requests.
func (g *gatherer) left() (names []string) {
	if g.all != nil {
		for _, i := range g.all.Left() {
			names = append(names, g.names[i])
		}
	}
	return names
}

// taken is the number of names that it holds.
func (g *gatherer) taken() int { return len(g.names) - len(g.left()) }

// act does what is due.
func (g *gatherer) act() {
	g.next = protocol.Never
	switch {
	case g.works:
		for _, one := range slices.Backward(g.asks) {
			g.client.stream.abandonOrUnlock(one.request)
		}
		g.rest()
	case g.idle():
		g.begin()
	default: // the Context of the call has ended
		g.client.world.trace("%s gives up waiting for %v", g, g.left())
		g.client.world.exercises(togetherGivenUp, g.taken() > 0)
		g.all.Fail(context.DeadlineExceeded)
		g.goOn()
	}
}

// begin calls LockAll: for some names or, after all faults, for each name once.
func (g *gatherer) begin() {
	w := g.client.world
	if w.settling && g.probed {
		return
	}
	g.chooses()
	for _, n := range w.settings.names {
		if w.settling || w.butOneIn(about(w, "takes", n.name), 4) {
			g.names = append(g.names, n.name)
		}
	}
	slices.Sort(g.names)
	if len(g.names) == 0 {
		g.rest()
		return
	}
	g.take()
	g.waited, g.probe = false, w.settling
	if patience := g.patience(); patience > 0 && !w.settling {
		g.next = g.client.now() + patience
	}
	w.trace("%s wants %v together", g, g.names)
	g.goOn()
}

// patience chooses after what time the Context of a call ends; by default never, which is 0.
func (g *gatherer) patience() time.Duration {
	w := g.client.world
	return w.length("gives-up", 0, func() time.Duration {
		if patience := w.rand.between(20*time.Millisecond, 3*time.Second); w.rand.IntN(4) == 0 {
			return patience
		}
		return 0
	})
}

// take makes the call that takes the names.
func (g *gatherer) take() {
	s, w := &g.client.stream, g.client.world
	g.asks = make([]pendingRequest, len(g.names))
	g.all = takeall.New(len(g.names), true, takeall.Caller{
		Ask: func(i int, waits bool) error {
			want := w.exclusive(g.names[i])
			want.try = !waits
			g.asks[i] = pendingRequest{request: s.acquire(want, g)}
			return nil
		},
		Outcome: func(i int, waits bool) (bool, error) {
			one := g.asks[i]
			g.waited = g.waited || one.err != nil
			w.exercises(togetherRefused, waits && one.err != nil && g.taken() > 0)
			return one.done, one.err
		},
		GiveUp: func(i int) error {
			r := g.asks[i].request
			g.asks[i].request = nil
			w.exercises(togetherBehind, r.State() == clientsession.Held)
			s.abandon(r)
			return nil
		},
		Check: func(i int) error {
			if g.asks[i].request.believes(g.client.now()) {
				return nil
			}
			w.exercises(togetherLost, true)
			return holdfast.ErrLost
		},
		Release: func(i int) { s.abandonOrUnlock(g.asks[i].request) },
	})
}

// goOn continues the call.
func (g *gatherer) goOn() {
	switch over, err := g.all.Go(); {
	case err != nil:
		g.rest()
	case over:
		g.work()
	}
}

// granted and failed record the outcome of a request.
func (g *gatherer) granted(r *request) {
	g.client.world.count.grants++
	g.client.world.trace("%s has %s, token %d", g, r.want.name, r.Token())
	g.learn(r, nil)
}

func (g *gatherer) failed(r *request, err error) {
	g.client.world.trace("%s does not get %s: %v", g, r.want.name, err)
	g.client.world.count.failures++
	g.client.world.judge.limited(g.client, err)
	g.learn(r, err)
}

// extended does nothing: a gatherer asks for no other hold limit.
func (g *gatherer) extended(*request, error) {}

// learn takes the outcome of a request.
func (g *gatherer) learn(r *request, err error) {
	i := slices.IndexFunc(g.asks, func(one pendingRequest) bool { return one.request == r })
	if i < 0 {
		g.client.stream.abandon(r) // given up meanwhile
		return
	}
	g.asks[i].done, g.asks[i].err = true, err
	g.goOn()
}

// work starts when all names are taken.
func (g *gatherer) work() {
	w := g.client.world
	w.trace("%s has all of its names", g)
	w.exercises(togetherAll, !g.waited)
	w.exercises(togetherWaited, g.waited)
	g.works, g.probed = true, g.probe
	g.chooses()
	g.next = g.client.now() + w.hold()
}

// rest makes a pause after the gatherer has released its names.
func (g *gatherer) rest() {
	w := g.client.world
	g.names, g.all, g.asks, g.works = nil, nil, nil, false
	think := w.settings.think
	if w.settling {
		think = 10 * time.Millisecond
	}
	g.plan(func() time.Duration { return w.rand.below(think) })
	if w.settling && g.probed {
		g.next = protocol.Never
	}
}

// settle makes the gatherer start nothing new except one call for all names.
func (g *gatherer) settle() {
	if g != nil && g.idle() {
		g.next = g.client.now()
	}
}

// unsettle lets it make new calls again.
func (g *gatherer) unsettle(pause func() time.Duration) {
	if g == nil {
		return
	}
	if g.probe, g.probed = false, false; g.idle() {
		g.plan(pause)
	}
}
