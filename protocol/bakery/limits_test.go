package bakery

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// leading is member 1 of two, which leads and serves, and whose envelopes no member hears.
func leading(t *testing.T) *Machine {
	t.Helper()
	m := newCable(t, 1).ends[0]
	m.serves, m.book = true, newBook()
	return m
}

// TestLimitOfCapacity checks the maximum capacity, which exists because leaders send each other the users of slots.
func TestLimitOfCapacity(t *testing.T) {
	p := proxy{leading(t)}
	slots := func(capacity int) error {
		return p.Refusal(&lock.Request{Name: "n", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1, Capacity: capacity}}})
	}
	if err := slots(4096); err != nil {
		t.Errorf("capacity 4096: %v", err)
	}
	if err := slots(4097); !errors.Is(err, holdfast.ErrUnsupported) {
		t.Errorf("capacity 4097: %v, want %v", err, holdfast.ErrUnsupported)
	}
}

// TestLimitOfTickets checks the maximum number of tickets of a name, with and without a number.
func TestLimitOfTickets(t *testing.T) {
	m := leading(t)
	wants := &Ticket{Key: Key{1, 0, 1}, Name: "n"}
	page := m.book.pageOf("n")
	page.entering, page.tickets = make([]*ticket, 1<<16), make([]*ticket, 1<<16-1)
	if failed := m.refusal(wants); failed != nil {
		t.Errorf("after 131,071 tickets: %v", failed)
	}
	page.entering = append(page.entering, nil)
	failed := m.refusal(wants)
	if failed == nil || failed.Why != FailedOverflow {
		t.Fatalf("after 131,072 tickets: %v, want %v", failed, FailedOverflow)
	}
	limit(t, m, failed, "waiters", 131072)
	if failed := m.refusal(&Ticket{Key: Key{1, 0, 1}, Name: "another"}); failed != nil {
		t.Errorf("of another name: %v", failed)
	}
}

// TestLimitOfUnheardEnvelopes checks that a leader takes no tickets while another one has too many unconfirmed
// envelopes.
func TestLimitOfUnheardEnvelopes(t *testing.T) {
	m := leading(t)
	wants := &Ticket{Key: Key{1, 0, 1}, Name: "n"}
	var out protocol.Effects
	for range 65535 {
		m.say(0, 2, Unlocked{Key: Key{Member: 1, Number: 1}}, &out)
	}
	if failed := m.refusal(wants); failed != nil {
		t.Errorf("after 65,535 letters: %v", failed)
	}
	m.say(0, 2, Unlocked{Key: Key{Member: 1, Number: 1}}, &out)
	failed := m.refusal(wants)
	if failed == nil || failed.Why != FailedLimit {
		t.Fatalf("after 65,536 letters: %v, want %v", failed, FailedLimit)
	}
	limit(t, m, failed, "unheard", 65536)
}

// limit checks the limit in a client's error.
func limit(t *testing.T, m *Machine, failed *Failed, name string, value int64) {
	t.Helper()
	var got *holdfast.LimitError
	if err := m.failure(0, &request{}, failed); !errors.As(err, &got) || got.Limit != name || got.Value != value {
		t.Errorf("failed with %v, want limit %s of %d", err, name, value)
	}
}

// TestLimitOfEarlyEnvelopes checks that a bounded number of envelopes under a coming term are kept; the others are sent
// again.
func TestLimitOfEarlyEnvelopes(t *testing.T) {
	m := leading(t)
	for range 1025 {
		m.keepEarly(protocol.Event{})
	}
	if n := len(m.early); n != 1024 {
		t.Errorf("%d letters are kept, want 1024", n)
	}
}
