package edge

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bounded returns a greeted outbox with bounds of its own.
func bounded(events, bytes int, all *Together) *Outbox {
	o := NewOutbox(&Config{Events: events, Bytes: bytes, All: all})
	o.greeted = true
	return &o
}

// takes puts an event into an outbox, and reports whether it was taken.
func (o *Outbox) takes(t Outgoing) bool {
	o.put(t)
	return o.state == Open
}

// TestOutboxBound counts what is queued and what is being sent.
func TestOutboxBound(t *testing.T) {
	size := (&Outgoing{}).size()
	plenty := &Together{Most: 1 << 30}
	o := bounded(10, 5*size, plenty)
	for i := range 5 {
		if !o.takes(Outgoing{id: uint64(i)}) {
			t.Fatalf("event %d was not taken", i)
		}
	}
	batch := o.Take(nil)
	if len(batch) != 5 {
		t.Fatalf("took %d events", len(batch))
	}
	o.Sent(batch[:3])
	for i := range 3 {
		if !o.takes(Outgoing{id: uint64(i)}) {
			t.Fatalf("event %d was not taken, though 3 are on their way", i)
		}
	}
	if o.takes(Outgoing{}) {
		t.Error("the bound of bytes was passed")
	}
	if o.takes(Outgoing{}) || len(o.Take(nil)) != 0 {
		t.Error("a broken outbox takes events or keeps some")
	}
	few := bounded(1, 1<<20, plenty)
	if !few.takes(Outgoing{}) || few.takes(Outgoing{}) {
		t.Error("the bound of events was not kept")
	}
	text := Outgoing{name: "name", err: holdfast.ErrHeld}
	if text.size() <= size {
		t.Error("texts and errors count for nothing")
	}
}

// TestOutboxesTogether: many clients that do not read may not keep together what each may keep
// alone, and one that keeps little is not disturbed by them.
func TestOutboxesTogether(t *testing.T) {
	size := (&Outgoing{}).size()
	all := &Together{Most: int64(10 * size), Share: 2 * size}
	greedy, greedier, modest := bounded(100, 1<<20, all), bounded(100, 1<<20, all), bounded(100, 1<<20, all)
	for range 5 {
		if !greedy.takes(Outgoing{}) || !greedier.takes(Outgoing{}) {
			t.Fatal("there is room for it")
		}
	}
	for range 2 {
		if !modest.takes(Outgoing{}) {
			t.Error("a share is not to be had where others keep too much")
		}
	}
	if greedy.takes(Outgoing{}) {
		t.Error("more than a share is to be had where all keep too much")
	}
	greedy.Close()
	if !greedier.takes(Outgoing{}) {
		t.Error("what was let go of is not to be had")
	}
	batch := greedier.Take(nil)
	greedier.Close()
	greedier.Sent(batch)
	modest.Sent(modest.Take(nil))
	if left := all.bytes.Load(); left != 0 {
		t.Errorf("%d bytes are counted, and nothing is kept", left)
	}
	if greedy.takes(Outgoing{}) {
		t.Error("a closed outbox takes something")
	}
}

// described is what the edges of a member with one space have in common.
func described() *Config {
	space := &Space{Name: "default", Port: 1, Class: holdfast.Fenced, Grace: true}
	return &Config{
		SpaceAt:  func(protocol.Port) *Space { return space },
		Identity: func() (member, cluster string) { return "a", "c" },
	}
}

// TestFrameBound: a large batch is cut, a welcome and what belongs to it is not.
func TestFrameBound(t *testing.T) {
	c, f := described(), &Frame{}
	fill := func(batch []Outgoing) int { return f.Fill(batch, c, time.Time{}) }
	batch := make([]Outgoing, frameEvents+10)
	for i := range batch {
		batch[i] = Outgoing{saying: sayReleased, id: uint64(i + 1)}
	}
	if n := fill(batch); n != frameEvents || len(f.Message.GetEvents()) != n {
		t.Errorf("a frame took %d of %d events", n, len(batch))
	}
	f.Empty()
	if len(f.slots) > keepSlots {
		t.Errorf("an idle frame keeps %d slots", len(f.slots))
	}
	batch[0] = Outgoing{saying: sayWelcome, roster: &Roster{}, welcomed: &welcomed{}}
	if n := fill(batch); n != len(batch) {
		t.Errorf("a welcome took %d of %d events with it", n, len(batch))
	}
	f.Empty()
	long := Outgoing{saying: sayRefused, name: strings.Repeat("n", 500), err: holdfast.ErrConflict}
	for i := range batch {
		batch[i] = long
	}
	if n := fill(batch); n >= len(batch) || n < frameBytes/2000 {
		t.Errorf("a frame took %d refusals of %d", n, len(batch))
	}
}

func TestCallNumbers(t *testing.T) {
	for _, kind := range []Call{CallRelease, CallCancel, CallExtend} {
		for _, count := range []uint64{1, countMask, countMask + 1} {
			if number := NumberOf(kind, count); CallOf(number) != kind || number <= MaxID {
				t.Errorf("the number %d of %v means %v", number, kind, CallOf(number))
			}
		}
	}
}

func TestWaitEnds(t *testing.T) {
	for want, a := range map[protocol.Time]*schema.Acquire{
		protocol.Never:          {Wait: 1<<63 - 1},
		time.Hour + time.Second: {Wait: int64(time.Second)},
		time.Hour + time.Minute: {Wait: int64(time.Minute), Try: true},
		time.Hour + tryWait:     {Try: true},
	} {
		if waitEnd(time.Hour, a) != want {
			t.Errorf("%v waits until %v, want %v", a, waitEnd(time.Hour, a), want)
		}
	}
	if got := waitEnd(time.Hour, &schema.Acquire{}); got != protocol.Never {
		t.Errorf("without a limit it waits until %v", got)
	}
}

// BenchmarkFill turns 256 answers into a frame, again and again.
func BenchmarkFill(b *testing.B) {
	c, f := described(), &Frame{}
	batch := make([]Outgoing, keepSlots)
	for i := range batch {
		batch[i] = Outgoing{saying: sayGranted, id: uint64(i + 1), port: 1, token: 1 << 33, since: 1}
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Fill(batch, c, time.Time{})
		f.Empty()
	}
}
