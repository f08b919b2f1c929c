package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// world is one state. Its parts are shared with other states, and are replaced rather than changed.
type world struct {
	now     time.Duration // real time; equal states may differ in it
	members []*member
	flying  []*packet // in the order of delivery
	held    []*packet // delayed ones, or copies: they arrive at any time
	public
}

// public is the state outside the members: the users, the budgets, and the record of grants.
type public struct {
	Users   []user
	Highest []uint64 // highest token granted, by name
	Left    budgets
}

// budgets are the deviations that are left.
type budgets struct{ Crashes, Restarts, Pauses, Losses, Duplicates, Delays, Dawdles, Transfers uint8 }

// member is a process and its machine.
type member struct {
	place   int
	id      protocol.ID
	name    string
	address string
	fast    bool

	up, paused bool
	lives      int
	began      time.Duration // real time of this life's start
	soul       *soul         // nil while it is down
	cell       []byte        // the synced contents
	inbox      []*packet     // arrivals since it was paused

	form, cellForm snapshot.Form
	formed         bool // form is that of soul
	owned          bool // by the state under construction: no other state shares it
}

// soul is the copied part: the machines of a life, and the view that they have raised.
type soul struct {
	Session *session.Machine
	View    *protocol.View
}

// packet is a message in flight; those of the storage are from the member to itself.
type packet struct {
	From, To int
	Peer     protocol.ID // the sender as the receiver knows it
	Port     protocol.Port
	Message  any
	saved    *saving
	form     snapshot.Form
	formed   bool
}

// saving is a write of a stable cell, which happens at its delivery.
type saving struct {
	ID   uint64
	data []byte
	Cell membership.Cell
}

// Clocks. A member's clock has an offset that encodes the member and its life, so that an instant is near the offset of
// a life, and a duration is small. The offset of a later life is below that of an earlier one, so that remembered
// instants are in the future, as with a clock that restarts at zero.
const (
	memberSpan = 1 << 55 // ns
	lifeSpan   = 1 << 48 // ns
)

// base is the clock's reading at the beginning of a life, the first of which is 1.
func base(place, life int) time.Duration {
	return time.Duration(place+1)*memberSpan - time.Duration(life)*lifeSpan
}

// A fast clock counts 21 while a right one counts 20.
const right, fast = 20, 21

// clock returns the reading of a member's clock.
func (m *member) clock(now time.Duration) protocol.Time {
	ran := now - m.began
	if m.fast {
		ran = ran / right * fast
	}
	return base(m.place, m.lives) + ran
}

// due returns the first multiple of the quantum in real time at which a member's clock
// shows at least local, or Never.
func (m *member) due(local protocol.Time, quantum time.Duration) time.Duration {
	if local == protocol.Never {
		return protocol.Never
	}
	ahead := max(0, local-base(m.place, m.lives))
	if m.fast {
		ahead = (ahead*right + fast - 1) / fast
	}
	at := m.began + ahead
	return (at + quantum - 1) / quantum * quantum
}

// draws is a deterministic source of chance, which adds no states. A member without a cell first draws its id, and the
// name of the cluster that it may found: large numbers that differ from the others'. Every other draw is the same
// fraction of its range, an eighth more for each member, so that candidates do not retry at one time.
type draws struct {
	place int
	names int // number of names to be drawn
}

// Uint64 returns the next number.
func (d *draws) Uint64() uint64 {
	if d.names > 0 {
		d.names--
		return uint64(idOf(d.place))
	}
	return uint64(d.place%8)<<61 + 2
}

// idOf is the id that a member draws.
func idOf(place int) protocol.ID {
	return protocol.ID(1<<63 | uint64(place+1)<<56 | 0x00a5_3c96_5ae1_7b43)
}

// start begins a life of a member.
func (e *engine) start(w *world, m *member) error {
	m.lives++
	m.up, m.began = true, w.now
	random := draws{place: m.place}
	if m.cell == nil {
		random.names = 2
	}
	options := e.config.Options.Space()
	if e.config.HoldOn > 0 {
		options["hold_on"] = option.Format(e.config.HoldOn)
	}
	node := sim.Node{
		Protocol: e.config.Protocol.Name, Name: m.name, Address: m.address, Founder: true, Join: e.addresses, Kept: true, Cell: m.cell,
		Rand: rand.New(&random), Lease: e.config.Lease, Drift: e.config.Drift,
		// As the clock starts at a large number, the wall clock is set back by as much. It shows the same at each
		// start: members with cells do not depend on it.
		Wall:  wall - time.Duration(float64(base(m.place, m.lives))/(1+e.config.Drift)),
		Table: lock.Config{Drift: e.config.Drift, History: 1}, Options: options,
	}
	built, err := e.config.Protocol.Build(node)
	if err != nil {
		return fmt.Errorf("start %s: %w", m.name, err)
	}
	m.id = built.ID
	sessions, err := session.New(session.Config{
		Member: built.ID, Incarnation: built.Incarnation, Rand: node.Rand, Spaces: len(built.Spaces), Drift: node.Drift, Lease: node.Lease,
	}, protocol.Stack(built.Below, built.Spaces...))
	if err != nil {
		return fmt.Errorf("start %s: %w", m.name, err)
	}
	m.soul = &soul{Session: sessions}
	m.formed = false
	return e.step(w, m, protocol.Event{Kind: protocol.Start})
}

// change returns a member of a state that may be changed, with its own machines; its form is recomputed.
func (e *engine) change(w *world, place int) (*member, error) {
	if w.members[place].owned {
		w.members[place].formed = false
		return w.members[place], nil
	}
	m := w.replace(place)
	m.owned, m.formed = true, false
	if m.soul != nil {
		copied, err := snapshot.Copy(e.copier, m.soul)
		if err != nil {
			return nil, fmt.Errorf("copy the machines of %s: %w", m.name, err)
		}
		m.soul = copied
	}
	return m, nil
}

// replace replaces a member by a copy, which may be changed except for its machines.
func (w *world) replace(place int) *member {
	m := *w.members[place]
	w.members[place] = &m
	return &m
}

// clone returns a state that may be changed without changing this one.
func (w *world) clone() *world {
	fresh := *w
	fresh.members = slices.Clone(w.members)
	fresh.flying = slices.Clone(w.flying)
	fresh.held = slices.Clone(w.held)
	fresh.Users = slices.Clone(w.Users)
	fresh.Highest = slices.Clone(w.Highest)
	return &fresh
}

// place returns the place of the member with an id or, if there is none, an address; -1 if there is none either.
func (w *world) place(id protocol.ID, address string) int {
	return slices.IndexFunc(w.members, func(m *member) bool {
		return id != protocol.AnyMember && m.id == id || id == protocol.AnyMember && m.address == address
	})
}
