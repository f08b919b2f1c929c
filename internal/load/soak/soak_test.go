package soak

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"iter"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here is a member in this process.
type here struct {
	address string
	blind   bool // it cannot be looked at
	looks   atomic.Int64
}

func (h *here) Addresses() []string { return []string{h.address} }

func (h *here) TLS() *tls.Config { return nil }

var errBlind = errors.New("nothing can be seen")

func (h *here) Sample(context.Context) ([]Process, error) {
	h.looks.Add(1)
	if h.blind {
		return nil, errBlind
	}
	return []Process{own()}, nil
}

func own() Process { return Process{Name: "this one", Goroutines: runtime.NumGoroutine()} }

func serve(t *testing.T) *here {
	t.Helper()
	observer := server.NewObserver([]string{"default"})
	n, err := host.Start(t.Context(), host.Config{State: t.TempDir(), Serves: true, Observe: observer.Observe})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{
		Driver: n.Driver(), View: n.View, Observer: observer,
		Spaces:   []server.Space{{Name: "default", Port: protocol.Port(1), Protocol: "central", Class: holdfast.Fenced, Options: map[string]string{"partition": "primary"}}},
		Identity: func() server.Identity { return server.Identity{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.AcceptGRPC(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), <-served, n.Close()); err != nil {
			t.Error(err)
		}
	})
	return &here{address: l.Addr().String()}
}

// TestEachKind: every kind of load takes place, without errors and violations, and ends in
// good order when the soak is ended before its time.
func TestEachKind(t *testing.T) {
	parallel.SkipBrief(t)
	h := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var r *run
	all := func() bool {
		return !slices.ContainsFunc(allKinds(), func(k Kind) bool { return r.counts[k].Load() < 2 })
	}
	c := Config{Cluster: h, Own: own, Duration: time.Hour, Every: 20 * time.Millisecond}
	c.OnSample = func(Sample) {
		if all() {
			cancel()
		}
	}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	r = newRun(c)
	result, err := r.soak(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range allKinds() {
		if result.Counts[kind] < 2 {
			t.Errorf("%s took place %d times", kind, result.Counts[kind])
		}
	}
	if result.Violations != 0 || result.Errors != 0 || !result.Interrupted {
		t.Errorf("%d violations, %d errors (%v), interrupted %v", result.Violations, result.Errors, result.FirstError, result.Interrupted)
	}
	last := result.Samples[len(result.Samples)-1]
	if len(last.Processes) != 2 || last.Turns < 2*uint64(len(allKinds())) {
		t.Errorf("the last sample is %+v", last)
	}
	if result.Judged() {
		t.Errorf("%v and %d samples are enough to be judged", result.Took, len(result.Samples))
	}
	admin, err := client.DialAdmin(h.address)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	left, err := admin.List(t.Context(), "default", prefix, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range left.Locks {
		if lock.Name != prefix+"abandoned" { // which is left to expire
			t.Errorf("%s is left", lock.Name)
		}
	}
}

// TestEnds: a soak ends by itself, and one that cannot look says so as an error of its own.
func TestEnds(t *testing.T) {
	h := serve(t)
	h.blind = true
	result, err := Run(t.Context(), Config{Cluster: h, Own: own, Duration: time.Second, Every: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if result.Interrupted || result.Errors == 0 || !errors.Is(result.FirstError, errBlind) || len(result.Samples) != 0 || h.looks.Load() == 0 {
		t.Errorf("%+v after %d looks", result, h.looks.Load())
	}
	if trends := result.Trends(); len(trends) != 0 || result.Judged() {
		t.Errorf("%+v", trends)
	}
}

// TestNoMemberThere.
func TestNoMemberThere(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	result, err := Run(ctx, Config{Cluster: &here{address: l.Addr().String()}, Own: own, Duration: time.Hour})
	if err == nil || result != nil {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestRefused: what a configuration may not have.
func TestRefused(t *testing.T) {
	for want, c := range map[string]Config{
		"Cluster and Own": {Duration: 1},
		"Duration is 0s":  {Cluster: &here{}, Own: own},
		"Every is -1ns":   {Cluster: &here{}, Own: own, Duration: 1, Every: -1},
	} {
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// grant is a lock as a service grants it.
func grant(mode holdfast.Mode, units, capacity int) *holdfast.Lock {
	return holdfast.NewLock(holdfast.Grant{Name: "n", Shape: holdfast.Shape{Mode: mode, Units: units, Capacity: capacity}}, 1, time.Hour, forever{}, context.Background())
}

type forever struct{}

func (forever) Now() time.Duration                                              { return 0 }
func (forever) Deadline() time.Duration                                         { return time.Hour }
func (forever) UnlockLock(context.Context, *holdfast.Lock) error                { return nil }
func (forever) QueueUnlock(*holdfast.Lock) error                                { return nil }
func (forever) ExtendLock(context.Context, *holdfast.Lock, time.Duration) error { return nil }
func (forever) ObserveLock(context.Context, *holdfast.Lock) iter.Seq2[holdfast.State, error] {
	return nil
}

func (forever) AmendLock(context.Context, *holdfast.Lock, holdfast.Amendment) error { return nil }

// TestRoom: who may be inside together.
func TestRoom(t *testing.T) {
	const exclusive, shared, slots = holdfast.ModeExclusive, holdfast.ModeShared, holdfast.ModeSlots
	for name, tt := range map[string]struct {
		inside     []*holdfast.Lock
		violations uint64
	}{
		"one":               {[]*holdfast.Lock{grant(exclusive, 0, 0)}, 0},
		"two":               {[]*holdfast.Lock{grant(exclusive, 0, 0), grant(exclusive, 0, 0)}, 1},
		"readers":           {[]*holdfast.Lock{grant(shared, 0, 0), grant(shared, 0, 0), grant(shared, 0, 0)}, 0},
		"a reader's writer": {[]*holdfast.Lock{grant(shared, 0, 0), grant(exclusive, 0, 0)}, 1},
		"a writer's reader": {[]*holdfast.Lock{grant(exclusive, 0, 0), grant(shared, 0, 0)}, 1},
		"all slots":         {[]*holdfast.Lock{grant(slots, 1, 4), grant(slots, 3, 4)}, 0},
		"a slot too many":   {[]*holdfast.Lock{grant(slots, 2, 4), grant(slots, 2, 4), grant(slots, 1, 4)}, 1},
	} {
		var violations atomic.Uint64
		r := &room{violations: &violations}
		for _, lock := range tt.inside {
			r.enter(lock)
		}
		if got := violations.Load(); got != tt.violations {
			t.Errorf("%s: %d violations, want %d", name, got, tt.violations)
		}
		for _, lock := range tt.inside {
			r.leave(lock)
		}
		if r.enter(grant(exclusive, 0, 0)); violations.Load() != tt.violations {
			t.Errorf("%s: a holder has not left", name)
		}
	}
	var violations atomic.Uint64
	r := &room{violations: &violations}
	lost := grant(exclusive, 0, 0)
	r.enter(lost)
	lost.End(holdfast.SessionExpired)
	if r.enter(grant(exclusive, 0, 0)); violations.Load() != 0 {
		t.Error("a lock that has ended keeps others out")
	}
	(*room)(nil).enter(lost)
	(*room)(nil).leave(lost)
}

// course is an hour of samples of one process.
func course(samples int, took time.Duration, resident func(i int) int64) *Result {
	r := &Result{Took: took, Counts: map[Kind]uint64{}}
	for i := range samples {
		s := Sample{At: took * time.Duration(i+1) / time.Duration(samples), Processes: []Process{{Name: "member a", Goroutines: 80}}, Locks: i % 3}
		s.Processes[0].Resident = resident(i)
		r.Samples = append(r.Samples, s)
	}
	return r
}

// TestTrends: what is flat, what has grown, and what cannot be judged.
func TestTrends(t *testing.T) {
	const mebibyte = 1 << 20
	for name, tt := range map[string]struct {
		result *Result
		judged bool
		grew   bool
		slope  float64 // MiB an hour
	}{
		"flat":               {course(60, time.Hour, func(int) int64 { return 30 * mebibyte }), true, false, 0},
		"warms up":           {course(60, time.Hour, func(i int) int64 { return int64(min(i, 5)) * 6 * mebibyte }), true, false, 0},
		"grows within":       {course(60, time.Hour, func(i int) int64 { return 30*mebibyte + int64(i)*mebibyte/60 }), true, false, 1},
		"grows":              {course(60, time.Hour, func(i int) int64 { return 30*mebibyte + int64(i)*mebibyte/3 }), true, true, 20},
		"grows, too short":   {course(60, 30*time.Second, func(i int) int64 { return 30*mebibyte + int64(i)*mebibyte }), false, false, 7200},
		"grows, few samples": {course(8, time.Hour, func(i int) int64 { return 30*mebibyte + int64(i)*8*mebibyte }), true, true, 64},
		"too few samples":    {course(7, time.Hour, func(i int) int64 { return 30*mebibyte + int64(i)*7*mebibyte }), false, false, 49},
	} {
		trends := tt.result.Trends()
		i := slices.IndexFunc(trends, func(t Trend) bool { return t.Figure == "resident_bytes" })
		if i < 0 || trends[i].Process != "member a" {
			t.Errorf("%s: %+v", name, trends)
			continue
		}
		got := trends[i]
		if slope := got.PerHour / mebibyte; got.Judged != tt.judged || got.Grew() != tt.grew || slope < tt.slope-0.1 || slope > tt.slope+0.1 {
			t.Errorf("%s: %+v, slope %v MiB an hour", name, got, slope)
		}
		for _, other := range trends {
			if other.Figure == "heap_bytes" || other.Grew() && other.Figure != "resident_bytes" {
				t.Errorf("%s: %+v", name, other)
			}
		}
	}
}

// TestTables: the figures are shown, and written for scripts.
func TestTables(t *testing.T) {
	r := course(8, 2*time.Minute, func(i int) int64 { return int64(i+1) << 23 })
	r.Counts[Hot] = 17
	tables := r.Tables()
	var text strings.Builder
	for _, table := range tables {
		for _, row := range append([][]string{table.Header}, table.Rows...) {
			text.WriteString(strings.Join(row, "|") + "\n")
		}
	}
	for _, want := range []string{
		"AT|TURNS/s|SESSIONS|LOCKS|WAITERS|VIOLATIONS|ERRORS|MEMBER-A RSS/HEAP/GOROUTINES/FILES\n15s|0|0|0|0|0|0|8.0M/-/80/-\n30s|0|0|1|",
		"hot|17\n", "member a|resident_bytes|12.00M|60.00M|17.20M|1920.00M|GREW\nmember a|goroutines|80.0|80.0|104.0|0.0|flat\ncluster|locks|",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	sections := r.Sections()
	if len(sections) != 3 || sections[0].Name != "soak" || len(sections[0].Lines) != 8 {
		t.Fatalf("%+v", sections)
	}
	line, err := json.Marshal(sections[0].Lines[0])
	want := `{"at_s":15,"turns":0,"sessions":0,"locks":0,"waiters":0,"violations":0,"errors":0,"processes":[{"name":"member a","resident_bytes":8388608,"goroutines":80}]}`
	if err != nil || string(line) != want {
		t.Errorf("%s, %v", line, err)
	}
}
