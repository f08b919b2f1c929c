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

// world is one state. What it refers to is shared with other states, and is replaced
// rather than changed.
type world struct {
	now     time.Duration // real time; states differ in it and are equal
	members []*member
	flying  []*packet // in the order in which they are delivered
	held    []*packet // delayed, or copies: they come whenever they come
	public
}

// public is what the members do not know: the users, the budgets, and what was promised.
type public struct {
	Users   []user
	Highest []uint64 // token that was granted, by name
	Left    budgets
}

// budgets are the deviations that are left.
type budgets struct{ Crashes, Restarts, Pauses, Losses, Duplicates, Delays, Dawdles, Transfers uint8 }

// member is a process and the machine on which it runs.
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
	cell       []byte        // what is synced
	inbox      []*packet     // what has come since it was paused

	form, cellForm snapshot.Form
	formed         bool // form is that of soul
	owned          bool // by the state that is being made: no other state has it
}

// soul is what is copied: the machines of a life, and the view that they have raised.
type soul struct {
	Session *session.Machine
	View    *protocol.View
}

// packet is a message under way; storage's are from the member to itself.
type packet struct {
	From, To int
	Peer     protocol.ID // as the receiver knows the sender
	Port     protocol.Port
	Message  any
	saved    *saving
	form     snapshot.Form
	formed   bool
}

// saving is a write of a stable cell: it happens when it is delivered.
type saving struct {
	ID   uint64
	data []byte
	Cell membership.Cell
}

// Clocks. A member's clock shows a number that names the member and which
// of its lives it is: an instant is near the beginning of a life, a length of time is small. A
// later life's begins below an earlier one's, so that what is remembered of that lies in
// the future, as it does when a clock begins again at zero.
const (
	memberSpan = 1 << 55 // ns
	lifeSpan   = 1 << 48 // ns
)

// base is what the clock shows at the beginning of a life, the first of which is 1.
func base(place, life int) time.Duration {
	return time.Duration(place+1)*memberSpan - time.Duration(life)*lifeSpan
}

// A fast clock shows 21 where a right one shows 20.
const right, fast = 20, 21

// clock returns what a member's clock shows.
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

// draws is a source of chance that has none: chance adds no states. A member without a cell
// draws who it is first, and what it names the cluster that it may found: large numbers that
// differ from the others'. Everything else that it draws is the same part of what it could
// be, an eighth more for each member, so that candidates do not try again at one time.
type draws struct {
	place int
	names int // that are still to be drawn
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
		// As the clock shows a large number at the start, the wall clock is set back by as much.
		// It shows the same at each start: with cells nothing hangs on it.
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

// change returns a member of a state that may be changed, with machines of its own; its form
// is made anew.
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

// replace puts a copy in the place of a member, which may be changed but for its machines.
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

// place returns which member has an id or, where that is no member's, an address; -1 if none.
func (w *world) place(id protocol.ID, address string) int {
	return slices.IndexFunc(w.members, func(m *member) bool {
		return id != protocol.AnyMember && m.id == id || id == protocol.AnyMember && m.address == address
	})
}
