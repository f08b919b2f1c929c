package sim

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// split is a history of partition mode any: members 1 to 4, of which 1 leads 2, and 3 leads 4, under epochs with one
// counter; and the grants there.
type split struct {
	*witness
	world *world
}

func newSplit() *split {
	h := newWitness()
	s := &split{h, &world{judge: h.judge, count: newCounts(false)}}
	h.judge.sides = newSides(s.world)
	s.world.network.of = map[protocol.ID]*process{}
	s.world.settings.names = []lockName{{name: "n"}}
	for i := range 4 {
		m := &process{world: s.world, place: int32(i), name: string(rune('a' + i)), id: protocol.ID(i + 1), up: true}
		s.world.members = append(s.world.members, m)
		s.world.network.of[m.id] = m
	}
	s.lead(1, 7, false, 1, 2)
	s.lead(3, 7, false, 3, 4)
	return s
}

// lead makes a member lead others, under their present tenures.
func (s *split) lead(leader protocol.ID, counter uint64, merged bool, members ...protocol.ID) {
	view := protocol.View{Epoch: protocol.Epoch{Counter: counter, Candidate: leader}, Coordinator: leader, Installed: true, Merged: merged}
	tenures := map[protocol.ID]protocol.Tenure{}
	for _, id := range members {
		if old := s.world.members[id-1].view; old != nil {
			tenures[id] = old.Lease.Tenure
		}
		view.Members = append(view.Members, protocol.Member{ID: id, Tenure: tenures[id]})
	}
	for _, id := range append([]protocol.ID{leader}, members...) {
		own := view
		own.Lease = &protocol.Lease{Tenure: tenures[id], Member: time.Hour}
		m := s.world.members[id-1]
		s.judge.sides.viewed(m, &own)
		m.view = &own
	}
}

// grants reports a grant to a session of a member, with a token of a reign, and returns it.
func (s *split) grants(member, session uint64, token holdfast.Token, change ...func(*grant)) grant {
	g := hold(session, token, change...)
	g.session = lock.SessionID{Member: member, Number: session}
	g.origin = s.judge.sides.origin(g.session, uint64(token)>>32)
	s.granting(g)
	s.judge.noteHolder(g)
	return g
}

const seventh, eighth = 7 * reign, 8 * reign

// meetings are histories of two sides, each with the promise that it breaks.
var meetings = map[string]struct {
	promise string
	happens func(*split)
}{
	"each side has a holder": {"", func(s *split) {
		s.grants(1, 1, seventh+1)
		s.grants(3, 2, seventh+1)
	}},
	"one side has two": {"P3", func(s *split) {
		s.grants(1, 1, seventh+1)
		s.grants(2, 2, seventh+2)
	}},
	"units of each side": {"", func(s *split) {
		s.grants(1, 1, seventh+1, slots(2, 4))
		s.grants(3, 2, seventh+1, slots(4, 4))
		s.grants(2, 3, seventh+2, slots(2, 4))
	}},
	"too many units of one side": {"P3", func(s *split) {
		s.grants(1, 1, seventh+1, slots(2, 4))
		s.grants(3, 2, seventh+1, slots(4, 4))
		s.grants(2, 3, seventh+2, slots(3, 4))
	}},
	"the next authority of a side knows its holders": {"P3", func(s *split) {
		s.grants(2, 1, seventh+1)
		s.lead(1, 8, false, 1, 2)
		s.grants(1, 2, eighth+1)
	}},
	"the next authority has not met the holder yet": {"", func(s *split) {
		s.grants(4, 1, seventh+1)
		s.lead(1, 8, false, 1, 2)
		s.lead(1, 8, false, 1, 2, 4)
		s.grants(1, 2, eighth+1)
	}},
	"the authority of both sides has not notified the holder yet": {"", func(s *split) {
		s.grants(4, 1, seventh+1)
		s.lead(1, 8, true, 1, 2, 3, 4)
		s.grants(1, 2, eighth+1)
	}},
	"the holder's tenure has ended": {"", func(s *split) {
		s.grants(2, 1, seventh+1)
		s.world.members[1].view.Lease.Tenure.Lapses++
		s.grants(1, 2, seventh+2)
	}},
	"tokens of a reign go back": {"P2", func(s *split) {
		s.ended(s.grants(1, 1, seventh+5), "")
		s.grants(2, 2, seventh+4)
	}},
	"two grants of a reign under one token": {"P2", func(s *split) {
		s.grants(1, 1, seventh+5, shared)
		s.grants(2, 2, seventh+5, shared)
	}},
	"one token on each side": {"", func(s *split) {
		s.grants(1, 1, seventh+5, shared)
		s.grants(3, 2, seventh+5, shared)
	}},
	"a member's tokens go back when sides have met": {"P2", func(s *split) {
		s.ended(s.grants(4, 1, seventh+5), "")
		s.lead(1, 7, true, 1, 2, 3, 4)
		s.grants(4, 2, seventh+2)
	}},
	"an unlock is refused within a side": {"P3", func(s *split) {
		s.unlockRefused(s.grants(2, 1, seventh+1), holdfast.ErrNotHeld)
	}},
	"an unlock is refused when sides have met": {"", func(s *split) {
		first := s.grants(4, 1, seventh+1)
		s.lead(1, 8, true, 1, 2, 3, 4)
		s.unlockRefused(first, holdfast.ErrNotHeld)
	}},
	"the write of another side": {"", func(s *split) {
		s.refusedWrite(s.grants(2, 1, seventh+1), seventh+9)
	}},
}

func TestTheJudgeKnowsSides(t *testing.T) {
	for name, tt := range meetings {
		t.Run(name, func(t *testing.T) {
			s := newSplit()
			tt.happens(s)
			judgedAs(t, s.judge, tt.promise)
		})
	}
}

// TestTheJudgeWaitsForTheNotice checks that one of two holders whose sides have met must get a notice within a time, in
// which messages may be lost.
func TestTheJudgeWaitsForTheNotice(t *testing.T) {
	for name, tt := range map[string]struct {
		after    time.Duration
		healed   bool
		notified bool
		away     bool
		promise  string
	}{
		"soon":                                  {notifyLate, false, false, false, ""},
		"late":                                  {notifyLate + 1, false, false, false, "P3"},
		"late, without faults":                  {notifySoon + 1, true, false, false, "P3"},
		"late, and one is notified":             {notifyLate + 1, false, true, false, ""},
		"late, without faults, and one is away": {notifyLate, true, false, true, ""},
		"very late, and one is away":            {notifyLate + 1, true, false, true, "P3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSplit()
			s.world.healed = tt.healed
			first := s.grants(4, 1, seventh+1)
			s.grants(1, 2, seventh+1, heldBy(tt.away))
			s.lead(1, 8, true, 1, 2, 3, 4)
			s.judge.sides.look()
			if tt.notified {
				s.ended(first, holdfast.Duplicate)
			}
			s.at(tt.after)
			s.world.now = tt.after
			s.judge.sides.look()
			judgedAs(t, s.judge, tt.promise)
		})
	}
}

// heldBy sets a grant's holder to a client that may stay away.
func heldBy(away bool) func(*grant) {
	client := &client{up: true, stuck: away}
	return func(g *grant) {
		g.holder = heldFor(client, time.Hour)
	}
}

// heldFor is a lock of a client, which ends with its session.
func heldFor(c *client, ttl time.Duration) *request {
	p := &presence{Session: &clientsession.Session{}, client: c}
	now := c.clock.read(0)
	p.Renew(now, now, ttl)
	r := &request{client: c, want: wantedLock{name: "n0"}, session: p}
	r.lock = holdfast.NewLock(holdfast.Grant{Name: "n0", Token: 4}, 1, holdfast.Forever, p, context.Background())
	return r
}

// holder takes a name once, and records the outcome.
type holder struct {
	t    *testing.T
	lock *request
	lost error
}

func (h *holder) granted(r *request)           { h.lock = r }
func (h *holder) failed(_ *request, err error) { h.lost = err }
func (h *holder) extended(*request, error)     {}

// TestSidesMeet checks that each side of a partition has an authority, which grants; when they meet, one of the two
// holders loses its lock as a duplicate, and the other keeps it.
func TestSidesMeet(t *testing.T) {
	w := still(t, 4, 1<<Any|1<<Partition)
	until := w.now + 20*time.Second
	w.nemesis.divide([]int{0, 0, 1, 1}, until)
	w.run(w.now + 5*time.Second)
	var holders []*holder
	for _, place := range []int{0, 2} {
		h := &holder{t: t}
		holders = append(holders, h)
		user(t, w, w.members[place]).stream.acquire(wantedLock{name: "n"}, h)
		w.run(w.now + time.Second)
		if h.lock == nil {
			t.Fatalf("the side of %s grants nothing", w.members[place])
		}
	}
	w.run(until + 5*time.Second)
	if v := w.judge.violation; v != nil {
		t.Fatal(v)
	}
	believing := 0
	for _, h := range holders {
		if h.lock.believesAt(w.now) {
			believing++
		}
	}
	if believing != 1 || w.judge.losses[holdfast.Duplicate] != 1 || w.count.faults[Any] == 0 {
		t.Errorf("%d of two holders stay, losses are %v, sides have met %d times", believing, w.judge.losses, w.count.faults[Any])
	}
}
