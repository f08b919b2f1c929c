package unordered

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// contested is what all users want.
const contested = "X"

// digest names what a state is made of, and a state: 128 bits of what it is.
type digest [16]byte

// world is a state. What it is made of is shared with other states and never changed.
type world struct {
	members []*member
	transit []*parcel // in the order of their names
	users   []user
	asks    int            // that there may still be
	highest holdfast.Token // that was told of an exclusive grant
}

// member is a machine as it is between two steps.
type member struct {
	id      protocol.ID
	machine protocol.Machine
	name    digest
}

// parcel is a message that is under way.
type parcel struct {
	from, to int
	message  protocol.Message
	name     digest
}

type user struct {
	phase   phase
	calls   uint8 // that it may still begin
	request uint64
	token   holdfast.Token
}

type phase uint8

const (
	idle phase = iota
	waiting
	holding
)

// engine makes states of states.
type engine struct {
	config Config
	copier *snapshot.Copier
	out    protocol.Effects
	found  *Found // what the latest step shows
}

// at is the place of a user's member.
func (e *engine) at(user int) int { return user % e.config.Members }

// session is that of a user.
func (e *engine) session(w *world, user int) lock.SessionID {
	return lock.SessionID{Member: uint64(w.members[e.at(user)].id), Number: uint64(user + 1)}
}

// beginning is the state in which every member knows the others' clocks, and nobody has asked for
// anything.
func (e *engine) beginning() (*world, error) {
	w := &world{users: make([]user, e.config.Users), asks: e.config.Asks}
	for i := range w.users {
		w.users[i].calls = uint8(e.config.Calls)
	}
	view := &protocol.View{
		Number: 1, Epoch: protocol.Epoch{Counter: 1}, Installed: true, Open: true, GrantFrom: protocol.Never,
		Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
	}
	for place := range e.config.Members {
		built, err := e.config.Protocol.Build(sim.Seat{
			Protocol: e.config.Protocol.Name, Name: fmt.Sprintf("m%d", place+1), Address: fmt.Sprintf("10.0.0.%d:4040", place+1),
			Founder: true, Kept: true, Rand: rand.New(rand.NewPCG(uint64(place), 1)), Lease: 3e9, Drift: 0.05,
			Table: lock.Config{Drift: 0.05, History: 1}, Capacity: e.config.Capacity, Retain: e.config.Retain, Defer: e.config.Defer,
		})
		if err != nil {
			return nil, fmt.Errorf("start m%d: %w", place+1, err)
		}
		w.members = append(w.members, &member{id: built.ID, machine: built.Spaces[0]})
		view.Members = append(view.Members, protocol.Member{ID: built.ID, Name: fmt.Sprintf("m%d", place+1), Since: 1, Founder: true})
	}
	view.Coordinator, view.Epoch.Candidate = w.members[0].id, w.members[0].id
	for place := range w.members {
		seen := *view // each member has its own
		lease := *view.Lease
		seen.Lease = &lease
		if err := e.step(w, place, protocol.Event{Kind: protocol.Raised, Fact: &seen}); err != nil {
			return nil, err
		}
	}
	for len(w.transit) > 0 {
		if err := e.deliver(w, 0); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// clone returns a state that may be changed, down to the lists.
func (w *world) clone() *world {
	return &world{members: slices.Clone(w.members), transit: slices.Clone(w.transit), users: slices.Clone(w.users), asks: w.asks, highest: w.highest}
}

// action is one thing that can happen: the arrival of a message, or what a user does.
type action struct{ parcel, user int }

// actions lists what can happen. Of messages that nobody can tell apart one is enough.
func (w *world) actions() (all []action) {
	for i, p := range w.transit {
		if i == 0 || p.name != w.transit[i-1].name {
			all = append(all, action{parcel: i, user: -1})
		}
	}
	for i := range w.users {
		if u := &w.users[i]; u.phase == holding || u.phase == idle && u.calls > 0 && w.asks > 0 {
			all = append(all, action{user: i})
		}
	}
	return all
}

// take returns the state that follows.
func (e *engine) take(w *world, a action) (*world, error) {
	after := w.clone()
	if a.user < 0 {
		return after, e.deliver(after, a.parcel)
	}
	return after, e.act(after, a.user)
}

func (e *engine) deliver(w *world, i int) error {
	p := w.transit[i]
	w.transit = slices.Delete(w.transit, i, i+1)
	return e.step(w, p.to, protocol.Event{Kind: protocol.Receive, From: w.members[p.from].id, Fact: p.message})
}

// act lets a user ask, or give back what it holds.
func (e *engine) act(w *world, i int) error {
	u := &w.users[i]
	var fact any
	if u.phase == holding {
		fact = &protocol.Release{Session: e.session(w, i), Name: contested, Request: u.request, Token: u.token}
		u.phase, u.token = idle, 0
	} else {
		u.phase = waiting
		u.calls--
		w.asks--
		u.request++
		wish := &lock.Request{Session: e.session(w, i), ID: u.request, Name: contested, WaitEnd: lock.Never}
		if units, capacity := e.config.Demand(i); capacity > 0 {
			wish.Mode, wish.Units, wish.Capacity = holdfast.ModeSlots, units, capacity
		}
		fact = wish
	}
	return e.step(w, e.at(i), protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: u.request}, Fact: fact})
}

// step lets a member take an event: its machine is copied first.
func (e *engine) step(w *world, place int, ev protocol.Event) error {
	m := *w.members[place]
	whole, err := snapshot.Copy(e.copier, &m.machine)
	if err != nil {
		return err
	}
	m.machine = *whole
	m.machine.Step(0, ev, &e.out)
	if m.name, err = e.nameOf(&m.machine); err != nil {
		return err
	}
	w.members[place] = &m
	for _, note := range e.out.Notes {
		e.violate("note", "m%d: %v", place+1, note)
	}
	for _, send := range e.out.Sends {
		if err := e.send(w, place, send); err != nil {
			return err
		}
	}
	for i := range e.out.Replies {
		e.told(w, &e.out.Replies[i].Decision)
	}
	e.out.Reset()
	return nil
}

func (e *engine) send(w *world, from int, send protocol.Envelope) error {
	to := slices.IndexFunc(w.members, func(m *member) bool { return m.id == send.To })
	if to < 0 {
		return fmt.Errorf("m%d sends to %d, who is not there: %v", from+1, send.To, send.Message)
	}
	p := &parcel{from: from, to: to, message: send.Message}
	name, err := e.nameOf(&p.message)
	if err != nil {
		return err
	}
	name[0] ^= byte(from<<4 | to) // the rest is a digest: two that differ in this differ
	p.name = name
	at, _ := slices.BinarySearchFunc(w.transit, p, func(a, b *parcel) int { return bytes.Compare(a.name[:], b.name[:]) })
	w.transit = slices.Insert(w.transit, at, p)
	return nil
}

// nameOf is the digest of something.
func (e *engine) nameOf(root any) (name digest, err error) {
	form, err := e.copier.Form(root, 0)
	if err != nil {
		return digest{}, err
	}
	text := form.Shape[:]
	for _, n := range form.Numbers {
		text = binary.LittleEndian.AppendUint64(text, n.Value)
	}
	for _, t := range form.Times {
		text = binary.LittleEndian.AppendUint64(text, uint64(t))
	}
	sum := sha256.Sum256(text)
	return digest(sum[:16]), nil
}

// name is the digest of a state.
func (w *world) name() digest {
	var text []byte
	for _, m := range w.members {
		text = append(text, m.name[:]...)
	}
	for _, u := range w.users {
		text = append(text, byte(u.phase), u.calls)
		text = binary.AppendUvarint(text, uint64(u.token))
	}
	text = binary.AppendUvarint(text, uint64(w.highest))
	for _, p := range w.transit {
		text = append(text, p.name[:]...)
	}
	sum := sha256.Sum256(text)
	return digest(sum[:16])
}

// told takes what a user is told, and checks it.
func (e *engine) told(w *world, d *lock.Decision) {
	i := int(d.Session.Number) - 1
	switch d.Kind {
	case lock.Queued, lock.Released:
		return
	case lock.Granted:
	default:
		e.violate("P6", "user %d is told %v: %v", i+1, d.Kind, d.Err)
		return
	}
	u := &w.users[i]
	if u.phase != waiting || d.Request != u.request {
		e.violate("P6", "user %d is told that request %d is granted under token %d, and waits for nothing by it", i+1, d.Request, d.Token)
		return
	}
	units, capacity := e.config.Demand(i)
	used := max(1, units)
	for j := range w.users {
		if w.users[j].phase == holding {
			theirs, _ := e.config.Demand(j)
			used += max(1, theirs)
		}
	}
	if used > max(1, capacity) {
		e.violate("P1", "user %d enters, and %d of %d are in use then", i+1, used, max(1, capacity))
	}
	for j := range w.users {
		if w.users[j].phase == holding && w.users[j].token == d.Token {
			e.violate("P2", "users %d and %d hold under token %d", j+1, i+1, d.Token)
		}
	}
	if capacity == 0 {
		if d.Token <= w.highest {
			e.violate("P2", "user %d is told token %d after token %d", i+1, d.Token, w.highest)
		}
		w.highest = d.Token
	}
	u.phase, u.token = holding, d.Token
}

// rest checks a state in which nothing can happen any more.
func (e *engine) rest(w *world) {
	for i := range w.users {
		if w.users[i].phase != idle {
			e.violate("P4", "nothing is under way, and user %d waits", i+1)
		}
	}
}

// violate notes the first promise that a step breaks.
func (e *engine) violate(promise, format string, arguments ...any) {
	if e.found == nil {
		e.found = &Found{Promise: promise, Story: fmt.Sprintf(format, arguments...)}
	}
}

// tell says what an action is.
func (w *world) tell(a action) string {
	if a.user < 0 {
		p := w.transit[a.parcel]
		return fmt.Sprintf("m%d→m%d arrives: %v", p.from+1, p.to+1, p.message)
	}
	if u := &w.users[a.user]; u.phase == holding {
		return fmt.Sprintf("user %d gives back what it holds under token %d", a.user+1, u.token)
	}
	return fmt.Sprintf("user %d asks", a.user+1)
}
