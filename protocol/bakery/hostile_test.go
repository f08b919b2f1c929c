package bakery_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// TestBodiesAboutNothing checks bodies that name an unknown ticket, or one that belongs to another member: these may be
// late and honest. They change nothing, and nothing is sent, replied or raised.
func TestBodiesAboutNothing(t *testing.T) {
	foreign := ticketOf(3, 1, "W")
	for _, said := range []struct {
		from protocol.ID
		body bakery.Body
	}{
		{2, bakery.Add{Key: keyOf(2, 77), Number: 1}},
		{2, bakery.Add{Key: keyOf(2, 1), Number: math.MaxUint64}}, // it has a number
		{3, bakery.Add{Key: keyOf(2, 1), Number: 9}},
		{3, bakery.GetMax{Key: keyOf(2, 1)}},
		{3, bakery.Exiting{Key: keyOf(2, 1), Ready: true, Activate: true}},
		{3, bakery.Ready{Key: keyOf(2, 1)}},
		{3, bakery.Activate{Key: keyOf(2, 1), Count: math.MaxUint64}},
		{3, bakery.Drop{Key: keyOf(2, 1)}},
		{2, bakery.Drop{Key: keyOf(1, 1)}},
		{2, bakery.Entered{Key: keyOf(2, 1), Max: math.MaxUint64, Capacity: 3}},
		{2, bakery.Entered{Key: keyOf(1, 1), Max: math.MaxUint64}}, // it holds
		{2, bakery.Entered{Key: keyOf(1, 2), Capacity: 3}},         // it is for no slots
		{2, bakery.Entered{Key: keyOf(1, 2), By: &lock.HeldBy{}}},  // it wants to wait
		{2, bakery.Max{Key: keyOf(1, 2), Max: math.MaxUint64}},
		{2, bakery.Added{Key: keyOf(1, 77), Entering: []bakery.Choosing{{Key: keyOf(1, 1), Master: 9, Serial: 9}}}},
		{2, bakery.Activated{Key: keyOf(1, 77), Vote: bakery.Vote{First: true, Count: 9}}},
		{2, bakery.Activated{Key: keyOf(1, 2), Vote: bakery.Vote{Count: 9}}},
		{2, bakery.Activated{Key: keyOf(1, 2), Vote: bakery.Vote{First: true, Count: 9}}}, // it is not the first here
		{4, bakery.Entering{Ticket: ticketOf(4, 1, "W"), Serial: 1}},                      // it does not lead
		{2, bakery.Entering{Ticket: ticketOf(2, 1, "W"), Serial: 9}},                      // it has begun
		{2, bakery.Lock{Ticket: foreign}},
		{2, bakery.Claim{Claims: []bakery.Claimed{{Ticket: foreign}}}},
		{4, bakery.Claim{Claims: []bakery.Claimed{{Ticket: ticketOf(4, 9, "W"), Token: 9}}}},
		{2, bakery.Unlock{Key: keyOf(1, 1)}},
		{2, bakery.Unlocking{Key: keyOf(1, 1), Left: time.Hour}}, // the ticket is neither 2's nor known to 2
		{2, bakery.Unlocking{Key: keyOf(1, 77), Left: time.Hour}},
		{2, bakery.Unlocking{Key: keyOf(2, 1)}},
		{2, bakery.Unlocking{Key: keyOf(2, 1), Left: -time.Hour}},
		{2, bakery.Raise{Key: keyOf(1, 1), Above: math.MaxUint64}},
		{2, bakery.Tickets{Done: true, Floor: 9}}, // these leaders follow no earlier ones
		{2, bakery.Unlocked{Key: keyOf(1, 1)}},
		{2, bakery.Queued{Key: keyOf(1, 77), Position: -1}},
		{2, bakery.Queued{Key: keyOf(1, 1), Position: 1}},
		{2, bakery.Failed{Key: keyOf(1, 77), Why: 9}},
		{2, bakery.Failed{Key: keyOf(1, 1), Why: bakery.FailedHeld}}, // it holds
		{2, bakery.Locked{Key: keyOf(1, 1), Token: 9}},
		{2, bakery.Heard{}},
	} {
		t.Run(fmt.Sprint(said.body), func(t *testing.T) {
			w := newWitness(t, bakery.Config{})
			if out := w.say(said.from, said.body); len(out.Sends)+len(out.Replies)+len(out.Raises) != 0 {
				t.Errorf("sent %v, replied %v, raised %v", out.Sends, out.Replies, out.Raises)
			}
			if _, nothing := said.body.(bakery.Heard); nothing {
				w.said[said.from]--
			}
			unchanged(t, w)
		})
	}
}

// TestElectionsByOthers checks that only the elector names the leaders, and that only the view's own term gets
// agreement.
func TestElectionsByOthers(t *testing.T) {
	of := func(view uint64) bakery.Election {
		return bakery.Election{Term: bakery.Term{Epoch: 4, View: view}, Leaders: []local.Place{placeOf(2)}}
	}
	for _, message := range []protocol.Message{
		bakery.Leaders{Tag: tag, Election: of(2)},
		bakery.Leaders{Tag: tag},
		bakery.Elect{Tag: tag, Election: of(2)},
		bakery.Elected{Tag: tag, Term: bakery.Term{Epoch: 4, View: 2}},
		bakery.Elected{Tag: tag},
		bakery.Refused{Tag: tag, Why: bakery.RefusedFew},
		bakery.Refused{Tag: tag, Why: 9, Missing: []protocol.ID{0, 99}},
		local.Answer{Tag: tag, Answer: admin.Answer{Number: 77, More: 1, Condition: protocol.Condition{Locks: -1}}},
	} {
		t.Run(fmt.Sprint(message), func(t *testing.T) {
			w := newWitness(t, bakery.Config{})
			if out := w.receive(2, message); len(out.Sends)+len(out.Replies)+len(out.Raises) != 0 {
				t.Errorf("sent %v, replied %v, raised %v", out.Sends, out.Replies, out.Raises)
			}
			unchanged(t, w)
		})
	}
}

// hostile draws values close to those of a witness, or far from them.
type hostile struct{ *rand.Rand }

// fill draws a value of any type.
func (h hostile) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			h.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), h.IntN(4), 4))
		for i := range v.Len() {
			h.fill(v.Index(i))
		}
	case reflect.Pointer:
		if h.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			h.fill(v.Elem())
		}
	case reflect.Bool:
		v.SetBool(h.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "H", "W", "N", "\xff"}[h.IntN(5)])
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 0, 1, 2, 3, -1, math.MinInt64, math.MaxInt64}[h.IntN(8)])
	case reflect.Uint8:
		v.SetUint([]uint64{0, 1, 2, 3, 4, 9, 255}[h.IntN(7)])
	case reflect.Uint32:
		v.SetUint([]uint64{0, 1, math.MaxUint32}[h.IntN(3)])
	case reflect.Uint64:
		v.SetUint([]uint64{0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 77, 4 << 32, math.MaxUint64}[h.IntN(13)])
	}
}

// draw makes a message of a member: an envelope in turn, or one about leaders.
func (h hostile) draw(w *witness, from protocol.ID) protocol.Message {
	vocabulary := wire.Values(bakery.Descriptor().Messages)
	drawn := reflect.New(reflect.TypeOf(vocabulary[h.IntN(len(vocabulary))])).Elem()
	h.fill(drawn)
	switch message := drawn.Interface().(type) {
	case bakery.Envelope:
		message.Body = bakery.Heard{}
		return message
	case protocol.Message:
		if known := drawn.FieldByName("Tag"); known.IsValid() {
			known.Set(reflect.ValueOf(tag))
			return drawn.Interface().(protocol.Message)
		}
		w.said[from]++
		return w.envelope(from, message)
	}
	return nil
}

// TestHostileMembersBreakNothing checks that a member continues regardless of the others' messages: it neither panics
// nor asks to be woken endlessly at one moment.
func TestHostileMembersBreakNothing(t *testing.T) {
	for _, config := range []bakery.Options{{}, {Grace: time.Second}} {
		for seed := range uint64(400) {
			w := newWitness(t, bakery.Config{Options: config})
			h := hostile{rand.New(rand.NewPCG(seed, 19))}
			for turn := range 60 {
				from := protocol.ID(2 + h.IntN(3))
				w.receive(from, h.draw(w, from))
				if turn%20 == 0 {
					view := viewOf(4, uint64(1+turn/20), 4)
					w.step(protocol.Event{Kind: protocol.Raised, Fact: view})
				}
				if h.IntN(10) == 0 {
					w.lock([]string{"H", "W", "N"}[h.IntN(3)], uint64(10+turn))
				}
			}
			w.rests(seed)
			w.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 99}, Fact: &protocol.Inspect{}})
		}
	}
}

// rests lets a minute pass.
func (w *witness) rests(seed uint64) {
	w.t.Helper()
	var now protocol.Time
	for range 10_000 {
		at := w.machine.Wake()
		if at > time.Minute {
			return
		}
		now = max(now, at)
		w.machine.Step(now, protocol.Event{Kind: protocol.Tick}, &w.out)
		w.out = protocol.Effects{}
	}
	w.t.Fatalf("seed %d: the member never rests before %v", seed, now)
}

// TestNewNamesTheWrongField checks that the error uses the names of the caller's fields.
func TestNewNamesTheWrongField(t *testing.T) {
	for _, test := range []struct {
		config bakery.Config
		says   string
	}{
		{bakery.Config{}, "bakery: Self is 0; give the member's id"},
		{bakery.Config{Self: 1}, "bakery: Founders is 0; give how many founders the cluster has, 1 or more"},
		{bakery.Config{Self: 1, Founders: 3, Patience: -1}, "bakery: Patience is -1ns; a positive duration is allowed, and 0 for its default"},
		{bakery.Config{Self: 1, Founders: 3, Options: bakery.Options{Common: protocol.Common{Operators: -1}}}, "bakery: Operators is -1; a positive number is allowed, and 0 for its default"},
		{bakery.Config{Self: 1, Founders: 3, Priority: 16}, "bakery: Priority is 16; 1 to 14 is allowed, 15 for off, and 0 for its default"},
		{bakery.Config{Self: 1, Founders: 3, PID: -1}, "bakery: PID is -1; a process has a positive number"},
	} {
		if _, err := bakery.New(test.config); err == nil || err.Error() != test.says {
			t.Errorf("New(%+v) = %v, want %q", test.config, err, test.says)
		}
	}
}
