package lock

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// maxHeldBytes is the maximum size of a held exclusive lock, as doc.go promises.
const maxHeldBytes = 150

// numberedNames returns names of 20 bytes.
func numberedNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("accounts/%011d", i)
	}
	return names
}

func newTable(tb failer, c Config) *Table {
	tb.Helper()
	table, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

// holdAll makes one session hold all names.
func holdAll(tb testing.TB, t *Table, names []string) {
	tb.Helper()
	out := make([]Decision, 0, 1)
	r := Request{Session: SessionID{Member: 1, Number: 1}, Client: "teller@web-1 pid 1", WaitEnd: Never}
	for i, name := range names {
		out = out[:0]
		r.ID, r.Name = uint64(i)+1, name
		t.Acquire(0, &r, &out)
		if out[0].Kind != Granted {
			tb.Fatalf("%q is %v (%v)", name, out[0].Kind, out[0].Err)
		}
	}
}

// heldBytes returns the heap use of each held name beyond the name itself.
func heldBytes(tb testing.TB, names []string) float64 {
	tb.Helper()
	var before, after runtime.MemStats
	// Twice, so that memory freed by the first collection is swept and counted.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := newTable(tb, Config{LocksPerSession: len(names)})
	table.BeginReign(1, 0)
	holdAll(tb, table, names)
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if table.Holds() != len(names) {
		tb.Fatalf("%d of %d are held", table.Holds(), len(names))
	}
	runtime.KeepAlive(names)
	return float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / float64(len(names))
}

func TestHeldMemory(t *testing.T) {
	// At 116,000 entries a Go map has just grown and is at its emptiest.
	for _, n := range []int{100_000, 116_000} {
		bytes := heldBytes(t, numberedNames(n))
		t.Logf("%d held locks: %.1f bytes each", n, bytes)
		if bytes > maxHeldBytes {
			t.Errorf("%d held locks take %.1f bytes each; at most %d are promised", n, bytes, maxHeldBytes)
		}
	}
}

// slabSizes returns the maximum number of records of each kind that a table has ever had at once.
func slabSizes(t *Table) [5]int32 {
	return [5]int32{t.names.top, t.entries.top, t.details.top, t.crowds.top, t.sessions.top}
}

// TestMemoryIsUsedAgain checks that endless locking and unlocking takes no more memory than one round.
func TestMemoryIsUsedAgain(t *testing.T) {
	const n = 500
	table := newTable(t, Config{History: 1})
	table.BeginReign(1, 0)
	var out []Decision
	round := func() {
		id := uint64(0)
		for name := range n {
			for session := range uint64(3) {
				id++
				out = out[:0]
				table.Acquire(1, &Request{
					Session: SessionID{1, session + 1}, ID: id, Name: fmt.Sprint("n", name),
					Attributes: holdfast.Attributes{Owner: "o", Hold: 5}, WaitEnd: 1000, Arrived: 1,
				}, &out)
			}
		}
		for session := range uint64(3) {
			table.EndSession(1, SessionID{1, session + 1}, holdfast.SessionExpired, &out)
		}
	}
	round()
	once := slabSizes(table)
	for range 5 {
		round()
	}
	if again := slabSizes(table); again != once {
		t.Errorf("the slabs have grown from %v to %v", once, again)
	}
	table.forgetIdle() // the one record of a session that is kept
	for table.recentNames.count > 0 {
		table.evictIdle()
	}
	used := [...]int{table.names.used, table.entries.used, table.details.used, table.crowds.used, table.sessions.used}
	if used != [5]int{} {
		t.Errorf("records in use after all is released: %v", used)
	}
	if len(table.byName)+table.Sessions()+len(table.deadlines) != 0 {
		t.Errorf("%d names, %d sessions and %d deadlines are left", len(table.byName), table.Sessions(), len(table.deadlines))
	}
}

// TestAcquireReleaseAllocatesNothing checks that the common path does not allocate, with and without a waiter to grant.
func TestAcquireReleaseAllocatesNothing(t *testing.T) {
	table := newTable(t, Config{History: 16})
	table.BeginReign(1, 0)
	out := make([]Decision, 0, 8)
	one := Request{Session: SessionID{1, 1}, Name: "orders/42", WaitEnd: Never}
	two := Request{Session: SessionID{1, 2}, Name: "orders/42", WaitEnd: Never}
	cycle := func() {
		out = out[:0]
		one.ID++
		two.ID++
		table.Acquire(0, &one, &out)
		table.Acquire(0, &two, &out)
		table.Cancel(0, one.Session, one.Name, one.ID, &out)
		table.Cancel(0, two.Session, two.Name, two.ID, &out)
	}
	if n := testing.AllocsPerRun(1000, cycle); n != 0 {
		t.Errorf("%v allocations a cycle", n)
	}
	if len(out) != 5 || out[3].Kind != Granted {
		t.Errorf("a cycle has the decisions %v", out)
	}
}

// BenchmarkAcquireRelease shows that the cost of a lock does not depend on the number of locks.
func BenchmarkAcquireRelease(b *testing.B) {
	for _, size := range []int{0, 1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("held=%d", size), func(b *testing.B) {
			table := newTable(b, Config{LocksPerSession: size + 1})
			table.BeginReign(1, 0)
			holdAll(b, table, numberedNames(size))
			out := make([]Decision, 0, 4)
			r := Request{Session: SessionID{Member: 2, Number: 7}, WaitEnd: Never}
			names := [64]string{}
			for i := range names {
				names[i] = fmt.Sprintf("orders/%d", i)
			}
			b.ReportAllocs()
			for b.Loop() {
				out = out[:0]
				r.ID++
				r.Name = names[r.ID%64]
				table.Acquire(0, &r, &out)
				if err := table.Release(0, r.Session, r.Name, out[0].Token, r.ID, &out); err != nil {
					b.Fatal(err)
				}
				if table.Exhausted() {
					table.BeginReign(table.Reign()+1, 0)
				}
			}
		})
	}
}

// BenchmarkHandOver measures a release and the next request at one name with many waiters: its cost does not depend on
// their number.
func BenchmarkHandOver(b *testing.B) {
	for _, waiters := range []int{1, 10, 100, 10_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			table := newTable(b, Config{})
			table.BeginReign(1, 0)
			out := make([]Decision, 0, 4)
			r := Request{Session: SessionID{Member: 2, Number: 7}, Name: "orders/42", WaitEnd: Never}
			for range waiters + 1 {
				out = out[:0]
				r.ID++
				table.Acquire(0, &r, &out)
			}
			b.ReportAllocs()
			for b.Loop() {
				out = out[:0]
				if !table.Cancel(0, r.Session, r.Name, r.ID-uint64(waiters), &out) {
					b.Fatal("the holder is not known")
				}
				r.ID++
				table.Acquire(0, &r, &out)
				if table.Exhausted() {
					table.BeginReign(table.Reign()+1, 0)
				}
			}
		})
	}
}

// BenchmarkSuspendResume measures a suspension for which no request waits, while its owner holds locks, and while its
// session holds locks without an owner.
func BenchmarkSuspendResume(b *testing.B) {
	for _, held := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			table := newTable(b, Config{LocksPerSession: held + 1})
			table.BeginReign(1, 0)
			out := make([]Decision, 0, 4)
			r := Request{Session: SessionID{Member: 2, Number: 7}, Attributes: holdfast.Attributes{Owner: "ops"}, WaitEnd: Never}
			for _, r.Name = range numberedNames(held) {
				out = out[:0]
				r.ID++
				table.Acquire(0, &r, &out)
			}
			r.Name = SpaceLock
			b.ReportAllocs()
			for b.Loop() {
				out = out[:0]
				r.ID++
				table.Acquire(0, &r, &out)
				if err := table.Release(0, r.Session, r.Name, out[0].Token, r.ID, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResume measures letting one parked request through, and parking it, with few and many of them.
func BenchmarkResume(b *testing.B) {
	for _, parked := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("parked=%d", parked), func(b *testing.B) {
			table := newTable(b, Config{LocksPerSession: parked})
			table.BeginReign(1, 0)
			names := numberedNames(parked)
			out := make([]Decision, 0, parked+1)
			whole := Request{Session: SessionID{Member: 2, Number: 7}, Name: SpaceLock, WaitEnd: Never}
			r := Request{Session: SessionID{Member: 1, Number: 1}, WaitEnd: Never}
			rounds := 0
			for b.Loop() {
				rounds++
				out = out[:0]
				whole.ID++
				table.Acquire(0, &whole, &out)
				for _, r.Name = range names {
					r.ID++
					table.Acquire(0, &r, &out)
				}
				out = out[:0]
				if !table.Cancel(0, whole.Session, SpaceLock, whole.ID, &out) || len(out) != parked+1 {
					b.Fatalf("%d decisions at the end, want %d", len(out), parked+1)
				}
				table.EndSession(0, r.Session, "", &out)
				if table.Exhausted() {
					table.BeginReign(table.Reign()+1, 0)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds*parked), "ns/request")
		})
	}
}

// BenchmarkHeldMemory reports the size of a held exclusive lock beyond its name.
func BenchmarkHeldMemory(b *testing.B) {
	names := numberedNames(100_000)
	var bytes float64
	for b.Loop() {
		bytes = heldBytes(b, names)
	}
	b.ReportMetric(bytes, "bytes/lock")
	b.ReportMetric(0, "ns/op")
}
