package protocoltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// flight is a message that is on its way.
type flight struct {
	from, to protocol.ID
	message  protocol.Message
}

// step steps one member, and prints and sends its effects.
func (s *Stage) step(m *member, ev protocol.Event) {
	if m.crashed {
		return
	}
	m.machine.Step(s.now, ev, &m.out)
	for _, note := range m.out.Notes {
		fmt.Fprintf(&s.said, "%s: %v\n", m.name, note)
	}
	for _, send := range m.out.Sends {
		s.send(m, send)
	}
	for _, fact := range m.out.Raises {
		switch fact := fact.(type) {
		case *protocol.Confirmed:
			fmt.Fprintf(&s.said, "%s: confirmed epoch %d\n", m.name, fact.Epoch)
		case *protocol.NeedEpoch:
			fmt.Fprintf(&s.said, "%s: needs an epoch above %d\n", m.name, fact.Above)
		case *protocol.Unheard:
			fmt.Fprintf(&s.said, "%s: does not hear %s\n", m.name, s.names().Members(fact.IDs))
		case *protocol.SpaceState:
			fmt.Fprintf(&s.said, "%s: says that the space is %s here\n", m.name, map[bool]string{true: "closed", false: "open"}[fact.Closed])
		default:
			fmt.Fprintf(&s.said, "%s: raise %+v\n", m.name, fact)
		}
	}
	for _, reply := range m.out.Replies {
		if reply.Decision.Kind != 0 {
			fmt.Fprintln(&s.said, golden.Decided(&reply, fmt.Sprintf("%s%d", m.name, uint32(reply.Decision.Session.Number))))
			continue
		}
		fmt.Fprintf(&s.said, "%s: %s\n", m.name, s.names().Result(reply.Result))
	}
	m.out.Reset()
}

// kindOf is the type of a message, without its package; of one that brings another, that one's.
func kindOf(message protocol.Message) string {
	if bringing, is := message.(interface{ Kind() string }); is {
		return bringing.Kind()
	}
	name := fmt.Sprintf("%T", message)
	return name[strings.LastIndexByte(name, '.')+1:]
}

func (s *Stage) send(m *member, send protocol.Envelope) {
	if send.To == protocol.Storage && send.Address == "" {
		s.keep(m, send.Message)
		return
	}
	to := s.byID(send.To)
	link := m.name + ">" + to.name
	kind := kindOf(send.Message)
	fault := s.links[link+":"+kind]
	if fault == "" {
		fault = s.links[link]
	}
	f := flight{m.id, to.id, send.Message}
	mark := ""
	switch fault {
	case "cut":
		mark = " ✗"
	case "slow":
		s.slow = append(s.slow, f)
		mark = " …"
	case "twice":
		s.transit = append(s.transit, f, f)
		mark = " ×2"
	default:
		s.transit = append(s.transit, f)
	}
	fmt.Fprintf(&s.said, "  %s→%s %v%s\n", m.name, to.name, send.Message, mark)
	s.sent[kind]++
}

// settle delivers messages until none is in flight.
func (s *Stage) settle() {
	for len(s.transit) > 0 {
		f := s.transit[0]
		s.transit = s.transit[1:]
		if f.from == protocol.Storage && s.prints(f) {
			fmt.Fprintf(&s.said, "  %s→%s %s\n", theStore, s.byID(f.to).name, s.store.answered(f.message))
		}
		s.step(s.byID(f.to), protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.message})
	}
}

// prints reports whether an answer of the store is worth printing: not if it is only a reading of the member's own wall
// clock, or if the member does not receive it.
func (s *Stage) prints(f flight) bool {
	_, clocked := f.message.(storage.Clocked)
	return !s.byID(f.to).crashed && (!clocked || s.options["clock"] == "store")
}

// flow delivers a slow link's messages.
func (s *Stage) flow(link string, last bool) {
	if s.store != nil && strings.Contains(link, theStore) {
		if t := s.store.wrong[link]; t.kind == "slow" {
			delete(s.store.wrong, link)
		}
		s.release(link)
		return
	}
	delete(s.links, link)
	var kept, going []flight
	for _, f := range s.slow {
		on := s.byID(f.from).name + ">" + s.byID(f.to).name
		if on == link || on+":"+kindOf(f.message) == link {
			going = append(going, f)
		} else {
			kept = append(kept, f)
		}
	}
	if last {
		slices.Reverse(going)
	}
	s.slow, s.transit = kept, append(s.transit, going...)
}

// advance moves the clock, stopping at each time at which a machine wants to be woken.
func (s *Stage) advance(to protocol.Time) {
	s.t.Helper()
	golden.Advance(s.t, &s.now, to, func() (protocol.Time, func()) {
		at, who := protocol.Never, (*member)(nil)
		for _, m := range s.members {
			if wake := m.machine.Wake(); !m.crashed && wake < at {
				at, who = wake, m
			}
		}
		return at, func() {
			s.step(who, protocol.Event{Kind: protocol.Tick})
			s.settle()
		}
	})
}

// count prints the number of messages of each kind.
func (s *Stage) count() {
	var kinds []string
	for kind, n := range s.sent {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		kinds = []string{"none"}
	}
	fmt.Fprintf(&s.said, "messages: %s\n", strings.Join(kinds, ", "))
	clear(s.sent)
}
