package sim

import (
	"fmt"
	"time"
)

// Where members keep logs, in a sixth of the runs that have crashes and links that are cut one way a leader hears no other member near
// the end of the faults, and crashes before it hears one again. It goes on writing down what clients ask it for, and the others get
// that, and it learns of no majority. So it refuses a request at its wait limit, while the client says hello to another member, and a
// later leader grants the request. In half of these runs the leader takes no new connection of its clients, as behind a firewall that
// knows the established ones: so what it says on those is heard until another member has welcomed the client. When all is well no name is held that no client knows of (P4).

// drawDeaf draws whether and when that happens, from a source of chance of its own.
func (s *settings) drawDeaf(c *Config, r dice) {
	drawn, before := r.IntN(6) == 0, r.between(4500*time.Millisecond, 7*time.Second)
	if drawn && c.Protocol.Logs && s.faults.Has(OneWay) && s.faults.Has(Crash) && s.members > 1 && s.far.way == 0 {
		s.deafens, s.locksPerSession = max(0, s.duration-before), 0
		s.ttl = []time.Duration{deafTTL}
	}
}

// What is counted of leaders that hear no other member.
var (
	deafRequested = mark{"deaf", "a client asks a leader that hears no member"}
	deafRefused   = mark{"deaf", "a request is refused behind a hello that lists it"} // before its welcome
)

// deafNumber is how many names each client of such a leader asks for, and deafEach by how much longer than for the one before it
// waits for each of them.
const (
	deafNumber = 12
	deafEach   = 250 * time.Millisecond
)

// deafTTL is the ttl of sessions there: after half of it without an answer a client says hello to another member, and the others have
// another leader before the session ends.
const deafTTL = 5 * time.Second

// deafen cuts what others say to a leader until it crashes, and lets its clients ask it for names of their own.
func (n *nemesis) deafen() {
	w := n.world
	m, lasts, closed := w.decider(), w.between("crashes-after", 3*time.Second, 4*time.Second), w.oneIn("takes-no-connection", 2)
	if m == nil || m.paused {
		return
	}
	until := w.now + lasts
	w.hit(OneWay)
	w.befall(OneWay, until, []string{m.name}, "%s, which leads, hears no member for %v, and crashes", m, lasts)
	for other := range w.members {
		n.cut(other, int(m.place), until)
	}
	n.strike(m, lasts-1)
	for _, c := range w.clients[:w.settings.clients] {
		if l := c.stream.link; !c.up || c.paused || l == nil || l.member != m || c.stream.machine.Closing() {
			continue
		}
		if closed {
			n.cutOff[int(c.number)*len(w.members)+int(m.place)] = until
		}
		w.count.hits[deafRequested]++
		for i := range deafNumber {
			want := w.exclusive(fmt.Sprintf("deaf%d.%d", c.number, i))
			want.wait = time.Duration(i+1) * deafEach
			c.stream.acquire(want, handsBack{c})
		}
		c.arm()
	}
}

// handsBack asks for a name, and gives it back at once.
type handsBack struct{ client *client }

func (h handsBack) String() string { return h.client.name }

func (h handsBack) granted(r *request) {
	h.client.world.count.grants++
	h.client.stream.abandonOrUnlock(r)
}

func (h handsBack) failed(*request, error) { h.client.world.count.failures++ }

func (handsBack) extended(*request, error) {}
