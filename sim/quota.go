package sim

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In an eighth of the runs every second client has a small quota of locks at each member: held, and asked for. Its
// users try again when they are refused. As long as a client has had one connection, it knows what its member counts,
// because it hears of each end in the order of the member's decisions: a request within the quota is not refused
// because of it, and one beyond it is neither granted nor queued (P8). When all users have nothing, the members charge
// them nothing (P4).

// quotaStream is mixed with the seed to draw quotas.
const quotaStream = 0x71756f7461

// drawQuota draws whether clients have quotas, from its own source of chance. Users who take names together may need
// more than a quota, and those whose messages are counted would try again.
func (s *settings) drawQuota(c *Config, r dice) {
	drawn, quota := r.IntN(8) == 0, 1+r.IntN(3)
	if drawn && c.Protocol.Locks && !s.costs && !s.gathers && s.crowd == 0 && s.deafens == 0 {
		s.quota = quota
	}
}

// Rows of coverage for quotas.
var (
	quotaRefused = mark{"quota", "a request beyond it is refused"}
	quotaFull    = mark{"quota", "used up by a request that is taken"}
)

// owner returns the owner that is charged a client's sessions: the zero Owner, which is charged nothing, for those
// without a quota.
func (c *client) owner() session.Owner {
	if c.world.settings.quota == 0 || c.number%2 == 0 || c.heir || c.crowd != nil {
		return session.Owner{}
	}
	return session.Owner{Name: c.name, Quota: session.Quota{Locks: c.world.settings.quota}}
}

// account is what a client knows of its charges at a member.
type account struct {
	serves int // connections that have served; beyond the first, earlier ones may have left charges behind
	live   map[uint64]*charged
}

// charged is a request that was sent and has not ended.
type charged struct {
	most    int        // how many others the member may have counted when it decided about this one
	before  []*charged // those of them that it must have counted
	known   bool       // it was granted or queued
	granted bool
	leaving bool // its release was sent
	ended   bool
}

// keepsAccount reports whether the account knows what the member counts: third parties may end requests, and an heir takes
// the session over, in other runs.
func (c *client) keepsAccount() bool {
	s := &c.world.settings
	return c.account.serves == 1 && s.meddles == 0 && !s.heir && c.owner().Name != ""
}

// sends notes an operation on the serving connection.
func (c *client) sends(op *schema.Operation) {
	if !c.keepsAccount() {
		return
	}
	all := c.account.live
	switch op.GetKind().(type) {
	case *schema.Operation_Acquire:
		if all[op.GetId()] != nil {
			return
		}
		r := &charged{}
		//tidy:unordered each is counted
		for _, other := range all {
			if r.most++; other.known && !other.leaving {
				r.before = append(r.before, other)
			}
		}
		all[op.GetId()] = r
	case *schema.Operation_Release, *schema.Operation_Cancel:
		if r := all[op.GetId()]; r != nil {
			r.leaving = true
		}
	}
}

// hears notes an event of the serving connection, and checks the member's decision.
func (c *client) hears(event *schema.Event) {
	r := c.account.live[event.GetId()]
	if r == nil || !c.keepsAccount() {
		return
	}
	w, quota := c.world, c.world.settings.quota
	switch kind := event.GetKind().(type) {
	case *schema.Event_Granted:
		c.taken(r, quota)
		r.granted = true
	case *schema.Event_Queued:
		c.taken(r, quota)
	case *schema.Event_Refused:
		if r.granted {
			return // of another hold limit
		}
		if p := kind.Refused.GetProblem(); p.GetCode() == api.CodeLimit && p.GetLimit() == session.QuotaLocks {
			w.count.hits[quotaRefused]++
			if r.most < quota {
				w.judge.violate("P8", "%s is refused a request because of its quota of %d locks, and has at most %d others", c, quota, r.most)
			}
		}
		c.endCharge(event.GetId())
	case *schema.Event_Lost:
		if !kind.Lost.GetMustRelease() { // its place is taken until the client has released it
			c.endCharge(event.GetId())
		}
	case *schema.Event_Released:
		if p := kind.Released.GetProblem(); p == nil || p.GetCode() == api.CodeNotHeld {
			c.endCharge(event.GetId())
		}
	}
}

// taken checks the first answer to a request that was not refused.
func (c *client) taken(r *charged, quota int) {
	if r.known {
		return
	}
	r.known = true
	counted := 0
	for _, other := range r.before {
		if !other.ended {
			counted++
		}
	}
	r.before = nil
	if counted == quota-1 {
		c.world.count.hits[quotaFull]++
	}
	if counted >= quota {
		c.world.judge.violate("P8", "%s has a quota of %d locks, and is not refused one more than %d", c, quota, counted)
	}
}

func (c *client) endCharge(id uint64) {
	if r := c.account.live[id]; r != nil {
		r.ended = true
		delete(c.account.live, id)
	}
}

// servesAnother is called when a connection becomes the serving one.
func (c *client) servesAnother() {
	c.account.serves++
	c.account.live = map[uint64]*charged{}
}

// charges describes what members charge clients that have nothing.
func (w *world) charges() (found []string) {
	if w.settings.quota == 0 {
		return nil
	}
	for _, m := range w.members {
		if !m.up || m.paused || !w.demanded(m) {
			continue
		}
		used, is := m.query(protocol.Below, &session.Usage{}).(*session.Used)
		if !is {
			found = append(found, fmt.Sprintf("%s does not say what its clients use", m))
			continue
		}
		for i := range used.Owners {
			if o := &used.Owners[i]; o.Locks > 0 || o.Waiters > 0 {
				found = append(found, fmt.Sprintf("%s charges %s %d locks and %d waits", m, o.Name, o.Locks, o.Waiters))
			}
		}
	}
	return found
}
