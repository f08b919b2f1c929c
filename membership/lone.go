package membership

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Origin is the second from which epochs count on the wall clock: 2026-01-01 UTC.
const Origin = 1767225600

// Config is what a member alone needs to know.
type Config struct {
	// Name is the member's name, Address where it is reached. Both are for people.
	Name, Address string
	// Kept says that the member has a stable cell; Cell is what it holds, the zero
	// Cell if the state folder has never held one. Without Kept the member has no
	// memory, and Cell must be zero.
	Kept bool
	Cell Cell
	// Serves says that clients outside this process are served. A member that serves
	// none and keeps no cell waits for nobody: its holders end with it.
	Serves bool
	// Lease is D. Zero means 3 s. Drift is δ. Zero means 0.05.
	Lease time.Duration
	Drift float64
	// MaxHorizon bounds what may be promised beyond the lease. Zero means 2 h.
	MaxHorizon time.Duration
	// Wall is the wall clock at the start, since the Unix epoch.
	Wall time.Duration
	// Rand draws ids. Required.
	Rand *rand.Rand
}

// Lone is the membership of a member alone. It is a protocol.Machine.
type Lone struct {
	config Config
	cell   Cell // as it shall be
	lease  protocol.Lease
	view   *protocol.View

	horizon protocol.Horizon     // what may be promised now
	need    protocol.NeedHorizon // the latest wish
	wait    protocol.Time        // how long what an earlier life has promised is waited for

	saving   bool // a write is in flight
	inflight Cell
	again    bool // the cell changed while it was
	lastSave uint64
	asked    bool // somebody waits for a Horizon
	starting bool // the first write is not yet acknowledged
	leaving  []protocol.CallID
}

// NewLone makes the membership of a member alone. The error names the field that is
// wrong.
func NewLone(c Config) (*Lone, error) {
	if c.Lease == 0 {
		c.Lease = 3 * time.Second
	}
	if c.Drift == 0 {
		c.Drift = 0.05
	}
	if c.MaxHorizon == 0 {
		c.MaxHorizon = 2 * time.Hour
	}
	switch {
	case c.Rand == nil:
		return nil, fmt.Errorf("membership: Rand is nil; give a source of random numbers")
	case c.Lease < 0, c.MaxHorizon < 0:
		return nil, fmt.Errorf("membership: Lease %v, MaxHorizon %v: neither may be negative", c.Lease, c.MaxHorizon)
	case !(c.Drift >= 0 && c.Drift <= 0.5): // so that it is no NaN either
		return nil, fmt.Errorf("membership: Drift is %v; 0 to 0.5 is allowed", c.Drift)
	case !c.Kept && c.Cell != (Cell{}):
		return nil, fmt.Errorf("membership: Cell is given but not Kept")
	}
	m := &Lone{config: c, cell: c.Cell, starting: true, lease: protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}}
	m.begin()
	return m, nil
}

// begin makes this life's cell of the last one's, and says what must be waited for.
func (m *Lone) begin() {
	c, fresh := m.config, m.cell.ID == 0
	if fresh {
		m.cell.ID = protocol.ID(nonzero(c.Rand))
		m.cell.Cluster = nonzero(c.Rand)
	}
	m.cell.Incarnation++
	m.cell.Promised = max(m.cell.Promised+1, secondsOf(c.Wall))
	m.lease.Tenure = protocol.Tenure{Incarnation: m.cell.Incarnation}
	switch {
	case c.Kept && !fresh && !c.Cell.Clean:
		// The former life's clients believe, whether or not this one serves any.
		m.wait = m.stretch(c.Lease + c.Cell.Horizon)
	case !c.Kept && c.Serves:
		m.wait = m.stretch(c.Lease)
	}
	if m.wait == 0 {
		m.cell.Horizon, m.cell.Clean = 0, true
	}
}

func nonzero(r *rand.Rand) uint64 {
	for {
		if n := r.Uint64(); n != 0 {
			return n
		}
	}
}

// secondsOf returns the seconds since Origin, and at least 1.
func secondsOf(wall time.Duration) uint64 {
	return uint64(max(1, int64(wall/time.Second)-Origin))
}

// stretch returns how long this member waits for what others count as d.
func (m *Lone) stretch(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*m.config.Drift) + 1
}

// Cell returns the cell as it shall be, for whoever shows it.
func (m *Lone) Cell() Cell { return m.cell }

// Wake returns when what an earlier life had promised has run out and the cell
// should say so.
func (m *Lone) Wake() protocol.Time {
	if m.starting || m.wait == 0 {
		return protocol.Never
	}
	return m.wait
}

// Step takes one event.
func (m *Lone) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.Kind {
	case protocol.Start:
		m.save(out)
	case protocol.Tick:
		m.onWaited(now, out)
	case protocol.Receive:
		if saved, ok := ev.Fact.(storage.Saved); ok && ev.From == protocol.Storage {
			m.onSaved(now, saved, out)
		}
	case protocol.Raised:
		switch fact := ev.Fact.(type) {
		case *protocol.NeedHorizon:
			m.onNeedHorizon(fact, out)
		case *protocol.NeedEpoch:
			m.onNeedEpoch(fact, out)
		}
	case protocol.Call:
		switch ev.Fact.(type) {
		case *Leave:
			m.onLeave(ev.Call, out)
		case *Who:
			out.Reply(ev.Call, &Self{Cell: m.cell, View: m.view, Horizon: m.horizon})
		}
	}
}
