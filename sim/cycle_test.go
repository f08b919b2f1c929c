package sim

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// quiet is a world without faults and with one client, which is connected to a member that coordinates, or to one that
// does not.
func quiet(t *testing.T, members int, remote bool) (*world, *client) {
	t.Helper()
	c := config("central")
	c.Faults, c.Members = 0, members
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(&c, 1, nil, newCounts(false))
	w.weather = calm() // a lock that is held for longer than T/4 costs a separate acknowledgement of its grant
	w.settings.workers, w.settings.locals, w.visitors = 0, false, nil
	w.settings.names = []lockName{{name: "n"}}
	w.clients = w.clients[:1]
	for _, m := range w.members {
		m.founder = true
		w.do(0, m.start)
	}
	w.settings.founders = members
	w.run(10 * time.Second)
	coordinator := w.coordinator()
	if coordinator == nil || !coordinator.powerful() {
		t.Fatal("no member may grant after 10 s without faults")
	}
	user := w.clients[0]
	user.places = nil
	for _, m := range w.members {
		if (m != coordinator) == remote {
			user.places = append(user.places, m)
		}
	}
	user.start()
	w.run(11 * time.Second)
	if !user.stream.connected() {
		t.Fatal("the client is not welcomed")
	}
	return w, user
}

// cycler locks and unlocks repeatedly.
type cycler struct {
	t      *testing.T
	client *client
	left   int
}

func (c *cycler) granted(r *request) {
	c.client.stream.abandonOrUnlock(r)
	if c.left--; c.left > 0 {
		c.client.stream.acquire(wantedLock{name: "n"}, c)
	}
}

func (c *cycler) failed(_ *request, err error) { c.t.Errorf("a lock is refused: %v", err) }
func (c *cycler) extended(_ *request, err error) {
	c.t.Errorf("an extend that was not asked for: %v", err)
}

// spoken counts the messages between spaces since before.
func spoken(w *world, before map[message]int) (total int, by map[reflect.Type]int) {
	by = map[reflect.Type]int{}
	for m, n := range copied(w) {
		if n -= before[m]; !m.below && n > 0 {
			by[m.is] += n
			total += n
		}
	}
	return total, by
}

func copied(w *world) map[message]int {
	all := newCounts(false)
	all.add(w.count)
	return all.messages
}

// TestMessagesOfACycle checks that an uncontended lock and unlock costs 2 + 1 messages from another member, with the
// acknowledgement of the release piggybacked, and none at the coordinator (docs/design/promises.md §4).
func TestMessagesOfACycle(t *testing.T) {
	const cycles = 100
	for name, tt := range map[string]struct {
		remote     bool
		each, most int
	}{
		"remote":             {true, 3, 3*cycles + 2}, // the last acknowledgements find nothing to ride on
		"at the coordinator": {false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, user := quiet(t, 3, tt.remote)
			before := copied(w)
			c := &cycler{t, user, cycles}
			user.stream.acquire(wantedLock{name: "n"}, c)
			user.arm()
			w.run(w.now + 30*time.Second)
			if c.left > 0 || w.judge.violation != nil {
				t.Fatalf("%d cycles are left, %v", c.left, w.judge.violation)
			}
			if total, by := spoken(w, before); total < tt.each*cycles || total > tt.most {
				t.Errorf("%d cycles cost %d messages: %v; want %d to %d", cycles, total, by, tt.each*cycles, tt.most)
			}
		})
	}
}

// TestMessagesOfAChange checks that a new coordinator asks each other member once, and gets one answer.
func TestMessagesOfAChange(t *testing.T) {
	for _, members := range []int{3, 5} {
		w, _ := quiet(t, members, true)
		before := copied(w)
		crashed := w.coordinator()
		crashed.crash(crashed.life)
		w.run(w.now + 40*time.Second) // a lease, and the promises to clients beyond it
		if next := w.coordinator(); next == nil || next == crashed || !next.powerful() {
			t.Fatalf("%d members: no member has taken over", members)
		}
		_, by := spoken(w, before)
		others := members - 2 // without the crashed member and the new coordinator
		for _, m := range []protocol.Message{authority.InfoRequest{}, authority.InfoAnswer{}} {
			if got := by[reflect.TypeOf(m)]; got != others {
				t.Errorf("%d members: %d %T, want %d", members, got, m, others)
			}
		}
	}
}
