package sim

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

func doc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThingsHappenInOrder checks that tasks come by time, those of one time in the order of scheduling, and none before
// now.
func TestThingsHappenInOrder(t *testing.T) {
	type due struct {
		at    instant
		order int32
	}
	r := rand.New(rand.NewPCG(1, 2))
	var e engine
	var want, got []due
	for i := range int32(3000) {
		d := due{instant(r.IntN(400)), i}
		e.at(d.at, task{kind: taskTick, to: i})
		want = append(want, d)
	}
	slices.SortStableFunc(want, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	var next task
	for e.next(protocol.Never, &next) {
		got = append(got, due{e.now, next.to})
	}
	if !slices.Equal(got, want) {
		t.Error("the order is another")
	}
	e.at(1, task{})
	if !e.next(protocol.Never, &next) || e.now != want[len(want)-1].at {
		t.Errorf("what lies in the past happens at %v, not now", e.now)
	}
	e.at(e.now+2, task{})
	if e.next(e.now+1, &next) {
		t.Error("something happens after the limit")
	}
}

// TestTimeNeverGoesBack checks that a task moves up in the heap only from among the children of its own place. Each of
// places 21 to 37 is less than the one before it, and they are the children of places 5 to 9.
func TestTimeNeverGoesBack(t *testing.T) {
	var e engine
	dues := []instant{0, 10, 40, 45, 45, 60, 61, 62, 63, 42, 200, 200, 200, 300, 300, 300, 300, 300, 300, 300, 300}
	for place := 21; place < 37; place++ {
		dues = append(dues, instant(141-place))
	}
	dues = append(dues, 50, 250, 250, 250, 250)
	for _, due := range dues {
		e.at(due, task{kind: taskTick})
	}
	var next task
	var before instant
	for e.next(protocol.Never, &next) {
		if e.now < before {
			t.Fatalf("%d comes after %d", e.now, before)
		}
		before = e.now
	}
}

// TestSchedulingAllocatesNothing checks that scheduling does not allocate once there is room.
func TestSchedulingAllocatesNothing(t *testing.T) {
	var e engine
	var next task
	for range 100 {
		e.at(1, task{})
	}
	for e.next(protocol.Never, &next) {
	}
	if n := testing.AllocsPerRun(100, func() { e.at(e.now+1, task{}); e.next(protocol.Never, &next) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestClocks checks that when returns the first instant at which a clock shows a time, at any rate and after any
// changes of it.
func TestClocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		d := dial{shown: time.Duration(r.Int64N(int64(time.Hour))), rate: million + r.Int64N(50_001)}
		now := instant(0)
		for range 5 {
			local := d.read(now) + time.Duration(r.Int64N(int64(time.Minute)))
			at := d.when(local)
			if d.read(at) < local || at > d.since && d.read(at-1) >= local {
				t.Fatalf("%+v shows %v at %v, and %v an instant before; want %v first there", d, d.read(at), at, d.read(at-1), local)
			}
			now = at
			before := d.read(now)
			d.change(now, million+r.Int64N(50_001))
			if d.read(now) != before {
				t.Fatalf("a change of rate moves the clock from %v to %v", before, d.read(now))
			}
		}
	}
	if at := (&dial{rate: million}).when(protocol.Never); at != protocol.Never {
		t.Errorf("a clock shows the time that does not come at %v", at)
	}
}

func TestFaultsHaveNames(t *testing.T) {
	all := "delay loss duplicate reorder partition one-way crash amnesia pause drift skew step suspicion join leave operator disk-slow disk-fail disk-full disk-torn disk-lost store-slow store-fail any preempt misfit force drain shutdown"
	var names []string
	for _, f := range Within.All() {
		names = append(names, f.String())
	}
	if got := strings.Join(names, " "); got != all {
		t.Errorf("all is\n%s, want\n%s", got, all)
	}
	for list, want := range map[string]Faults{
		"all": Within, "beyond": Beyond, "none": 0, "crash,loss": 1<<Crash | 1<<Loss, "all,beyond": Within | Beyond,
		"one-way": 1 << OneWay, "drift-beyond": 1 << DriftBeyond,
	} {
		got, err := ParseFaults(list)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v", list, got, err)
		}
		if again, err := ParseFaults(got.String()); err != nil || again != got {
			t.Errorf("%q becomes %q, which becomes %v, %v", list, got, again, err)
		}
	}
	for _, list := range []string{"crush", "", "crash,", "none,crash"} {
		if _, err := ParseFaults(list); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
	if _, err := ParseFaults("crush"); !strings.Contains(err.Error(), `"crush"`) || !strings.Contains(err.Error(), "one-way") {
		t.Errorf("%v: it does not name what is unknown and what is allowed", err)
	}
}
