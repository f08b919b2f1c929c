package membership_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// life starts a member, lets its first write succeed, and returns its view and cell.
func life(t *testing.T, c membership.Config) (*membership.Machine, *protocol.View, membership.Cell) {
	t.Helper()
	c.Rand = random()
	m, err := membership.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Effects
	m.Step(0, protocol.Event{Kind: protocol.Start}, &out)
	var cell membership.Cell
	if c.Kept {
		if len(out.Raises) != 0 {
			t.Fatalf("raised %v before the cell was written", out.Raises)
		}
		save := out.Sends[0].Message.(storage.Save)
		if cell, err = membership.DecodeCell(save.Data); err != nil {
			t.Fatal(err)
		}
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: save.ID}}, &out)
	}
	return m, out.Raises[0].(*protocol.View), cell
}

// wall is a time of the wall clock, in seconds after the origin of epochs.
func wall(seconds float64) time.Duration {
	return membership.Origin*time.Second + time.Duration(seconds*float64(time.Second))
}

// TestTokensNeverGoBack runs lives one after another: regardless of what the wall clock does, (epoch, count)
// rises with a cell; without one, as long as the clock is not set back.
func TestTokensNeverGoBack(t *testing.T) {
	var cell membership.Cell
	var last uint64
	for i, at := range []float64{1000, 1000.5, 1000.5, 900, 5000.25, 5000.25, 1} {
		_, view, next := life(t, membership.Config{Kept: true, Cell: cell, Serves: true, Wall: wall(at)})
		if token := view.Epoch.Counter<<32 | uint64(view.Count); token <= last {
			t.Errorf("life %d at %vs begins at %d:%d, not above %d:%d", i, at, view.Epoch.Counter, view.Count, last>>32, last&(1<<32-1))
		} else {
			last = token
		}
		cell = next
	}
	last = 0
	for i, at := range []float64{1000, 1000.5, 1000.999999, 1001, 5000} {
		_, view, _ := life(t, membership.Config{Wall: wall(at)})
		if view.Count > 1<<30 {
			t.Errorf("life %d begins at count %d, which leaves less than half of the reign", i, view.Count)
		}
		if token := view.Epoch.Counter<<32 | uint64(view.Count); token <= last {
			t.Errorf("forgetful life %d at %vs does not begin above the last", i, at)
		} else {
			last = token
		}
	}
}

// TestDrawnBefore: a member whose ids were drawn before its first life has those, and is as new as one that draws
// them itself: it waits for no member, and its tokens begin at the wall clock.
func TestDrawnBefore(t *testing.T) {
	var drawn membership.Cell
	drawn.ID, drawn.Cluster = membership.Draw(random())
	_, view, cell := life(t, membership.Config{Kept: true, Serves: true, Cell: drawn, Wall: wall(1000)})
	_, plain, _ := life(t, membership.Config{Kept: true, Serves: true, Wall: wall(1000)})
	if drawn.ID == 0 || drawn.Cluster == 0 || cell.ID != drawn.ID || cell.Cluster != drawn.Cluster || cell.Incarnation != 1 {
		t.Errorf("%+v comes of %+v", cell, drawn)
	}
	if view.GrantFrom != 0 || view.Epoch.Counter != plain.Epoch.Counter || view.Count != plain.Count {
		t.Errorf("it begins with %v of %d at %v; one that draws its ids with %v of %d", view.Count, view.Epoch.Counter, view.GrantFrom, plain.Count, plain.Epoch.Counter)
	}
}

// TestWaitAtStart: which members wait at their start, and for what (docs/design/membership.md §5; V16 in §9).
func TestWaitAtStart(t *testing.T) {
	lived := membership.Cell{Cluster: 1, ID: 2, Incarnation: 3, Promised: 4}
	clean := lived
	clean.Clean = true
	far := lived
	far.Owed = protocol.ReachOf(8 * time.Second)
	for _, tt := range []struct {
		name   string
		config membership.Config
		want   time.Duration
	}{
		{"never had a cell", membership.Config{Kept: true, Serves: true}, 0},
		{"clean", membership.Config{Kept: true, Serves: true, Cell: clean}, 0},
		{"unclean", membership.Config{Kept: true, Serves: true, Cell: lived}, 3150 * time.Millisecond},
		{"unclean with a horizon", membership.Config{Kept: true, Serves: true, Cell: far}, 3150*time.Millisecond + protocol.ReachOf(8*time.Second).Span()},
		{"keeps none", membership.Config{Serves: true}, 3150 * time.Millisecond},
		{"serves no client", membership.Config{}, 0},
		{"served clients before, now none", membership.Config{Kept: true, Cell: far}, 3150*time.Millisecond + protocol.ReachOf(8*time.Second).Span()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.config.Wall = wall(1000)
			_, view, cell := life(t, tt.config)
			if got := view.GrantFrom.Round(time.Microsecond); got != tt.want {
				t.Errorf("waits %v, want %v", got, tt.want)
			}
			if tt.config.Kept && cell.Clean != (tt.want == 0) {
				t.Errorf("the cell of this life says clean=%v", cell.Clean)
			}
		})
	}
}

// TestNewEpoch: another reign begins when the cell says so, once.
func TestNewEpoch(t *testing.T) {
	m, first, _ := life(t, membership.Config{Kept: true, Wall: wall(1000)})
	var out protocol.Effects
	for range 2 {
		m.Step(1, protocol.Event{Kind: protocol.Raised, Fact: &protocol.NeedEpoch{Above: first.Epoch.Counter}}, &out)
	}
	if len(out.Sends) != 1 || len(out.Raises) != 0 {
		t.Fatalf("two requests made %d writes and raised %v", len(out.Sends), out.Raises)
	}
	save := out.Sends[0].Message.(storage.Save)
	out.Reset()
	stale := protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: save.ID - 1}}
	m.Step(1, stale, &out)
	if len(out.Raises) != 0 {
		t.Fatalf("a stale answer raised %v", out.Raises)
	}
	m.Step(1, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: save.ID}}, &out)
	view := out.Raises[0].(*protocol.View)
	if view.Epoch.Counter != first.Epoch.Counter+1 || view.Number != first.Number+1 {
		t.Errorf("view %d of epoch %d follows view %d of epoch %d", view.Number, view.Epoch.Counter, first.Number, first.Epoch.Counter)
	}
}

// TestNewEpochWhileLeaving: a member alone leads while it leaves, and begins another reign.
func TestNewEpochWhileLeaving(t *testing.T) {
	m, first, _ := life(t, membership.Config{Kept: true, Serves: true, Wall: wall(1000)})
	var out protocol.Effects
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: &protocol.NeedHorizon{Want: time.Second, Clients: true}}, &out)
	write := out.Sends[0].Message.(storage.Save)
	m.Step(0, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &membership.Leave{}}, &out)
	if len(out.Replies) != 0 {
		t.Fatal("it has left while a write was in flight")
	}
	m.Step(1, protocol.Event{Kind: protocol.Raised, Fact: &protocol.NeedEpoch{Above: first.Epoch.Counter}}, &out)
	out.Reset()
	m.Step(1, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: write.ID}}, &out)
	write = out.Sends[0].Message.(storage.Save)
	out.Reset()
	m.Step(1, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: write.ID}}, &out)
	i := slices.IndexFunc(out.Raises, func(fact any) bool { _, is := fact.(*protocol.View); return is })
	if i < 0 {
		t.Fatalf("no view, but %v", out.Raises)
	}
	if view := out.Raises[i].(*protocol.View); view.Epoch.Counter <= first.Epoch.Counter || len(view.Members) != 1 {
		t.Errorf("view %v follows %v", view, first)
	}
}

// TestLeave: the last word comes when no write is in flight.
func TestLeave(t *testing.T) {
	m, _, _ := life(t, membership.Config{Kept: true, Serves: true, Wall: wall(1000)})
	var out protocol.Effects
	leave := protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: &membership.Leave{}}
	m.Step(0, leave, &out)
	if len(out.Replies) != 1 {
		t.Fatalf("an idle member answered %d times", len(out.Replies))
	}
	out.Reset()
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: &protocol.NeedHorizon{Want: time.Second, Clients: true}}, &out)
	m.Step(0, leave, &out)
	if len(out.Replies) != 0 {
		t.Fatal("answered while a write was in flight")
	}
	failed := storage.Saved{ID: out.Sends[0].Message.(storage.Save).ID, Err: errors.New("disk full")}
	out.Reset()
	m.Step(0, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: failed}, &out)
	if left := out.Replies[0].Result.(*membership.Left); left.Err == nil {
		t.Error("a failed last word was not reported")
	}
}

func TestNewNamesTheWrongField(t *testing.T) {
	founders := []string{"a:1", "b:1"}
	for field, c := range map[string]membership.Config{
		"Rand":                    {},
		"Lease":                   {Rand: random(), Lease: -1},
		"Drift":                   {Rand: random(), Drift: 0.6},
		"Kept":                    {Rand: random(), Cell: membership.Cell{ID: 1}},
		"Spaces is -1":            {Rand: random(), Spaces: -1},
		"Priority is -1":          {Rand: random(), Priority: -1},
		"Patience is -1ns":        {Rand: random(), Patience: -1},
		"it must be under 375ms":  {Rand: random(), Patience: 375 * time.Millisecond},
		"Name is empty":           {Rand: random(), Founders: founders, Founder: true, Address: "a:1"},
		"Address is empty":        {Rand: random(), Founders: founders, Founder: true, Name: "a"},
		"an empty address":        {Rand: random(), Founders: []string{""}, Name: "a", Address: "a:1"},
		`own Address "c:1"`:       {Rand: random(), Founders: founders, Founder: true, Name: "c", Address: "c:1"},
		"then it must be a Found": {Rand: random(), Founders: founders, Name: "a", Address: "a:1"},
	} {
		if _, err := membership.New(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("wrong %s: %v", field, err)
		}
	}
}

// recorded is a cell with a view that is built on another.
func recorded() membership.Cell {
	member := func(id protocol.ID, name string, founder bool) election.Member {
		return election.Member{
			Member: protocol.Member{ID: id, Name: name, Address: name + ":4040", Tenure: protocol.Tenure{Incarnation: 3, Lapses: uint64(id)}, Founder: founder},
			HTTP:   name + ":4041", Serves: founder, Kept: true,
		}
	}
	return membership.Cell{
		Cluster: 1<<63 + 1, ID: 2, Incarnation: 3, Promised: 9, Candidate: 7, Floor: 8, Owed: 9, Clean: true,
		Pledges: &election.Pledges{
			Of:     []election.Pledge{{ID: 2, Tenure: protocol.Tenure{Incarnation: 3}, Version: 4, Reach: 100}, {ID: 7, Tenure: protocol.Tenure{Incarnation: 1}, Version: 1, Reach: 90}},
			Limits: election.Limits{Top: 104, Durable: 100},
		},
		Accepted: &election.View{
			Cluster: 1<<63 + 1, Number: 5, Epoch: protocol.Epoch{Counter: 9, Candidate: 7},
			Members: []election.Member{member(7, "a", true), member(2, "ü", false)},
			Terms:   []string{"lease 3s", "space default: protocol central"},
			Base: []election.Electorate{
				{Number: 4, Epoch: protocol.Epoch{Counter: 8, Candidate: 7}, Voters: []protocol.ID{7}},
				{Number: 3, Epoch: protocol.Epoch{Counter: 8, Candidate: 6}, Voters: []protocol.ID{6, 7, 8}},
			},
		},
	}
}

// TestFirstCellIsRead: what a member alone wrote before there were views.
func TestFirstCellIsRead(t *testing.T) {
	const text = "holdfast cell 1\n\x80\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03" +
		"\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x03F0\xb8\xa0\x00\x01"
	sum := uint64(14695981039346656037)
	for _, c := range []byte(text) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	bytes := binary.BigEndian.AppendUint64([]byte(text), sum)
	got, err := membership.DecodeCell(bytes)
	want := membership.Cell{Cluster: 1<<63 + 1, ID: 2, Incarnation: 3, Promised: 4, Candidate: 2, Floor: 4, Owed: protocol.ReachOf(time.Hour), Clean: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for i := range bytes {
		damaged := slices.Clone(bytes)
		damaged[i] ^= 0x10
		if _, err := membership.DecodeCell(damaged); err == nil {
			t.Errorf("damage at byte %d goes unnoticed", i)
		}
	}
}

func TestCellRoundTrip(t *testing.T) {
	c := recorded()
	for _, known := range []func(*election.View){
		func(*election.View) {},
		func(v *election.View) { v.Installed, v.Base = true, nil },
		func(v *election.View) { v.Open = true },
		func(v *election.View) { v.Order = election.Order{Reason: "a fire", By: "ops"} },
		func(v *election.View) { v.Terms, v.Order.By = nil, "" },
	} {
		known(c.Accepted)
		got, err := membership.DecodeCell(c.Encode())
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	c = recorded()
	got, err := membership.DecodeCell(c.Encode())
	if diff := cmp.Diff(c, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for i := range c.Encode() {
		damaged := c.Encode()
		damaged[i] ^= 0x10
		if _, err := membership.DecodeCell(damaged); err == nil {
			t.Errorf("damage at byte %d goes unnoticed", i)
		}
		if _, err := membership.DecodeCell(c.Encode()[:i]); err == nil {
			t.Errorf("a cell cut at byte %d is read", i)
		}
	}
}
