package permission_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// witness is member 1 of three, which holds H, wants W and has deferred member 2 at H: so every message could change
// something.
type witness struct {
	t       *testing.T
	machine *permission.Machine
	out     protocol.Effects
}

// tag is the tag of member 2 in the view of a witness.
var tag = local.Tag{View: 1, Epoch: protocol.Epoch{Counter: 4, Candidate: 1}}

func newWitness(t *testing.T, config permission.Config) *witness {
	t.Helper()
	config.Self = 1
	machine, err := permission.New(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, machine: machine}
	w.step(protocol.Event{Kind: protocol.Raised, Fact: viewOf(3, 1, 4)})
	for _, from := range []protocol.ID{2, 3} {
		w.receive(from, permission.ClockAnswer{Tag: tag, Clock: 4 << 32, Slot: int(from)})
	}
	slots := lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}}}
	w.lock("H", 1, slots)
	w.receive(2, permission.Reply{Tag: tag, Number: 1})
	if out := w.receive(3, permission.Reply{Tag: tag, Number: 1}); len(out.Replies) != 1 || out.Replies[0].Decision.Kind != lock.Granted {
		t.Fatalf("H: replies %v", out.Replies)
	}
	w.receive(2, permission.Request{Tag: tag, Number: 1, Clock: 4<<32 + 90, Name: "H", Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}})
	w.lock("W", 2, slots)
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

func (w *witness) lock(name string, id uint64, want lock.Request) protocol.Effects {
	w.t.Helper()
	want.Session, want.ID, want.Name, want.WaitEnd = lock.SessionID{Member: 1, Number: 1}, id, name, lock.Never
	return w.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: id}, Fact: &want})
}

// future is the further behaviour of a witness: W is granted, H released, N requested, and operators query the space.
func (w *witness) future() (effects []protocol.Effects) {
	w.t.Helper()
	call := func(fact any) {
		effects = append(effects, w.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 99}, Fact: fact}))
	}
	effects = append(effects, w.receive(3, permission.Reply{Tag: tag, Number: 2}), w.receive(2, permission.Free{Tag: tag, Number: 2, Uses: 1}))
	if n := len(effects[1].Replies); n != 1 || effects[1].Replies[0].Decision.Kind != lock.Granted {
		w.t.Fatalf("W: replies %v", effects[1].Replies)
	}
	call(&protocol.Release{Session: lock.SessionID{Member: 1, Number: 1}, Name: "H", Request: 1})
	effects = append(effects, w.lock("N", 3, lock.Request{}))
	call(&protocol.Show{Name: "W"})
	call(&protocol.Inspect{})
	return effects
}

// TestMalformedMessages checks that each is noted, and that its receiver later behaves like one that has not received
// it.
func TestMalformedMessages(t *testing.T) {
	request := permission.Request{Tag: tag, Number: 7, Clock: 4<<32 + 95, Name: "Q", Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1, Capacity: 3}}
	with := func(wrong func(*permission.Request)) protocol.Message {
		message := request
		wrong(&message)
		return message
	}
	above, beyond := uint64(5)<<32, uint64(5)<<32-1
	other := tag
	other.Tenure.Lapses = 1
	for name, message := range map[string]protocol.Message{
		"a clock of a higher epoch":     with(func(r *permission.Request) { r.Clock = above }),
		"a clock past all stamps":       with(func(r *permission.Request) { r.Clock = beyond }),
		"no number":                     with(func(r *permission.Request) { r.Number = 0 }),
		"an empty name":                 with(func(r *permission.Request) { r.Name = "" }),
		"too long a name":               with(func(r *permission.Request) { r.Name = strings.Repeat("n", holdfast.MaxName+1) }),
		"a name that is no text":        with(func(r *permission.Request) { r.Name = "\xff" }),
		"an unknown mode":               with(func(r *permission.Request) { r.Mode = 9 }),
		"no units":                      with(func(r *permission.Request) { r.Units = 0 }),
		"negative units":                with(func(r *permission.Request) { r.Units = -1 }),
		"more units than the capacity":  with(func(r *permission.Request) { r.Units = 4 }),
		"a capacity above the highest":  with(func(r *permission.Request) { r.Capacity = holdfast.MaxCapacity + 1 }),
		"exclusive units":               with(func(r *permission.Request) { r.Mode = holdfast.ModeExclusive }),
		"a tenure that the view lacks":  with(func(r *permission.Request) { r.Tag = other }),
		"a view that has passed":        with(func(r *permission.Request) { r.View = 0 }),
		"an epoch of another candidate": with(func(r *permission.Request) { r.Epoch.Candidate = 2 }),
		"a token of a higher epoch":     permission.Reply{Tag: tag, Number: 2, Last: holdfast.Token(above)},
		"a token past all stamps":       permission.Reply{Tag: tag, Number: 2, Last: holdfast.Token(beyond)},
		"a negative count":              permission.Reply{Tag: tag, Number: 2, Count: -1},
		"nothing used":                  permission.Free{Tag: tag, Number: 2},
		"negative use":                  permission.Free{Tag: tag, Number: 2, Uses: -1},
		"too much used":                 permission.Free{Tag: tag, Number: 2, Uses: holdfast.MaxCapacity + 1},
		"used under a higher epoch":     permission.Free{Tag: tag, Number: 2, Uses: 1, Last: holdfast.Token(above)},
		"a negative age":                permission.Defer{Tag: tag, Number: 2, By: lock.HeldBy{Age: -time.Second}},
		"fewer others than none":        permission.Defer{Tag: tag, Number: 2, By: lock.HeldBy{Others: -1}},
		"differs by nothing":            permission.CapacityConflict{Tag: tag, Number: 2},
		"differs by too much":           permission.CapacityConflict{Tag: tag, Number: 2, Capacity: holdfast.MaxCapacity + 1},
		"an answer's clock too high":    permission.ClockAnswer{Tag: tag, Clock: above, Slot: 2},
		"an answer's clock past stamps": permission.ClockAnswer{Tag: tag, Clock: beyond, Slot: 2},
		"an answer's slot below 0":      permission.ClockAnswer{Tag: tag, Clock: 4 << 32, Slot: -1},
		"an asking clock too high":      permission.ClockRequest{Tag: tag, Clock: above, Slot: 2},
		"an asking clock past stamps":   permission.ClockRequest{Tag: tag, Clock: beyond, Slot: 2},
		"an asking slot below 0":        permission.ClockRequest{Tag: tag, Clock: 4 << 32, Slot: -1},
		"an unknown ask":                local.Query{Tag: tag, Query: admin.Query{Number: 1, Kind: admin.LastKind + 1}},
		"another protocol's message":    stranger{},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t, permission.Config{})
			out := w.receive(2, message)
			if len(out.Notes) != 1 || !strings.HasPrefix(out.Notes[0].String(), "ignored ") {
				t.Errorf("%v: notes %v", message, out.Notes)
			}
			if len(out.Replies) != 0 {
				t.Errorf("%v: replies %v", message, out.Replies)
			}
			unchanged(t, w)
		})
	}
}

// TestMessagesAboutNothing checks messages that name an unknown request or query: these may be late and honest, and
// change nothing.
func TestMessagesAboutNothing(t *testing.T) {
	for _, message := range []protocol.Message{
		permission.Reply{Tag: tag, Number: 77},
		permission.Reply{Tag: tag},
		permission.Free{Tag: tag, Number: 77, Uses: 1},
		permission.Free{Tag: tag, Number: 1, Uses: 3}, // it holds already
		permission.Defer{Tag: tag, Number: 77},
		permission.Defer{Tag: tag, Number: 1},
		permission.CapacityConflict{Tag: tag, Number: 77, Capacity: 3},
		permission.CapacityConflict{Tag: tag, Number: 1, Capacity: 4},
		local.Answer{Tag: tag, Answer: admin.Answer{Number: 77, More: 1, Condition: protocol.Condition{Locks: -1}}},
	} {
		t.Run(fmt.Sprint(message), func(t *testing.T) {
			w := newWitness(t, permission.Config{})
			if out := w.receive(2, message); len(out.Sends)+len(out.Replies)+len(out.Raises) != 0 {
				t.Errorf("sent %v, replied %v, raised %v", out.Sends, out.Replies, out.Raises)
			}
			unchanged(t, w)
		})
	}
}

// unchanged checks that a witness behaves like another one that has received no message.
func unchanged(t *testing.T, w *witness) {
	t.Helper()
	got, otherwise := w.future(), newWitness(t, permission.Config{}).future()
	if !reflect.DeepEqual(got, otherwise) {
		t.Errorf("it does\n%+v\nand one that has not received it\n%+v", got, otherwise)
	}
}

// stranger is not a message of this protocol.
type stranger struct{}

func (stranger) String() string { return "stranger" }

// TestNewNamesTheWrongField checks that the error uses the names of the caller's fields.
func TestNewNamesTheWrongField(t *testing.T) {
	for _, test := range []struct {
		config permission.Config
		says   string
	}{
		{permission.Config{}, "permission: Self is 0; "},
		{permission.Config{Self: 1, Patience: -1}, "permission: Patience is -1ns; "},
		{permission.Config{Self: 1, Options: permission.Options{Common: protocol.Common{Operators: -1}}}, "permission: Operators is -1; "},
	} {
		if _, err := permission.New(test.config); err == nil || !strings.HasPrefix(err.Error(), test.says) {
			t.Errorf("New(%+v) = %v, want %q", test.config, err, test.says)
		}
	}
}
