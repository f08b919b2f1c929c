package explore

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
	"github.com/holdfast-locks/holdfast/storage"
)

// engine computes the next states of a state. Each goroutine has its own.
type engine struct {
	config    *Config
	addresses []string
	copier    *snapshot.Copier
	late      time.Duration // the time at which everything begins
	out       protocol.Effects
	rank      ranking
	all       []action
	trace     func(format string, arguments ...any) // nil without a trace
	broken    *Violation                            // the first one in the present transition
}

func newEngine(c *Config) (*engine, error) {
	var known []snapshot.Rule
	if !c.Exact && !c.Unreduced {
		known = rules(c)
	}
	copier, err := snapshot.New(known...)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	e := &engine{config: c, copier: copier}
	e.rank.horizons, e.rank.chained, e.rank.counted = c.horizons(), c.Protocol.Moves, c.Protocol.Peers
	for place := range c.Members {
		e.addresses = append(e.addresses, address(place))
	}
	return e, nil
}

func address(place int) string { return fmt.Sprintf("10.0.0.%d:4040", place+1) }

// userSpace is the port of the one space that users use.
const userSpace protocol.Port = 1

// step steps a member, which may be changed, with one event, and performs the effects.
func (e *engine) step(w *world, m *member, ev protocol.Event) error {
	m.soul.Session.Step(m.clock(w.now), ev, &e.out)
	out := e.out
	e.out = protocol.Effects{}
	for i := range out.Sends {
		if err := e.send(w, m, &out.Sends[i]); err != nil {
			return err
		}
	}
	for _, fact := range out.Raises {
		e.raised(w, m, fact)
	}
	if e.trace != nil {
		for _, note := range out.Notes {
			e.trace("  %s notes %v", m.name, note)
		}
	}
	for i := range out.Replies {
		e.hear(w, m, &out.Replies[i])
	}
	out.Reset()
	e.out = out
	return nil
}

// send puts a message in flight. It shares no memory with the sender's machine.
func (e *engine) send(w *world, m *member, env *protocol.Envelope) error {
	p := &packet{From: m.place, To: m.place, Peer: m.id, Port: env.Port}
	if save, is := env.Message.(storage.Save); is && env.To == protocol.Storage {
		cell, err := membership.DecodeCell(save.Data)
		if err != nil {
			return fmt.Errorf("read what %s saves: %w", m.name, err)
		}
		p.Peer, p.saved = protocol.Storage, &saving{ID: save.ID, data: save.Data, Cell: cell}
		w.flying = append(w.flying, p)
		return nil
	}
	if p.To = w.place(env.To, env.Address); p.To < 0 {
		return nil // no member is there
	}
	message, err := snapshot.Copy(e.copier, &env.Message)
	if err != nil {
		return fmt.Errorf("copy a message of %s: %w", m.name, err)
	}
	p.Message = *message
	w.flying = append(w.flying, p)
	return nil
}

// savingForm is the part of a write in progress that the canonical form keeps.
type savingForm struct {
	From, To int
	Port     protocol.Port
	ID       uint64
	Cell     membership.Cell
}

// raised takes the machines' reports to their driver.
func (e *engine) raised(w *world, m *member, fact any) {
	switch fact := fact.(type) {
	case *protocol.View:
		m.soul.View = fact
		if e.trace != nil {
			e.trace("  %s has view %d of epoch %d, coordinator %s, of %d, installed=%v open=%v", m.name, fact.Number,
				fact.Epoch.Counter, w.called(fact.Coordinator), len(fact.Members), fact.Installed, fact.Open)
		}
		e.open(w, m)
	case *protocol.Lapsed:
		if e.trace != nil {
			e.trace("  %s has lost its lease", m.name)
		}
	case *membership.Unfit:
		e.violate("P4", "%s takes no part any more: %v", m.name, fact.Err)
	}
}

// called names a member.
func (w *world) called(id protocol.ID) string {
	if at := w.place(id, ""); at >= 0 {
		return w.members[at].name
	}
	return fmt.Sprint(uint64(id))
}

// backlog is the number of packets that wait for a paused process: later ones are lost.
const backlog = 8

// deliver makes a packet arrive. It is lost if the member is down, and waits if the member is paused.
func (e *engine) deliver(w *world, p *packet) error {
	at := w.members[p.To]
	switch {
	case !at.up:
		e.say("%s is down: %s is lost", at.name, p.what())
		return nil
	case at.paused:
		if len(at.inbox) >= backlog && p.saved == nil {
			e.say("%s is paused, and its socket is full: %s is lost", at.name, p.what())
			return nil
		}
		e.say("%s is paused: %s waits", at.name, p.what())
		m := w.replace(p.To)
		m.inbox = append(m.inbox[:len(m.inbox):len(m.inbox)], p)
		return nil
	}
	m, err := e.change(w, p.To)
	if err != nil {
		return err
	}
	if e.trace != nil { // describing it costs more than the step
		e.trace("%s gets %s", m.name, w.from(p))
	}
	ev := protocol.Event{Kind: protocol.Receive, From: p.Peer, Port: p.Port}
	if p.saved != nil {
		if err := e.sync(m, p.saved); err != nil {
			return err
		}
		ev.Fact = storage.Saved{ID: p.saved.ID}
	} else {
		message, err := snapshot.Copy(e.copier, &p.Message)
		if err != nil {
			return fmt.Errorf("copy a message to %s: %w", m.name, err)
		}
		ev.Fact = *message
	}
	return e.step(w, m, ev)
}

// sync performs the disk's write.
func (e *engine) sync(m *member, s *saving) error {
	form, err := e.copier.Form(&s.Cell, uint64(m.place))
	m.cell, m.cellForm = s.data, form
	return err
}

// act steps a member, which no other act has changed yet, with its own event.
func (e *engine) act(w *world, place int, ev protocol.Event) error {
	m, err := e.change(w, place)
	if err != nil {
		return err
	}
	return e.step(w, m, ev)
}

// what describes a packet, for people.
func (p *packet) what() string {
	if p.saved != nil {
		return fmt.Sprintf("save #%d", p.saved.ID)
	}
	return fmt.Sprint(p.Message)
}

func (w *world) from(p *packet) string {
	if p.saved != nil {
		return p.what() + " done"
	}
	return fmt.Sprintf("%s from %s", p.what(), w.members[p.From].name)
}

// call makes the event of a user's call.
func call(u int, op uint64, port protocol.Port, fact any) protocol.Event {
	return protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Sink: uint64(u + 1), Op: op}, Fact: fact}
}

// open lets the users within a member open their sessions at its first view.
func (e *engine) open(w *world, m *member) {
	for i := range w.Users {
		u := &w.Users[i]
		if u.Member != m.place || u.Phase != away {
			continue
		}
		u.Phase = opening
	}
}

// hear takes a member's reply to a user.
func (e *engine) hear(w *world, m *member, reply *protocol.Reply) {
	i := int(reply.To.Sink) - 1
	if i < 0 || i >= len(w.Users) || w.Users[i].Member != m.place {
		return
	}
	switch result := reply.Result.(type) {
	case *session.Opened:
		if result.Err == nil {
			w.Users[i].Session, w.Users[i].Phase = result.ID, idle
		}
		return
	case nil:
	default:
		return
	}
	if reply.Decision.Kind != lock.Queued {
		e.decided(w, m, i, reply)
	}
}
