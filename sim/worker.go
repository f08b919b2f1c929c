package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// worker is a thread of a client that takes locks, works under them and releases them, as users do: correctly,
// incorrectly, and with every feature of the library.
type worker struct {
	client   *client
	number   int
	name     string        // as in the names of choices
	call     int           // the planned or current call, in the names of choices
	next     time.Duration // time of its next act
	request  *request      // its waiting or granted request
	second   *request      // a reentry of the same lock
	until    time.Duration // when it unlocks, or gives up waiting
	writes   int           // number of writes to the register that are left
	ignores  bool          // it ignores that the hold limit has passed, if its name has a grace
	probes   int           // names that it has yet to take once, after all faults
	probing  bool
	refusals int     // of its probes, since the last grant
	since    instant // when it began to wait
}

func newWorker(c *client, number int) *worker {
	w := &worker{client: c, number: number, name: fmt.Sprintf("%s.%d", c, number)}
	w.plan(func() time.Duration { return c.world.rand.below(c.world.settings.think) })
	return w
}

// plan sets the time of the worker's next call: after a pause or, in a script, at the time given there, which may be
// never.
func (w *worker) plan(pause func() time.Duration) {
	w.next, w.call = w.client.nextCall(w.String(), w.call, pause)
}

// chooses names the choices that follow the worker's call.
func (w *worker) chooses() { w.client.chooses(w.String(), w.call) }

func (w *worker) String() string { return w.name }

// idle reports whether the worker neither holds nor waits.
func (w *worker) idle() bool { return w.request == nil }

// act does what is due.
func (w *worker) act(now time.Duration) {
	w.next = protocol.Never
	switch r := w.request; {
	case r == nil:
		w.begin(now)
	case r.State() == clientsession.Requested:
		w.client.world.trace("%s gives up waiting for %s", w, r.want.name)
		w.client.stream.abandon(r)
		w.rest()
	case !r.believes(now) && !(w.ignores && r.over()):
		w.client.stream.abandonOrUnlock(r)
		w.rest() // it has noticed the loss of the lock
	case now >= w.until:
		w.unlock()
	default:
		w.work(now)
	}
}

// begin asks for a lock.
func (w *worker) begin(now time.Duration) {
	world := w.client.world
	if world.healed && world.settling {
		w.probe(now)
		return
	}
	w.chooses()
	want := world.request(w)
	world.valued(&want)
	w.since = world.now
	w.until = protocol.Never
	if patience := world.patience(); patience > 0 {
		w.until = now + patience
	}
	w.next = w.until
	world.trace("%s wants %v", w, want)
	w.request = w.client.stream.acquire(want, w)
}

// probe takes each name once, after all faults: each must be granted.
func (w *worker) probe(time.Duration) {
	world := w.client.world
	if !w.probing {
		w.probing, w.probes = true, len(world.settings.names)
	}
	if w.probes == 0 {
		return
	}
	w.since = world.now
	w.until = protocol.Never
	name := world.settings.names[(w.probes+w.number)%len(world.settings.names)].name
	world.trace("%s probes %s", w, name)
	w.request = w.client.stream.acquire(world.exclusive(name), w)
}

// granted starts the work under a lock.
func (w *worker) granted(r *request) {
	world := w.client.world
	now := w.client.now()
	world.count.grants++
	world.judge.values.granted(grantOf(w.client, r), r.want.value, r.want.owner)
	world.checkStored(r.want.name)
	world.trace("%s has %s, token %d, until %v by its clock", w, r.want.name, r.Token(), r.lock.Deadline())
	switch {
	case r == w.second:
		return
	case r != w.request:
		w.client.stream.abandon(r)
		return
	case w.probing:
		w.probes--
		w.refusals, w.until = 0, now
	default:
		w.chooses()
		w.until = now + world.hold()
		w.writes = world.number("writes", 3)
		if w.ignores = r.Grace() && world.oneIn("ignores-limit", 2); w.ignores {
			w.until = r.HoldEnd() + world.below("holds-on", 2*world.settings.known.Grace)
		}
		if r.want.owner != "" && world.oneIn("again", 2) {
			w.second = w.client.stream.acquire(r.want, w)
			w.chooses()
		}
		if world.odds("amends", world.settings.amend) {
			w.client.stream.amend(r)
		}
		if world.odds("extends", world.settings.extend) {
			w.client.stream.extendTo(r, world.between("to", 200*time.Millisecond, 4*time.Second))
		}
	}
	w.proceed(now)
}

// proceed sets the time of the next act under the lock.
func (w *worker) proceed(now time.Duration) {
	w.next = w.until
	if w.writes > 0 && w.until > now {
		w.chooses()
		w.next = now + w.client.world.below("works", w.until-now)
	}
}

// work writes to the register, or misuses the lock.
func (w *worker) work(now time.Duration) {
	world := w.client.world
	w.write(true)
	w.writes--
	w.chooses()
	if world.odds("amends", world.settings.amend) {
		w.client.stream.amend(w.request)
	}
	if world.odds("steals", world.settings.foreign) {
		w.steal()
	}
	w.proceed(now)
}

// steal releases a lock of another session, with the token that every client can read.
func (w *worker) steal() {
	world := w.client.world
	s := &w.client.stream
	name := pick(world, "stolen", world.settings.names).name
	token := world.judge.foreignToken(name, s.sessionID())
	if token == 0 || !s.connected() {
		return
	}
	world.trace("%s unlocks %s of another worker, token %d", w, name, token)
	s.foreign++
	s.say(operation{Operation: releaseOf(foreignIDs+s.foreign, name, token), foreign: true})
}

// write writes to the register with the token. A worker that does not look may do so long after its lock has ended.
func (w *worker) write(looks bool) {
	r := w.request
	if r == nil || r.State() != clientsession.Held && !r.over() || w.writes == 0 && !looks {
		return
	}
	world := w.client.world
	of := grantOf(w.client, r)
	w.chooses()
	world.do(world.now+world.latency(), func() { world.register.write(of) })
}

// unlock releases the lock, and sometimes does it twice.
func (w *worker) unlock() {
	world := w.client.world
	for _, r := range []*request{w.second, w.request} {
		if r == nil {
			continue
		}
		world.trace("%s unlocks %s, token %d", w, r.want.name, r.Token())
		w.client.stream.abandonOrUnlock(r)
		w.chooses()
		if world.odds("unlocks-twice", world.settings.foreign) && w.client.stream.connected() {
			r.copies++
			w.client.stream.say(r.release())
		}
	}
	w.rest()
}

// rest makes a pause before the next lock.
func (w *worker) rest() {
	world := w.client.world
	if w.second != nil {
		w.client.stream.abandonOrUnlock(w.second)
	}
	w.request, w.second, w.writes = nil, nil, 0
	think := world.settings.think
	if world.settling {
		think = 10 * time.Millisecond * time.Duration(max(1, w.refusals/8)) // a name that is refused at once may stay so for long
	}
	w.plan(func() time.Duration { return world.rand.below(think) })
	if w.probing && w.probes == 0 {
		w.next = protocol.Never
	}
}

// failed ends the wait without a lock.
func (w *worker) failed(r *request, err error) {
	world := w.client.world
	if world.tracing {
		world.trace("%s does not get %s: %v", w, r.want.name, err)
	}
	world.count.failures++
	world.judge.limited(w.client, err)
	if errors.Is(err, holdfast.ErrDeadlock) {
		world.count.deadlocks++
		world.judge.deadlocked(r, err)
	}
	switch r {
	case w.second:
		w.second = nil
	case w.request:
		if w.probing {
			w.refusals++
		}
		w.rest()
	}
}

// extended takes the answer to a request for another hold limit.
func (w *worker) extended(r *request, err error) {
	w.client.world.trace("%s: %s is extended: %v", w, r.want.name, err)
}
