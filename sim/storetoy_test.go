package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/simtest"
	"github.com/holdfast-locks/holdfast/sim/timeline"
	"github.com/holdfast-locks/holdfast/storage"
)

// Members lock through a store, each for its own users: no member grants for others. A member that wants a name checks
// whether another one has claimed it, writes its own claim into the row, and reads the row again: if its claim is the
// only one there, the name is its own. Of two members whose claims land before either reads, each sees the other's, and
// withdraws its own. No clock matters for this, and no write is too slow: no member reads before its own write was
// answered.
//
// A claim is a separate column, written once and never again. The member that wrote it decides what becomes of it,
// until its tenure ends. Then the coordinator deletes it, once the membership reports that no user of that tenure can
// hold anything.

// stage is the progress of a bid.
type stage int

const (
	looking   stage = iota // reading whether the name is free
	claiming               // writing the claim
	checking               // reading whether the claim is alone
	numbering              // writing the token
	holding
	leaving // deleting the claim
	gone
)

// bid is a member's attempt to lock a name for one of its users.
type bid struct {
	simtest.Want
	mark    mark
	stage   stage
	request uint64        // the request to the store in progress, or 0
	since   protocol.Time // since when
}

// mark is a claim: its member, and the epoch and tenure under which it was written.
type mark struct {
	epoch  uint64
	by     protocol.ID
	tenure protocol.Tenure
	count  uint64
}

func (k mark) column() string {
	return fmt.Sprintf("claim %d %d %d %d %d", k.epoch, k.by, k.tenure.Incarnation, k.tenure.Lapses, k.count)
}

func markOf(column string) (k mark, is bool) {
	n, _ := fmt.Sscanf(column, "claim %d %d %d %d %d", &k.epoch, &k.by, &k.tenure.Incarnation, &k.tenure.Lapses, &k.count)
	return k, n == 5
}

// found reports a claim that is in a member's way, and may be abandoned.
type found struct {
	name string
	mark mark
}

func (f found) String() string { return fmt.Sprintf("found %q %s", f.name, f.mark.column()) }

// clear reports that a member holds nothing of an earlier epoch.
type clear struct {
	epoch  protocol.Epoch
	tenure protocol.Tenure
}

func (c clear) String() string { return fmt.Sprintf("clear %d %v", c.epoch.Counter, c.tenure) }

type locker struct {
	simtest.Front
	rand   *rand.Rand
	naive  bool // it assumes that its writes have landed after inTime
	bids   []bid
	count  uint64                   // of requests to the store, and of claims
	lapsed uint64                   // the count when the last tenure ended
	pause  map[string]protocol.Time // by name: the time of the next attempt
}

const inTime = 200 * time.Millisecond

func (m *locker) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.Take(now, ev, out)
	switch fact := ev.Fact.(type) {
	case *protocol.Lapsed:
		m.bids, m.lapsed = nil, m.count
	case clear:
		if m.Hears(ev.From, fact.epoch, fact.tenure) {
			m.Cleared(ev.From, fact.tenure)
		}
	case found:
		m.found(now, fact, out)
	case storage.Mutated:
		if b := m.bidOf(fact.ID); b != nil {
			m.mutated(now, b, fact.Err, out)
		}
	case storage.Sliced:
		if b := m.bidOf(fact.ID); b != nil {
			m.sliced(now, b, &fact, out)
		}
	}
	for i := range m.bids {
		if b := &m.bids[i]; b.request == 0 && b.stage != gone && !m.wanted(b) {
			m.leave(now, b, out)
		}
	}
	m.bids = slices.DeleteFunc(m.bids, func(b bid) bool { return b.stage == gone })
	m.Kept = len(m.bids)
	if m.Due(now) {
		m.proceed(now, out)
	}
}

// wanted reports whether the user of a bid still wants the name, or has it.
func (m *locker) wanted(b *bid) bool {
	return slices.ContainsFunc(m.Wants, func(w simtest.Want) bool { return w.Session == b.Session && w.ID == b.ID })
}

// proceed repeats its reports, checks waiting bids, and begins new ones: one bid for a name at a time.
func (m *locker) proceed(now protocol.Time, out *protocol.Effects) {
	if m.Clear() {
		out.Send(m.View.Coordinator, clear{m.View.Epoch, m.View.Lease.Tenure})
	}
	if !m.View.Installed || !m.MayTake(now, m.View.Epoch, m.View.Lease.Tenure) {
		return // the coordinator would not know the tenure yet, or no longer
	}
	for _, w := range m.Wants {
		if w.Token == 0 && !slices.ContainsFunc(m.bids, func(b bid) bool { return b.Name == w.Name }) {
			m.count++
			m.bids = append(m.bids, bid{Want: w, mark: mark{m.View.Epoch.Counter, m.Self, m.View.Lease.Tenure, m.count}})
		}
	}
	for i := range m.bids {
		switch b := &m.bids[i]; {
		case b.stage == looking && b.request == 0 && now >= m.pause[b.Name]:
			m.request(now, b, looking, storage.Slice{Key: b.Name}, out)
		case b.stage == claiming && m.naive && now >= b.since+inTime:
			m.request(now, b, checking, storage.Slice{Key: b.Name}, out)
		}
	}
}

// request sends a request to the store, and remembers its purpose.
func (m *locker) request(now protocol.Time, b *bid, s stage, request protocol.Message, out *protocol.Effects) {
	m.count++
	b.request, b.stage, b.since = m.count, s, now
	switch r := request.(type) {
	case storage.Slice:
		r.ID = m.count
		out.Send(protocol.Storage, r)
	case storage.Mutate:
		r.ID = m.count
		out.Send(protocol.Storage, r)
	}
}

// bidOf returns the bid whose request was answered; nil if it no longer matters.
func (m *locker) bidOf(id uint64) *bid {
	i := slices.IndexFunc(m.bids, func(b bid) bool { return b.request == id })
	if i < 0 {
		return nil
	}
	m.bids[i].request = 0
	return &m.bids[i]
}

// leave withdraws the claim of a bid. A write that ended with an error may still land: found will report it.
func (m *locker) leave(now protocol.Time, b *bid, out *protocol.Effects) {
	if b.stage == looking {
		b.stage = gone
		return
	}
	m.pause[b.Name] = now + time.Duration(m.rand.Int64N(int64(400*time.Millisecond)))
	m.request(now, b, leaving, storage.Mutate{Key: b.Name, Deletions: []string{b.mark.column()}}, out)
}

func (m *locker) mutated(now protocol.Time, b *bid, err error, out *protocol.Effects) {
	switch {
	case b.stage == claiming && err == nil:
		m.request(now, b, checking, storage.Slice{Key: b.Name}, out)
	case b.stage == numbering && err == nil && m.MayTake(now, m.View.Epoch, m.View.Lease.Tenure) &&
		uint64(b.Token)>>32 >= m.View.Epoch.Counter && m.Grant(b.Session, b.ID, b.Token, out):
		b.stage = holding
	case b.stage == leaving && err == nil:
		b.stage = gone
	default:
		m.leave(now, b, out)
	}
}

func (m *locker) sliced(now protocol.Time, b *bid, row *storage.Sliced, out *protocol.Effects) {
	mine, others, highest := false, 0, uint64(0)
	var tokens []string
	for _, entry := range row.Entries {
		if k, is := markOf(entry.Column); is && k == b.mark {
			mine = true
		} else if is {
			others++
			out.Send(k.by, found{b.Name, k})
			out.Send(m.View.Coordinator, found{b.Name, k})
		} else if _, err := fmt.Sscanf(entry.Column, "token %x", &highest); err == nil {
			tokens = append(tokens, entry.Column) // in their order
		}
	}
	switch {
	case b.stage == looking && row.Err == nil && others == 0:
		m.request(now, b, claiming, storage.Mutate{Key: b.Name, Additions: []storage.Entry{{Column: b.mark.column()}}}, out)
	case b.stage == checking && row.Err == nil && others == 0 && (mine || m.naive):
		b.Token = holdfast.Token(max(highest+1, m.View.Epoch.Counter<<32|1))
		higher := []storage.Entry{{Column: fmt.Sprintf("token %016x", uint64(b.Token))}}
		m.request(now, b, numbering, storage.Mutate{Key: b.Name, Additions: higher, Deletions: tokens}, out)
	case b.stage == checking:
		m.leave(now, b, out)
	}
}

// found deletes a claim of this member that it does not know, because it was given up and landed late; the coordinator
// deletes that of a tenure that cannot hold anything.
func (m *locker) found(now protocol.Time, f found, out *protocol.Effects) {
	k := f.mark
	ours := k.by == m.Self && m.View != nil && k.tenure == m.View.Lease.Tenure && k.count > m.lapsed
	known := slices.ContainsFunc(m.bids, func(b bid) bool { return b.mark == k })
	dead := m.MayGrant(now) && k.epoch <= m.View.Epoch.Counter && m.Gone(now, k.by, k.tenure)
	if ours && !known || dead {
		m.count++
		out.Send(protocol.Storage, storage.Mutate{ID: m.count, Key: f.name, Deletions: []string{k.column()}})
	}
}

func lockerProtocol(naive bool) sim.Protocol {
	d := simtest.Describe("locker", func(s *protocol.Setup) protocol.Machine {
		chance := rand.New(rand.NewPCG(uint64(s.Random), uint64(s.Self)))
		return &locker{Front: simtest.Front{Self: s.Self}, rand: chance, naive: naive, pause: map[string]protocol.Time{}}
	})
	d.Stores = true
	return sim.Of(d)
}

// The code above, down from the imports, is the whole protocol. Nothing in the simulator knows it.

// exercised is how often runs have hit a row of coverage.
func exercised(t *testing.T, s *sim.Summary, c sim.Config, what string) (hits int) {
	t.Helper()
	var text strings.Builder
	if _, err := s.WriteCoverage(&text, &c); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.Join(fields[:len(fields)-1], " ") == what {
			n, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("coverage does not list %q:\n%s", what, &text)
	return 0
}

// clean runs seeds, none of which may break a promise.
func clean(t *testing.T, c sim.Config, seeds int) *sim.Summary {
	t.Helper()
	s, err := sim.RunMany(c, 1, seeds, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Worst; w != nil {
		t.Fatalf("seed %d: %v %v\n%s", w.Seed, w.Outcome, w.Violation, w.Settings)
	}
	return s
}

// ofStores are the faults of stores.
func ofStores() sim.Faults { return sim.Faults(0).With(sim.StoreSlow).With(sim.StoreFail) }

// TestARightLockerIsClean checks that a correct locker passes all faults of the store, and all faults.
func TestARightLockerIsClean(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	c := sim.Config{Protocol: lockerProtocol(false), Faults: ofStores(), Duration: 6 * time.Second}
	s := clean(t, c, 200)
	for _, what := range []string{
		"fault store-slow", "fault store-fail", "message storage.Mutate", "message storage.Slice",
		"handler space receive storage.Mutated", "handler space receive storage.Sliced",
	} {
		if n := exercised(t, s, c, what); n < 200 {
			t.Errorf("%s was hit %d times in 200 seeds", what, n)
		}
	}
	if s.Grants() < 1000 {
		t.Errorf("%d grants in 200 seeds", s.Grants())
	}
	c.Faults, c.Duration, c.Linearizable = sim.Within, 20*time.Second, true
	s = clean(t, c, 30)
	for _, what := range []string{"fault store-slow", "fault store-fail", "fault crash", "fault partition"} {
		if exercised(t, s, c, what) == 0 {
			t.Errorf("%s was never hit", what)
		}
	}
}

// TestANaiveLockerIsCaught checks that a slow store, and nothing else, reveals a locker that takes a write in flight
// for landed: two members share a lock.
func TestANaiveLockerIsCaught(t *testing.T) {
	manySeeds(t)
	c := sim.Config{Protocol: lockerProtocol(true), Faults: sim.Faults(0).With(sim.StoreFail), Duration: 10 * time.Second}
	clean(t, c, 40)
	c.Faults = ofStores().Without(sim.StoreFail)
	s, err := sim.RunMany(c, 100, 30, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Worst; w == nil || w.Outcome != sim.Violated || !slices.Contains([]string{"P1", "P2", "P3"}, w.Violation.Promise) {
		t.Fatalf("%v in %d seeds", w, s.Seeds)
	}
	t.Logf("seed %d: %v", s.Worst.Seed, s.Worst.Violation)
	if exercised(t, s, c, "fault store-slow") == 0 {
		t.Error("no request was slow")
	}
}

// TestWhatAStoreDoesIsReported checks that the same seed is the same run, that its script has all acts of the store,
// and that its timeline has the store in a separate lane.
func TestWhatAStoreDoesIsReported(t *testing.T) {
	c := sim.Config{Protocol: lockerProtocol(false), Faults: ofStores().With(sim.Loss).With(sim.Crash).With(sim.Pause), Duration: 20 * time.Second, Bias: sim.Bias{AllFaults: true, Often: 4}}
	for seed := uint64(2); seed <= 4; seed++ {
		var events []timeline.Event
		var drawn, again, recorded, played strings.Builder
		c.Observe = func(h timeline.Event) { events = append(events, h) }
		if _, err := sim.Run(c, seed, &drawn); err != nil {
			t.Fatal(err)
		}
		c.Observe = nil
		if _, err := sim.Run(c, seed, &again); err != nil {
			t.Fatal(err)
		}
		script, _, err := sim.Record(c, seed, &recorded)
		if err != nil {
			t.Fatal(err)
		}
		result, err := sim.Play(script, sim.Stage{Protocol: c.Protocol, Trace: &played})
		if err != nil {
			t.Fatal(err)
		}
		for what, trace := range map[string]*strings.Builder{"again": &again, "recorded": &recorded, "played": &played} {
			if trace.String() != drawn.String() {
				t.Errorf("seed %d, %s, is another run", seed, what)
			}
		}
		if len(result.Wrong) > 0 {
			t.Errorf("seed %d: %v", seed, result.Wrong)
		}
		if text := script.String(); !strings.Contains(text, "→store Mutate#") || !strings.Contains(text, "\nstore-slow#1 at ") {
			t.Errorf("the script of seed %d says nothing of the store", seed)
		}
		if err := timeline.Check(events); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for what, is := range map[string]func(*timeline.Event) bool{
			"a lane":   func(h *timeline.Event) bool { return h.Kind == timeline.Lane && h.Who == "store" && !h.Client },
			"requests": func(h *timeline.Event) bool { return h.Kind == timeline.Delivered && h.To == "store" },
			"answers":  func(h *timeline.Event) bool { return h.Kind == timeline.Sent && h.Who == "store" && h.Name != "" },
			"slowness": func(h *timeline.Event) bool {
				return h.Kind == timeline.Fault && h.Who == "store" && h.Short == "store-slow"
			},
			"failures": func(h *timeline.Event) bool {
				return h.Kind == timeline.Fault && h.Who == "store" && h.Short == "store-fail"
			},
			"lateness": func(h *timeline.Event) bool { return h.Kind == timeline.Delivered && h.To == "store" && h.Late },
		} {
			if !slices.ContainsFunc(events, func(h timeline.Event) bool { return is(&h) }) {
				t.Errorf("the story of seed %d has no %s of the store", seed, what)
			}
		}
	}
}
