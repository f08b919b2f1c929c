package bakery_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// witness is member 1 of four, which elects, leads with 2 and 3, holds H, and has a ticket for W that waits for 2's: so
// every message could change something. Member 4 does not lead.
type witness struct {
	t       *testing.T
	machine *bakery.Machine
	out     protocol.Effects
	said    map[protocol.ID]uint64 // envelopes of each other member
}

// tag is the tag of all members in the view of a witness.
var tag = local.Tag{View: 1, Epoch: protocol.Epoch{Counter: 4, Candidate: 1}}

// term is the term of the leaders 1, 2 and 3.
var term = bakery.Term{Epoch: 4, View: 1}

func keyOf(member protocol.ID, number uint64) bakery.Key {
	return bakery.Key{Member: member, Number: number}
}

func placeOf(member protocol.ID) local.Place { return local.Place{ID: member, Since: 1} }

// ticketOf is an exclusive ticket of a member.
func ticketOf(member protocol.ID, number uint64, name string) bakery.Ticket {
	return bakery.Ticket{Key: keyOf(member, number), For: placeOf(member), Name: name}
}

func startedBy(member protocol.ID) bakery.Started {
	name := string(rune('a' + member - 1))
	return bakery.Started{Tag: tag, Candidate: bakery.Candidate{ID: member, Priority: 14, Address: name, PID: 1, Name: name}}
}

func newWitness(t *testing.T, config bakery.Config) *witness {
	t.Helper()
	config.Self, config.Founders = 1, 4
	machine, err := bakery.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, machine: machine, said: map[protocol.ID]uint64{}}
	w.step(protocol.Event{Kind: protocol.Raised, Fact: viewOf(4, 1, 4)})
	for _, member := range []protocol.ID{2, 3, 4} {
		w.receive(member, startedBy(member))
	}
	for _, member := range []protocol.ID{2, 3} {
		w.receive(member, bakery.Elected{Tag: tag, Term: term})
	}
	for _, member := range []protocol.ID{2, 3, 4} {
		w.say(member, bakery.Claim{Done: true})
	}
	w.lock("H", 1)
	w.say(2, bakery.Entered{Key: keyOf(1, 1)})
	out := w.say(2, bakery.Added{Key: keyOf(1, 1), Activated: true, Vote: bakery.Vote{First: true, Count: 1}})
	if len(out.Replies) != 1 || out.Replies[0].Decision.Kind != lock.Granted {
		t.Fatalf("H: replies %v, sends %v", out.Replies, out.Sends)
	}
	w.say(2, bakery.Entering{Ticket: ticketOf(2, 1, "W"), Serial: 1})
	w.say(2, bakery.Add{Key: keyOf(2, 1), Number: 1, Activate: true})
	w.lock("W", 2)
	w.say(2, bakery.Entered{Key: keyOf(1, 2), Max: 1})
	w.say(2, bakery.Added{Key: keyOf(1, 2)})
	return w
}

// step steps with one event, and returns the effects.
func (w *witness) step(ev protocol.Event) protocol.Effects {
	w.t.Helper()
	w.machine.Step(0, ev, &w.out)
	out := w.out
	w.out = protocol.Effects{}
	return out
}

func (w *witness) receive(from protocol.ID, message protocol.Message) protocol.Effects {
	w.t.Helper()
	return w.step(protocol.Event{Kind: protocol.Receive, From: from, Fact: message})
}

// say makes a member send a body under the term, in turn.
func (w *witness) say(from protocol.ID, body bakery.Body) protocol.Effects {
	w.t.Helper()
	w.said[from]++
	return w.receive(from, w.envelope(from, body))
}

// envelope is the newest envelope of a member.
func (w *witness) envelope(from protocol.ID, body bakery.Body) bakery.Envelope {
	return bakery.Envelope{Term: term, From: placeOf(from), To: placeOf(1), Seq: w.said[from], Body: body}
}

func (w *witness) lock(name string, id uint64) protocol.Effects {
	w.t.Helper()
	want := lock.Request{Session: lock.SessionID{Member: 1, Number: 1}, ID: id, Name: name, WaitEnd: lock.Never}
	return w.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: id}, Fact: &want})
}

// future is the further behaviour of a witness: W is granted, H released, N requested, and operators query the space.
// Its messages are compared without the numbers of envelopes.
func (w *witness) future() (effects []protocol.Effects) {
	w.t.Helper()
	call := func(fact any) {
		effects = append(effects, w.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 99}, Fact: fact}))
	}
	effects = append(effects, w.say(2, bakery.Drop{Key: keyOf(2, 1)}))
	effects = append(effects, w.say(3, bakery.Activated{Key: keyOf(1, 2), Vote: bakery.Vote{First: true, Count: 4}}))
	call(&protocol.Release{Session: lock.SessionID{Member: 1, Number: 1}, Name: "H", Request: 1})
	effects = append(effects, w.lock("N", 3))
	call(&protocol.Show{Name: "W"})
	call(&protocol.Inspect{})
	for i := range effects {
		for j, send := range effects[i].Sends {
			if envelope, is := send.Message.(bakery.Envelope); is {
				envelope.Seq, envelope.Seen = 0, 0
				effects[i].Sends[j].Message = envelope
			}
		}
	}
	if n := len(effects[1].Replies); n != 1 || effects[1].Replies[0].Decision.Kind != lock.Granted {
		w.t.Fatalf("W: replies %v", effects[1].Replies)
	}
	return effects
}

// unchanged checks that a witness behaves like another one that has received no message.
func unchanged(t *testing.T, w *witness) {
	t.Helper()
	got, otherwise := w.future(), newWitness(t, bakery.Config{}).future()
	if !reflect.DeepEqual(got, otherwise) {
		t.Errorf("it does\n%+v\nand one that has not received it\n%+v", got, otherwise)
	}
}

// malformedBodies are bodies that no honest member sends.
func malformedBodies() map[string]bakery.Body {
	lock := func(wrong func(*bakery.Ticket)) bakery.Body {
		ticket := ticketOf(2, 7, "Q")
		wrong(&ticket)
		return bakery.Lock{Ticket: ticket}
	}
	nameless := ticketOf(2, 7, "")
	return map[string]bakery.Body{
		"nothing":                      nil,
		"an empty name":                lock(func(t *bakery.Ticket) { t.Name = "" }),
		"too long a name":              lock(func(t *bakery.Ticket) { t.Name = strings.Repeat("n", holdfast.MaxName+1) }),
		"a name that is no text":       lock(func(t *bakery.Ticket) { t.Name = "\xff" }),
		"an unknown mode":              lock(func(t *bakery.Ticket) { t.Mode = 9 }),
		"no key":                       lock(func(t *bakery.Ticket) { t.Key.Number = 0 }),
		"a key of no member":           lock(func(t *bakery.Ticket) { t.Key.Member = 0 }),
		"exclusive units":              lock(func(t *bakery.Ticket) { t.Units = 1 }),
		"no units":                     lock(func(t *bakery.Ticket) { t.Mode, t.Capacity = holdfast.ModeSlots, 1 }),
		"more units than the capacity": lock(func(t *bakery.Ticket) { t.Mode, t.Units, t.Capacity = holdfast.ModeSlots, 3, 2 }),
		"a capacity above the highest": lock(func(t *bakery.Ticket) { t.Mode, t.Units, t.Capacity = holdfast.ModeSlots, 1, 4097 }),
		"an entering without a name":   bakery.Entering{Ticket: nameless, Serial: 2},
		"number 0":                     bakery.Add{Key: keyOf(2, 1)},
		"a number above all":           bakery.Add{Key: keyOf(2, 1), Number: math.MaxUint64},
		"a highest number above all":   bakery.Entered{Key: keyOf(1, 2), Max: math.MaxUint64},
		"a vote above all":             bakery.Activated{Key: keyOf(1, 2), Vote: bakery.Vote{First: true, Count: math.MaxUint64}},
		"a floor above all":            bakery.Tickets{Floor: math.MaxUint64, Done: true},
		"a claim without a name":       bakery.Claim{Claims: []bakery.Claimed{{Ticket: nameless}}},
		"tickets without a name": bakery.Tickets{
			Names: []bakery.NameState{{Tickets: []bakery.Numbered{{Ticket: nameless, Number: 1}}}},
		},
	}
}

// TestMalformedEnvelopes checks that each is noted, and that its receiver later behaves like one that has not received
// it. It has its turn on its link like any other.
func TestMalformedEnvelopes(t *testing.T) {
	for name, body := range malformedBodies() {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t, bakery.Config{})
			out := w.say(2, body)
			if len(out.Notes) != 1 || !strings.HasPrefix(out.Notes[0].String(), "ignored ") {
				t.Errorf("%v: notes %v", body, out.Notes)
			}
			unchanged(t, w)
		})
	}
}

// TestEnvelopesOutOfPlace checks that an envelope of another term, of an ended stay, of another member or out of turn
// changes nothing.
func TestEnvelopesOutOfPlace(t *testing.T) {
	drop := bakery.Drop{Key: keyOf(2, 1)}
	for name, wrong := range map[string]func(*bakery.Envelope){
		"an older term":           func(l *bakery.Envelope) { l.Term.Epoch = 3 },
		"no term":                 func(l *bakery.Envelope) { l.Term = bakery.Term{} },
		"a later term":            func(l *bakery.Envelope) { l.Term.View = 2 },
		"of another member":       func(l *bakery.Envelope) { l.From = placeOf(3) },
		"of another stay":         func(l *bakery.Envelope) { l.From.Since = 0 },
		"of another tenure":       func(l *bakery.Envelope) { l.From.Tenure.Lapses = 1 },
		"to another member":       func(l *bakery.Envelope) { l.To = placeOf(3) },
		"to another stay":         func(l *bakery.Envelope) { l.To.Tenure.Incarnation = 1 },
		"a jump":                  func(l *bakery.Envelope) { l.Seq++ },
		"the highest number":      func(l *bakery.Envelope) { l.Seq = math.MaxUint64 },
		"a number that was taken": func(l *bakery.Envelope) { l.Seq-- },
		"the first number":        func(l *bakery.Envelope) { l.Seq = 1 },
		"number 0":                func(l *bakery.Envelope) { l.Seq = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t, bakery.Config{})
			envelope := w.envelope(2, drop)
			envelope.Seq++
			wrong(&envelope)
			if out := w.receive(2, envelope); len(out.Replies)+len(out.Raises) != 0 {
				t.Errorf("replied %v, raised %v", out.Replies, out.Raises)
			}
			unchanged(t, w)
		})
	}
}
