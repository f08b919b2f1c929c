package consensus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// user is a client of the test, which locks some names in order, unlocks them, and starts again; or suspends the space.
type user struct {
	number   uint64
	at       *member
	suspends bool
	request  uint64   // the latest
	names    []string // that it wants
	held     map[uint64]string
	done     int
	waits    bool
	revoked  bool
	since    time.Duration // time of the latest request, or grant
}

func (u *user) id() lock.SessionID { return lock.SessionID{Member: 9, Number: u.number} }

// crowd is users in a world whose members lose contact with one another, and hand over their leadership.
type crowd struct {
	*world
	rand  *rand.Rand
	users []*user
	calm  bool // no more faults of members
}

// hear takes an answer to a user, and fails if another holds a lock during a suspension.
func (c *crowd) hear(m *member, reply *protocol.Reply) {
	d := &reply.Decision
	at := slices.IndexFunc(c.users, func(u *user) bool { return u.id() == d.Session })
	if reply.Result != nil || at < 0 {
		return
	}
	u := c.users[at]
	switch d.Kind {
	case lock.Granted:
		if d.Request != u.request || !u.waits {
			c.Fatalf("%v: user %d is granted request %d again, or not asked for", c.now, u.number, d.Request)
		}
		for _, other := range c.users {
			if other != u && (other.suspends || u.suspends) && len(other.held) > 0 {
				c.Fatalf("%v: user %d is granted %q, and user %d has %v", c.now, u.number, d.Name, other.number, other.held)
			}
		}
		u.held[d.Request], u.waits, u.since = d.Name, false, c.now
	case lock.Revoked:
		u.revoked = true
	case lock.Refused, lock.Lost, lock.Released:
		delete(u.held, d.Request)
		if d.Request == u.request {
			u.waits = false
		}
	}
}

// act performs the next act of a user.
func (c *crowd) act(u *user) {
	switch {
	case u.waits && u.suspends && c.now > u.since+time.Duration(1+c.rand.IntN(20))*time.Second && !c.calm:
		u.waits = false
		c.call(u.at, 1, &protocol.Cancel{Session: u.id(), Request: u.request, Name: lock.SpaceLock})
	case u.waits:
	case len(u.names) > 0:
		u.request++
		u.waits, u.since = true, c.now
		name := u.names[0]
		u.names = u.names[1:]
		c.call(u.at, 1, &lock.Request{Session: u.id(), ID: u.request, Name: name, Attributes: holdfast.Attributes{Owner: "o"}, Arrived: c.now - u.at.start, WaitEnd: lock.Never})
	case len(u.held) > 0:
		if c.rand.IntN(3) > 0 && !u.revoked {
			return
		}
		for id, name := range u.held {
			delete(u.held, id)
			c.call(u.at, 1, &protocol.Release{Session: u.id(), Request: id, Name: name})
		}
		u.revoked = false
		u.done++
	case c.calm && u.done > 0:
	case u.suspends:
		if c.rand.IntN(20) == 0 || c.calm {
			u.names = []string{lock.SpaceLock}
		}
	default:
		for name := range 6 {
			if c.rand.IntN(3) == 0 {
				u.names = append(u.names, fmt.Sprint("name", name))
			}
		}
	}
}

// disturb causes a fault of a member.
func (c *crowd) disturb() {
	m, other := c.members[c.rand.IntN(3)], c.members[c.rand.IntN(3)]
	switch c.rand.IntN(8) {
	case 0, 1:
		clear(c.cut)
	case 2:
		for _, to := range c.members {
			c.cut[[2]protocol.ID{m.id, to.id}], c.cut[[2]protocol.ID{to.id, m.id}] = true, true
		}
	case 3:
		if last := c.members[2]; last.machine != nil { // no client is served there
			c.crash(last, len(last.journalRequests)/2)
		} else {
			c.begin(last)
			c.show(uint64(c.now), c.members...)
		}
	case 4:
		if m.machine != nil {
			c.call(m, 2, &protocol.Break{Name: lock.SpaceLock, Reason: "resumed"})
		}
	default:
		if m.machine != nil {
			c.call(m, 2, &protocol.Transfer{To: other.id})
		}
	}
}

// TestSuspensionsExclude checks that a client that suspends a space of several shards has it alone until it hears
// otherwise, regardless of faults of members, and that after the faults every client gets what it wants.
func TestSuspensionsExclude(t *testing.T) {
	for seed := range rounds(16, 2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { exclude(t, seed) })
	}
}

func exclude(t *testing.T, seed uint64) {
	c := &crowd{world: newWorld(t, 3, 1+int(seed%4)), rand: rand.New(rand.NewPCG(seed, 1))}
	c.onReply = c.hear
	c.every = []uint64{0, 20}[seed%2]
	for _, m := range c.members {
		c.begin(m)
	}
	c.show(1, c.members...)
	for i := range uint64(6) {
		u := &user{number: 20 + i, at: c.members[i%2], suspends: i >= 4, held: map[uint64]string{}}
		c.users = append(c.users, u)
		ttl := time.Hour
		if u.suspends {
			ttl = 2 * time.Second
		}
		c.call(u.at, 1, &protocol.Enroll{Session: u.id(), TTL: ttl, Proof: [32]byte{byte(u.number)}, Own: u.suspends})
	}
	turns := func(count int) {
		for range count {
			for _, u := range c.users {
				if c.rand.IntN(3) == 0 {
					c.act(u)
				}
				if !u.suspends && c.rand.IntN(20) == 0 {
					c.call(u.at, 1, &protocol.Beat{Session: u.id()})
				}
			}
			if !c.calm && c.rand.IntN(40) == 0 {
				c.disturb()
			}
			c.pass(time.Duration(1+c.rand.IntN(30)) * time.Millisecond)
		}
	}
	turns(1500)
	clear(c.cut)
	if c.members[2].machine == nil {
		c.begin(c.members[2])
	}
	c.show(uint64(c.now), c.members...)
	for _, u := range c.users {
		u.done = 0
	}
	c.calm = true
	turns(1500)
	for _, u := range c.users {
		if u.done == 0 || u.waits || len(u.held) > 0 {
			t.Errorf("user %d has been served %d times, waits %v, and has %v", u.number, u.done, u.waits, u.held)
		}
	}
	c.pass(10 * time.Second)
	for _, m := range c.members {
		for _, p := range m.machine.parts {
			if table := p.shard.Replica().Table(); table.Names() > 0 {
				t.Errorf("at member %s shard %d has %d names, suspended %+v", m.name(), p.index, table.Names(), table.Show(lock.SpaceLock))
			}
		}
		if len(m.machine.inquiries) > 0 || !m.machine.calls.Empty() {
			t.Errorf("at member %s %d questions are open, of operators %v", m.name(), len(m.machine.inquiries), m.machine.calls.Waiting())
		}
	}
}
