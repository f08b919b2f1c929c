package consensus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// piloted is a world whose members remove those that are silent for pilot, with some guests that have the log.
func piloted(t *testing.T, count, guests, shards int, pilot time.Duration) *world {
	w := newWorld(t, count, shards)
	w.pilot = pilot
	w.form()
	for range guests {
		m := &member{id: protocol.ID(len(w.members) + 1), disk: disk{logs: map[uint64]*log{}}, guest: true}
		w.members = append(w.members, m)
		w.begin(m)
		w.show(uint64(m.id), w.members...)
		w.pass(100 * time.Millisecond)
		w.call(w.members[0], uint64(m.id), &protocol.Reform{Member: m.id, As: protocol.Learner})
		w.pass(2 * time.Second)
	}
	return w
}

// upBut returns the members that are up, except those that no member hears.
func (w *world) upBut(out ...*member) []*member {
	return slices.DeleteFunc(slices.Clone(w.members), func(m *member) bool { return m.machine == nil || slices.Contains(out, m) })
}

// voters lists the voters of each shard, to a member's knowledge.
func (w *world) voters(m *member) (all [][]uint64) {
	for _, p := range m.machine.parts {
		all = append(all, p.shard.Members().Voters)
	}
	return all
}

func TestAutopilotIsConfigured(t *testing.T) {
	for pilot, want := range map[time.Duration]time.Duration{0: DefaultAutopilot, NoAutopilot: NoAutopilot, time.Second: time.Second} {
		c := Config{Self: 1, Life: 1, Log: 1, Options: Options{Autopilot: pilot}}
		if err := c.resolve(); err != nil || c.Autopilot != want {
			t.Errorf("Autopilot %v: %v, %v", pilot, c.Autopilot, err)
		}
	}
	for _, pilot := range []time.Duration{time.Second - 1, -2} {
		d := Descriptor()
		if _, err := d.Check(option.Values{"autopilot": pilot.String()}, nil, &protocol.Setup{}); err == nil {
			t.Errorf("Autopilot %v is allowed", pilot)
		}
	}
}

// TestNoAutopilot checks that without autopilot no voter is removed.
func TestNoAutopilot(t *testing.T) {
	w := piloted(t, 4, 1, 2, NoAutopilot)
	w.crash(w.members[3], 0)
	w.show(9, w.upBut()...)
	w.pass(time.Minute)
	if got := fmt.Sprint(w.voters(w.members[0])); got != "[[1 2 3 4] [1 2 3 4]]" {
		t.Errorf("voters %v", got)
	}
}

// TestASilentVoterIsNeitherHeardNorInTheView checks that a silent member in the view stays, and so does a member
// outside the view that is heard.
func TestASilentVoterIsNeitherHeardNorInTheView(t *testing.T) {
	w := piloted(t, 4, 0, 2, time.Second)
	d := w.members[3]
	w.crash(d, 0)
	w.pass(10 * time.Second)
	if got := fmt.Sprint(w.voters(w.members[0])); got != "[[1 2 3 4] [1 2 3 4]]" {
		t.Errorf("voters %v, while all are in the view", got)
	}
	w.begin(d)
	w.show(9, w.upBut(d)...)
	w.pass(10 * time.Second)
	if got := fmt.Sprint(w.voters(w.members[0])); got != "[[1 2 3 4] [1 2 3 4]]" {
		t.Errorf("voters %v, while all are heard", got)
	}
}

// TestSparesAreTheSameInAllShards checks that all shards use the same spare, though one leader does not hear it at
// first: the others wait for it as long again.
func TestSparesAreTheSameInAllShards(t *testing.T) {
	for waits, want := range map[time.Duration]string{
		500 * time.Millisecond: "[[1 2 4] [1 2 4] [1 2 4]]",
		5 * time.Second:        "[[1 2 5] [1 2 4] [1 2 5]]", // what lasts is not waited for
	} {
		w := piloted(t, 3, 2, 3, time.Second)
		w.cut[[2]protocol.ID{1, 4}], w.cut[[2]protocol.ID{4, 1}] = true, true
		w.pass(time.Second)
		w.crash(w.members[2], 0)
		w.show(20, w.upBut()...)
		w.pass(time.Second + waits)
		clear(w.cut)
		w.pass(5 * time.Second)
		if got := fmt.Sprint(w.voters(w.members[1])); got != want {
			t.Errorf("the link is mended %v after c was silent for a second: voters %v, want %v", waits, got, want)
		}
	}
}

// TestAutopilotAmongFaults checks that when members fail, come back and are cut off in some order, while others
// continue without them and they are added again, every hold stays, no client is granted another's lock, and all
// members agree in the end.
func TestAutopilotAmongFaults(t *testing.T) {
	retired, seeds := 0, rounds(24, 6)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { retired += playFaults(t, seed) })
	}
	if retired < int(seeds) {
		t.Errorf("in %d runs %d votes were taken away", seeds, retired)
	}
}

// turmoil is a world with random faults.
type turmoil struct {
	*world
	*rand.Rand
	views   uint64
	calls   uint64
	out     *member // the member that no other one hears
	retired int
	holder  lock.SessionID
	tokens  map[string]map[uint64]bool
}

func playFaults(t *testing.T, seed uint64) (retired int) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &turmoil{world: piloted(t, 4, 1, 1+r.IntN(3), time.Second), Rand: r, views: 100, calls: 1000, holder: lock.SessionID{Member: 9, Number: 7}, tokens: map[string]map[uint64]bool{}}
	w.noted = func(_ *member, note protocol.Note) {
		if _, is := note.(Retired); is {
			w.retired++
		}
	}
	w.onReply = func(m *member, reply *protocol.Reply) {
		if d := &reply.Decision; reply.Result == nil && d.Session == w.holder && (d.Kind == lock.Lost || d.Kind == lock.Revoked) {
			t.Errorf("member %s tells the holder that %s is %v", m.name(), d.Name, d.Kind)
		}
	}
	a := w.members[0]
	w.call(a, 1, &protocol.Enroll{Session: w.holder, TTL: 24 * time.Hour})
	names := []string{"x", "y", "z"}
	for i, name := range names {
		w.call(a, uint64(i+2), &lock.Request{Session: w.holder, ID: uint64(i + 1), Name: name, WaitEnd: lock.Never, Arrived: w.now - a.start})
	}
	w.pass(2 * time.Second)
	held := w.holders(names)
	for range 12 {
		w.happen()
		for _, m := range w.upBut() {
			for i, p := range m.machine.parts {
				if voters := p.shard.Members().Voters; len(voters) > 0 && len(voters) < fewestVoters {
					t.Fatalf("to member %s %v vote in shard %d", m.name(), voters, i)
				}
			}
		}
	}
	w.recover()
	for _, m := range w.members {
		if c := m.machine.condition(); c.State != protocol.Ready {
			t.Errorf("member %s is %v: %s; %v", m.name(), c.State, c.Why, w.voters(m))
		}
	}
	if now := w.holders(names); !slices.Equal(now, held) {
		t.Errorf("held %v, and then %v, after %d were retired", held, now, w.retired)
	}
	return w.retired
}

// happen causes a random fault, which the others notice.
func (w *turmoil) happen() {
	m := w.members[w.IntN(len(w.members))]
	switch {
	case w.out != nil && w.IntN(2) == 0:
		w.out = nil
		clear(w.cut)
	case m.machine == nil:
		w.begin(m)
	case len(w.upBut(w.out)) <= 3:
		// The present members should mostly have a majority, so that decisions are made.
	case w.out == nil && w.IntN(3) == 0:
		w.out = m
		for _, other := range w.members {
			w.cut[[2]protocol.ID{m.id, other.id}], w.cut[[2]protocol.ID{other.id, m.id}] = true, true
		}
	default:
		w.crash(m, w.IntN(len(m.journalRequests)+1))
	}
	w.pass(time.Duration(w.Int64N(int64(time.Second))))
	w.view()
	w.pass(time.Duration(w.Int64N(int64(3 * time.Second))))
	w.addAgain()
}

func (w *turmoil) view() {
	w.views++
	w.show(w.views, w.upBut(w.out)...)
}

// addAgain makes an operator add present members without a role, and promote learners.
func (w *turmoil) addAgain() {
	there := w.upBut(w.out)
	for _, m := range there {
		conf := there[0].machine.parts[0].shard.Members()
		if role := roleOf(&conf, m.id); len(conf.Voters) > 0 && role != protocol.Voter && w.IntN(2) == 0 {
			w.calls++
			w.call(there[w.IntN(len(there))], w.calls, &protocol.Reform{Member: m.id, As: role + 1})
			w.pass(200 * time.Millisecond)
		}
	}
}

// recover ends all faults: all members are present in the end, and have a vote.
func (w *turmoil) recover() {
	w.out = nil
	clear(w.cut)
	for _, m := range w.members {
		if m.machine == nil {
			w.begin(m)
		}
	}
	w.view()
	w.pass(5 * time.Second)
	for range 2 {
		for _, role := range []protocol.Role{protocol.Learner, protocol.Voter} {
			for _, m := range w.members {
				for _, by := range w.members {
					w.calls++
					w.call(by, w.calls, &protocol.Reform{Member: m.id, As: role})
				}
				w.pass(500 * time.Millisecond)
			}
		}
	}
}

// holders lists the holders of the names, on which all members must agree.
func (w *turmoil) holders(names []string) (held []string) {
	for _, name := range names {
		all := map[string]bool{}
		for _, m := range w.members {
			l := m.machine.partOf(name).shard.Replica().Table().Show(name)
			all[format(&l)] = true
			held = append(held[:len(held):len(held)], format(&l))
		}
		if len(all) != 1 {
			w.Errorf("%s: members differ: %v", name, all)
		}
	}
	return held
}
