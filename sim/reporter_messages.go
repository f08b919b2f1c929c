package sim

import (
	"fmt"
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/timeline"
	"strings"
)

// number assigns a number to a message to a receiver.
func (t *reporter) number(to string) uint32 {
	t.last++
	t.ways[t.last] = way{to, t.world.now, t.world.settings.weather.latency}
	return t.last
}

// sent reports a message between members, and returns its number.
func (t *reporter) sent(from *process, to string, port protocol.Port, m protocol.Message) uint32 {
	if t == nil {
		return 0
	}
	text := fmt.Sprint(m)
	id := t.number(to)
	t.emit(timeline.Event{
		Kind: timeline.Sent, Who: from.name, To: to, ID: uint64(id), Short: timeline.Shorten(text), Text: fmt.Sprintf("%T to port %d: %s", m, port, text),
		Name: t.about(text), Routine: t.world.protocol.routine(m),
	})
	return id
}

// about is the first of the run's names that a message quotes.
func (t *reporter) about(text string) string {
	for _, n := range t.world.settings.names {
		if strings.Contains(text, fmt.Sprintf("%q", n.name)) {
			return n.name
		}
	}
	return ""
}

// said reports a message between a client and a member, and returns its number.
func (t *reporter) said(from, to fmt.Stringer, short, text, name string, token holdfast.Token, routine bool) uint32 {
	if t == nil {
		return 0
	}
	id := t.number(to.String())
	t.emit(timeline.Event{
		Kind: timeline.Sent, Who: from.String(), To: to.String(), ID: uint64(id), Short: short, Text: text, Name: name,
		Token: uint64(token), Routine: routine,
	})
	return id
}

// called reports an operation.
func (t *reporter) called(l *link, op operation) uint32 {
	short := op.kind()
	if op.foreign {
		short += " of another's"
	}
	name, token := op.lock()
	if name != "" {
		short += " " + name
	}
	if token != 0 {
		short += " " + timeline.Token(uint64(token))
	}
	fresh := op.GetHello() != nil && op.GetHello().GetSession() == ""
	return t.said(l.client, l.member, short, op.String(), name, token, op.GetBeat() != nil || fresh)
}

// answers reports events that are sent together.
func (t *reporter) answers(l *link, a *answer) uint32 {
	text := strings.Join(a.texts(), "; ")
	if a.frame == nil {
		return t.said(l.member, l.client, a.kind(), text, "", 0, false)
	}
	var short []string
	var name string
	var token holdfast.Token
	routine := true
	for _, e := range a.frame.Message.GetEvents() {
		one := kindOf(e)
		if r := l.client.stream.find(e.GetId()); r != nil {
			name = r.want.name
			one += " " + name
		}
		if granted := e.GetGranted().GetToken(); granted != 0 {
			token = holdfast.Token(granted)
			one += " " + timeline.Token(granted)
		}
		if why := e.GetLost().GetWhy(); why != "" {
			one += ": " + why
		}
		short = append(short, one)
		routine = routine && (e.GetBeat() != nil || e.GetRefused() != nil && !l.server.greeted)
	}
	return t.said(l.member, l.client, strings.Join(short, ", "), text, name, token, routine)
}

// posted reports a visitor's HTTP request.
func (t *reporter) posted(v *visit, what string) uint32 {
	name := v.about.want.name
	return t.said(v.visitor, v.member, what+" "+name, "POST "+what+" "+name, name, 0, what == "renew")
}

// returned reports the answer to it.
func (t *reporter) returned(v *visit, what string) uint32 {
	name := v.about.want.name
	return t.said(v.member, v.visitor, what+" "+name, "answer to a POST: "+what+" "+name, name, 0, what == "renewed")
}

// requested reports a member's request to the store.
func (t *reporter) requested(by *process, request protocol.Message) uint32 {
	if t == nil {
		return 0
	}
	return t.stored(by.name, theStore, request, t.about(request.String()))
}

// responded reports the store's answer.
func (t *reporter) responded(to *inquiry, answer protocol.Message) uint32 {
	if t == nil {
		return 0
	}
	return t.stored(theStore, to.by.name, answer, t.about(to.request.String()))
}

// stored reports a message to or from the store.
func (t *reporter) stored(from, to string, m protocol.Message, name string) uint32 {
	id := t.number(to)
	t.ways[id] = way{to, t.world.now, t.world.settings.weather.store}
	text := m.String()
	t.emit(timeline.Event{Kind: timeline.Sent, Who: from, To: to, ID: uint64(id), Short: timeline.Shorten(text), Text: text, Name: name})
	return id
}

// copied reports that the network delivers a message twice.
func (t *reporter) copied(of uint32) uint32 {
	if t == nil || of == 0 {
		return 0
	}
	to := t.ways[of].to
	id := t.number(to)
	t.emit(timeline.Event{Kind: timeline.Copied, Who: to, ID: uint64(id), Of: uint64(of)})
	return id
}

// tardy is the multiple of the usual latency from which a message counts as late.
const tardy = 4

// delivered reports that a message has reached its receiver.
func (t *reporter) delivered(id uint32) {
	if t == nil || id == 0 {
		return
	}
	if m, under := t.ways[id]; under {
		delete(t.ways, id)
		late := t.world.now-m.sent > tardy*m.usual
		t.emit(timeline.Event{Kind: timeline.Delivered, Who: m.to, To: m.to, ID: uint64(id), Late: late})
	}
}

// lost reports that a message will not arrive.
func (t *reporter) lost(id uint32, why string) {
	if t == nil || id == 0 {
		return
	}
	if m, under := t.ways[id]; under {
		delete(t.ways, id)
		t.emit(timeline.Event{Kind: timeline.Lost, Who: m.to, To: m.to, ID: uint64(id), Why: why})
	}
}
