package unordered

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// engine computes the next states of a state.
type engine struct {
	config  Config
	copier  *snapshot.Copier // for forms of what can matter
	literal *snapshot.Copier // for forms of everything
	out     protocol.Effects
	ids     []protocol.ID
	names   *strings.Replacer // replaces ids in paths
	met     map[digest]*member
	taken   map[taking]*taken
	found   *Found // a violation in the latest step
}

func newEngine(c Config) (*engine, error) {
	copier, err := snapshot.New(rules(&c)...)
	if err != nil {
		return nil, err
	}
	literal, err := snapshot.New()
	if err != nil {
		return nil, err
	}
	return &engine{config: c, copier: copier, literal: literal, met: map[digest]*member{}, taken: map[taking]*taken{}}, nil
}

// taking is a machine and an event, and taken the result of the step. A machine meets the same event in many states, so
// results are cached: most steps are lookups.
type taking struct {
	by    *member
	event digest
}

type taken struct {
	after     *member
	parcels   []*parcel
	decisions []lock.Decision
	notes     []protocol.Note
	outdated  func(protocol.Message) bool // the messages that it ignores from now on; nil if those have not changed
}

// mostTaken is the maximum number of cached results; then the cache is cleared.
const mostTaken = 1 << 18

// at is the place of a user's member.
func (e *engine) at(user int) int { return user % e.config.Members }

// session is the session id of a user.
func (e *engine) session(user int) lock.SessionID {
	return lock.SessionID{Member: uint64(e.ids[e.at(user)]), Number: uint64(user + 1)}
}

// follow returns the next state, and checks it if nothing more can happen.
func (e *engine) follow(w *world, a action) (*world, error) {
	after, err := e.take(w, a)
	if err == nil {
		err = e.settle(after)
	}
	if err == nil && rests(e.actions(after)) {
		e.rest(after)
	}
	return after, err
}

// take returns the next state.
func (e *engine) take(w *world, a action) (*world, error) {
	after := w.clone()
	switch a.kind {
	case arrival:
		return after, e.deliver(after, a.at)
	case request:
		return after, e.act(after, a.at)
	case viewing:
		return after, e.learn(after, a.at)
	}
	e.crash(after, a.at)
	return after, nil
}

func (e *engine) deliver(w *world, i int) error {
	p := w.transit[i]
	w.transit = slices.Delete(w.transit, i, i+1)
	return e.step(w, p.to, p.full, e.receiving(p))
}

// receiving is the arrival of a parcel.
func (e *engine) receiving(p *parcel) func() protocol.Event {
	return func() protocol.Event {
		return protocol.Event{Kind: protocol.Receive, From: e.ids[p.from], Fact: p.message}
	}
}

// settle delivers envelopes that are next on their links and too late to change anything, now or later: regardless of
// the order of other events, the state is the same.
func (e *engine) settle(w *world) error {
	for i := 0; i < len(w.transit); i++ {
		p := w.transit[i]
		if !p.turn || !e.config.Protocol.Links.Late(p.message) || i > 0 && p.compare(w.transit[i-1]) == 0 {
			continue
		}
		t, err := e.foresee(w, p.to, p.full, e.receiving(p))
		if err != nil {
			return err
		}
		if t.after.name != w.members[p.to].name || len(t.parcels)+len(t.decisions)+len(t.notes) > 0 {
			continue
		}
		w.members[p.to] = t.after
		w.transit = slices.Delete(w.transit, i, i+1)
		i-- // the next one on the link
	}
	return nil
}

// act makes a user ask, or release its lock.
func (e *engine) act(w *world, i int) error {
	u := &w.users[i]
	before := *u
	if u.phase == holding {
		u.phase, u.token = idle, 0
	} else {
		u.phase = waiting
		u.calls--
		w.requests--
		u.request++
	}
	request := u.request
	named := fmt.Appendf(nil, "user %d phase %d request %d token %d", i, before.phase, request, before.token)
	return e.step(w, e.at(i), sum(named), func() protocol.Event {
		ev := protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: request}}
		if before.phase == holding {
			ev.Fact = &protocol.Release{Session: e.session(i), Name: contested, Request: request, Token: before.token}
			return ev
		}
		request := &lock.Request{Session: e.session(i), ID: request, Name: contested, WaitEnd: lock.Never}
		if units, capacity := e.config.Demand(i); capacity > 0 {
			request.Mode, request.Units, request.Capacity = holdfast.ModeSlots, units, capacity
		}
		ev.Fact = request
		return ev
	})
}

// foresee returns the result of an event, given the event's name, at a member.
func (e *engine) foresee(w *world, place int, named digest, event func() protocol.Event) (*taken, error) {
	key := taking{w.members[place], named}
	if t := e.taken[key]; t != nil {
		return t, nil
	}
	t, err := e.run(place, key.by, event())
	if err != nil {
		return nil, err
	}
	if len(e.taken) >= mostTaken {
		clear(e.taken)
		clear(e.met)
	}
	e.taken[key] = t
	return t, nil
}

// step steps a member with an event, given the event's name.
func (e *engine) step(w *world, place int, named digest, event func() protocol.Event) error {
	t, err := e.foresee(w, place, named, event)
	if err != nil {
		return err
	}
	w.members[place] = t.after
	if t.outdated != nil {
		w.outdate(place, t.outdated)
	}
	for _, note := range t.notes {
		e.violate("note", "m%d: %v", place+1, note)
	}
	for _, p := range t.parcels {
		if p.to != w.crashed-1 {
			w.post(p)
		}
	}
	for i := range t.decisions {
		e.decided(w, &t.decisions[i])
	}
	return nil
}

// run steps a copy of a machine with an event.
func (e *engine) run(place int, by *member, ev protocol.Event) (*taken, error) {
	m := *by
	copied, err := snapshot.Copy(e.copier, &m.machine)
	if err != nil {
		return nil, err
	}
	m.machine = *copied
	m.machine.Step(0, ev, &e.out)
	t := &taken{}
	if t.after, err = e.meet(&m); err != nil {
		return nil, err
	}
	for _, note := range e.out.Notes {
		if !e.explained(note, t) {
			t.notes = append(t.notes, note)
		}
	}
	for _, send := range e.out.Sends {
		p, err := e.parcel(place, send)
		if err != nil {
			return nil, err
		}
		t.parcels = append(t.parcels, p)
	}
	for i := range e.out.Replies {
		t.decisions = append(t.decisions, e.out.Replies[i].Decision)
	}
	e.out.Reset()
	return t, nil
}

// explained reports whether a note is about an expected event, and records its change.
func (e *engine) explained(note protocol.Note, t *taken) bool {
	links := e.config.Protocol.Links
	if _, serves := note.(protocol.Serving); serves || links == nil {
		return serves
	}
	if outdated := links.Outdates(note); outdated != nil {
		t.outdated = outdated
		return true
	}
	return e.config.Crashes > 0 && links.Ignored(note)
}

// meet names a machine, and returns an identical known one if there is one.
func (e *engine) meet(m *member) (*member, error) {
	var err error
	if m.full, err = nameOf(e.literal, &m.machine); err != nil {
		return nil, err
	}
	if known := e.met[m.full]; known != nil {
		return known, nil
	}
	if m.name, err = nameOf(e.copier, &m.machine); err != nil {
		return nil, err
	}
	e.met[m.full] = m
	return m, nil
}

func (e *engine) parcel(from int, send protocol.Envelope) (*parcel, error) {
	to := slices.Index(e.ids, send.To)
	if to < 0 {
		return nil, fmt.Errorf("m%d sends to %d, who is not there: %v", from+1, send.To, send.Message)
	}
	// Messages taken in turn arrive in order if none is lost.
	links := e.config.Protocol.Links
	p := &parcel{from: from, to: to, message: send.Message, turn: links != nil && links.InTurn(send.Message)}
	var err error
	if p.name, err = nameOf(e.copier, &p.message); err != nil {
		return nil, err
	}
	if p.full, err = nameOf(e.literal, &p.message); err != nil {
		return nil, err
	}
	p.name[0] ^= byte(from<<4 | to) // the rest is a digest: messages of two links differ in this byte
	p.full[0] ^= byte(from<<4 | to)
	return p, nil
}

// nameOf is the digest of an object graph.
func nameOf(by *snapshot.Copier, root any) (name digest, err error) {
	form, err := by.Form(root, 0)
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
	return sum(text), nil
}

func sum(text []byte) digest {
	full := sha256.Sum256(text)
	return digest(full[:16])
}
