package sim

import (
	"fmt"
	"time"
)

// Where members keep logs, a sixth of the runs with crashes and one-way cuts have a leader that hears no other member
// near the end of the faults, and crashes before it hears one again. It still logs its clients' requests, and the
// others receive them, but it learns of no majority. So it refuses a request at its wait limit, while the client says
// hello to another member, and a later leader grants the request. In half of these runs the leader accepts no new
// connections from its clients, as behind a firewall that only knows the established ones: its answers on those are
// heard until another member has welcomed the client. When all is well no name is held without a client that knows of
// it (P4).

// drawDeaf draws whether and when this happens, from its own source of chance.
func (s *settings) drawDeaf(c *Config, r dice) {
	drawn, before := r.IntN(6) == 0, r.between(4500*time.Millisecond, 7*time.Second)
	if drawn && c.Protocol.Logs && s.faults.Has(OneWay) && s.faults.Has(Crash) && s.members > 1 && s.far.way == 0 {
		s.deafens, s.locksPerSession = max(0, s.duration-before), 0
		s.ttl = []time.Duration{deafTTL}
	}
}

// Rows of coverage for leaders that hear no other member.
var (
	deafRequested = mark{"deaf", "a client asks a leader that hears no member"}
	deafRefused   = mark{"deaf", "a request is refused behind a hello that lists it"} // before its welcome
)

// deafNumber is how many names each client of such a leader asks for; deafEach is how much longer it waits for each
// than for the one before.
const (
	deafNumber = 12
	deafEach   = 250 * time.Millisecond
)

// deafTTL is the ttl of sessions in these runs. After half of it without an answer a client says hello to another
// member, and the others have another leader before the session ends.
const deafTTL = 5 * time.Second

// deafen cuts the messages of the other members to a leader until it crashes, and makes its clients ask it for separate
// names.
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

// handsBack asks for a name, and releases it at once.
type handsBack struct{ client *client }

func (h handsBack) String() string { return h.client.name }

func (h handsBack) granted(r *request) {
	h.client.world.count.grants++
	h.client.stream.abandonOrUnlock(r)
}

func (h handsBack) failed(*request, error) { h.client.world.count.failures++ }

func (handsBack) extended(*request, error) {}
