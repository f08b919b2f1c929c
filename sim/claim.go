package sim

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/storage"
)

// claimProtocol is one space of protocol claim over the membership, which it needs for nothing but
// the sessions of its clients.
func claimProtocol() Protocol {
	return Protocol{
		Name: "claim", Fewest: 1, Most: 5, Locks: true, Peers: true, Stores: true, Claims: true,
		Faults: Within.Without(Any),
		Build:  OneSpace("claim"), draw: drawClaim,
		Own: func(space protocol.Machine, now protocol.Time) *protocol.Condition {
			return space.(*claim.Machine).Own(now)
		},
		Universe: Universe{Below: membershipMessages(), Above: []protocol.Message{
			local.Query{}, local.Answer{},
		}},
	}
}

// assured is until when all that users within the process hold is safe, as far as the space knows.
func (m *process) assured() protocol.Time {
	if space, is := m.space().(protocol.Assures); is {
		return space.Assured()
	}
	return protocol.Never
}

// drawKeeping draws for how long processes keep what was released, where locks are taken by conditional
// writes, in half of these runs; and in half of those users come so often that it is wanted meanwhile.
func (s *settings) drawKeeping(o *claim.Options, r *rand.Rand) {
	const least = 20 * time.Millisecond
	length := least + time.Duration(r.Int64N(int64(min(time.Second, o.Expiry/10)-least)))
	drawn, often := r.IntN(2) == 0, r.IntN(2) == 0
	if !o.CAS || !drawn {
		return
	}
	o.HoldOn = length.Round(time.Millisecond)
	if often {
		s.think, s.holding = least, least/2
	}
}

// What can happen where processes keep what was released.
const (
	keptRegranted = iota
	keptRewritten
	keptYielded
	keptCrashed
	keptCount
)

var keptNames = [keptCount]string{"granted again without a write", "written anew while it is free", "given back to others who have waited", "crash of who keeps something"}

// keptCells is what a process has counted.
type keptCells = claim.Holding

// countKept counts what a process has done with what was released, in a step.
func (m *process) countKept() {
	if m.world.settings.known.keepsCell == 0 {
		return
	}
	before, now := m.keeping, m.space().(*claim.Machine).Holding()
	m.keeping = now
	kept := &m.world.count.kept
	kept[keptRegranted] += int(now.Regranted - before.Regranted)
	kept[keptRewritten] += int(now.Rewritten - before.Rewritten)
	kept[keptYielded] += int(now.Yielded - before.Yielded)
}

// countCrash counts the crash of a process that keeps something.
func (m *process) countCrash() {
	if m.keeping.Kept > 0 {
		m.world.count.kept[keptCrashed]++
	}
}

// listKept lists what can be hit where processes keep what was released.
func (c *counts) listKept(config *Config, row func(sort, name string, n int)) {
	if !config.Protocol.Claims {
		return
	}
	for i, name := range keptNames {
		if i != keptCrashed || config.Faults.Has(Crash) {
			row("kept", name, c.kept[i])
		}
	}
}

// claimStore is a store that can do all that claims need.
func claimStore(ttl, watch bool) storage.Features {
	return storage.Features{Name: "simulated", Consistent: true, Swap: true, Durable: true, Clock: true, TTL: ttl, Watch: watch}
}

// drawClaim draws the options of a space whose locks stand in a store, and what that can do.
func drawClaim(s *settings, r *rand.Rand) {
	o := &claim.Options{}
	o.Wait = 40*time.Millisecond + time.Duration(r.IntN(120))*time.Millisecond
	o.Expiry = 5*time.Second + time.Duration(r.IntN(20))*time.Second
	o.CAS = r.IntN(3) == 0
	storeClock, cleaner := r.IntN(4) == 0, r.IntN(3) == 0
	o.StoreClock, o.Cleaner = storeClock && !o.CAS, cleaner && !o.CAS
	o.Unit = []claim.Unit{claim.Micro, claim.Micro, claim.Milli, claim.Nano}[r.IntN(4)]
	s.store = claimStore(r.IntN(2) == 0, r.IntN(2) == 0)
	for i := range s.names {
		s.names[i].use, s.names[i].capacity = holdfast.ModeExclusive, 0
	}
	// A client that believes longer than claims may live is refused, and would never have every name.
	s.ttl = slices.DeleteFunc(s.ttl, func(ttl time.Duration) bool { return cmp.Or(ttl, 10*time.Second)*11/10 > o.Belief() })
	if len(s.ttl) == 0 {
		s.ttl = []time.Duration{time.Second}
	}
	s.drawKeeping(o, r)
	maps.Copy(s.options, o.List().Given())
}
