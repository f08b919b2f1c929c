package lock

import (
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestCrowd checks the order of ten thousand shared holders and ten thousand waiters at one name, regardless of which
// ones leave.
func TestCrowd(t *testing.T) {
	const n = 10_000
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	ask := func(id uint64, mode holdfast.Mode) Decision {
		out = out[:0]
		table.Acquire(0, &Request{Session: SessionID{1, id % 100}, ID: id, Name: "page", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}}, WaitEnd: Never}, &out)
		return out[0]
	}
	for id := uint64(1); id <= n; id++ {
		if d := ask(id, holdfast.ModeShared); d.Kind != Granted {
			t.Fatalf("request %d: %v", id, d)
		}
	}
	for id := uint64(n + 1); id <= 2*n; id++ {
		if d := ask(id, holdfast.ModeExclusive); d.Kind != Queued || d.Position != int(id-n)-1 {
			t.Fatalf("request %d: %v", id, d)
		}
	}
	if d := ask(2*n+1, holdfast.ModeExclusive); d.Kind != Refused {
		t.Fatalf("one more: %v", d)
	}
	// Every second waiter leaves, from the last on; the others move up.
	for id := uint64(2 * n); id > n; id -= 2 {
		if !table.Cancel(0, SessionID{1, id % 100}, "page", id, &out) {
			t.Fatalf("request %d is not known", id)
		}
	}
	for id := uint64(n + 1); id < 2*n; id += 2 {
		if d := ask(id, holdfast.ModeExclusive); d.Position != int(id-n)/2 {
			t.Fatalf("request %d: %v", id, d)
		}
	}
	checkTable(t, table)
	for id := uint64(n); id >= 1; id-- {
		out = out[:0]
		if err := table.Release(0, SessionID{1, id % 100}, "page", Token(1, uint32(id)), 0, &out); err != nil {
			t.Fatal(err)
		}
	}
	for id := uint64(n + 1); id < 2*n; id += 2 {
		if d := out[len(out)-1]; d.Kind != Granted || d.Request != id {
			t.Fatalf("request %d is next, decided %v", id, d)
		}
		out = out[:0]
		if !table.Cancel(0, SessionID{1, id % 100}, "page", id, &out) {
			t.Fatalf("request %d is not known", id)
		}
	}
	checkTable(t, table)
	if table.Names() != 0 {
		t.Errorf("%d names are left", table.Names())
	}
}

// TestCrowdInTheGate checks the order of two thousand requests parked at one name and one at each of as many others,
// regardless of which ones leave, and that none is left when the suspension has ended.
func TestCrowdInTheGate(t *testing.T) {
	const n = 2_000
	table := newTable(t, Config{History: 1})
	table.BeginReign(1, 0)
	var out []Decision
	admin := SessionID{2, 1}
	ask := func(s SessionID, id uint64, name string) Decision {
		out = out[:0]
		table.Acquire(0, &Request{Session: s, ID: id, Name: name, Attributes: holdfast.Attributes{Owner: "o"}, WaitEnd: Never}, &out)
		return out[0]
	}
	round := func() {
		if d := ask(admin, 1, SpaceLock); d.Kind != Granted {
			t.Fatalf("the suspension: %v", d)
		}
		for id := uint64(1); id <= n; id++ {
			if d := ask(SessionID{1, id}, 1, "page"); d.Kind != Queued || d.Position != int(id)-1 {
				t.Fatalf("request %d: %v", id, d)
			}
			if d := ask(SessionID{1, id}, 2, fmt.Sprint("page/", id)); d.Kind != Queued || d.Position != 0 {
				t.Fatalf("request %d: %v", id, d)
			}
		}
		// Every second one leaves, from the last on; the others move up.
		for id := uint64(n); id > 0; id -= 2 {
			if !table.Cancel(0, SessionID{1, id}, "page", 1, &out) {
				t.Fatalf("request %d is not known", id)
			}
		}
		for id := uint64(1); id < n; id += 2 {
			if d := ask(SessionID{1, id}, 1, "page"); d.Position != int(id)/2 {
				t.Fatalf("request %d: %v", id, d)
			}
		}
		if d := ask(admin, 2, "page"); d.Kind != Granted {
			t.Fatalf("the suspender's: %v", d)
		}
		checkTable(t, table)
		out = out[:0]
		if !table.Cancel(0, admin, SpaceLock, 1, &out) || len(out) != n+1 || table.gate != nil {
			t.Fatalf("%d decisions at the end of the suspension, want %d; the gate is %v", len(out), n+1, table.gate)
		}
		for i, d := range out[1:] {
			if want := uint64(i + 1); d.Kind != Granted || d.Session.Number != want || d.Name != fmt.Sprint("page/", want) {
				t.Fatalf("decision %d is %v", i, d)
			}
		}
		table.Cancel(0, admin, "page", 2, &out)
		for id := uint64(1); id < n; id += 2 {
			if d := out[len(out)-1]; d.Kind != Granted || d.Session.Number != id || d.Name != "page" {
				t.Fatalf("request %d is next, decided %v", id, d)
			}
			table.EndSession(0, SessionID{1, id + 1}, "", &out)
			table.EndSession(0, SessionID{1, id}, "", &out)
		}
		checkTable(t, table)
		if table.Names() != 0 || table.Sessions() != 0 {
			t.Fatalf("%d names and %d sessions are left", table.Names(), table.Sessions())
		}
	}
	round()
	once := slabSizes(table)
	for range 3 {
		round()
	}
	if again := slabSizes(table); again != once {
		t.Errorf("the slabs have grown from %v to %v", once, again)
	}
}

// TestDeepReentry checks that an owner can enter a thousand times and leave from either end.
func TestDeepReentry(t *testing.T) {
	const n = 1_000
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	s, firstToken := SessionID{1, 1}, Token(1, 1)
	for id := uint64(1); id <= n; id++ {
		table.Acquire(0, &Request{Session: s, ID: id, Name: "db", Attributes: holdfast.Attributes{Owner: "x"}, WaitEnd: Never}, &out)
	}
	for id := uint64(1); id <= n/2; id++ {
		out = out[:0]
		if err := table.Release(0, s, "db", firstToken, id, &out); err != nil || out[0].Request != id {
			t.Fatalf("release of %d: %v, %v", id, err, out)
		}
		out = out[:0]
		latest := n + 1 - id
		if err := table.Release(0, s, "db", firstToken, 0, &out); err != nil || out[0].Request != latest {
			t.Fatalf("release of the latest: %v, %v, want %d", err, out, latest)
		}
		if id%64 == 0 {
			checkTable(t, table)
		}
	}
	if table.Names() != 0 {
		t.Errorf("%d names are left", table.Names())
	}
}

// TestHistoryIsBounded checks that the table keeps the history that Config allows and shows 16 entries of a name.
func TestHistoryIsBounded(t *testing.T) {
	table := newTable(t, Config{History: 20})
	table.BeginReign(1, 0)
	var out []Decision
	cycle := func(name string, id uint64) {
		table.Acquire(0, &Request{Session: SessionID{1, 1}, ID: id, Name: name, WaitEnd: Never}, &out)
		table.Cancel(0, SessionID{1, 1}, name, id, &out)
	}
	for id := uint64(1); id <= 50; id++ {
		cycle("a", id)
	}
	shown := table.Show("a").History
	if len(shown) != 16 || shown[0].Token != Token(1, 50) || shown[15].Token != Token(1, 35) {
		t.Errorf("history of a: %v", shown)
	}
	for id := uint64(51); id <= 65; id++ {
		cycle("b", id)
	}
	if a, b := table.Show("a").History, table.Show("b").History; len(a) != 5 || a[0].Token != Token(1, 50) || len(b) != 15 {
		t.Errorf("history of a: %v, of b: %v", a, b)
	}
	if len(table.history.ended) != 20 {
		t.Errorf("%d are remembered", len(table.history.ended))
	}
}
