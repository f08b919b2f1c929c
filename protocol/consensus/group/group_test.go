package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/lock/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is some members, the network between them and their journals, in simulated time.
type world struct {
	*testing.T
	seed    uint64
	rand    *rand.Rand
	now     Time
	members []*member
	transit []flight
	faults  bool
	trace   io.Writer

	// The expected state.
	committed                              map[uint64]Entry  // by index
	leaders                                map[uint64]uint64 // by term
	highest                                uint64            // committed anywhere
	proposed                               map[string]bool   // what it was that was proposed
	acked                                  map[string]bool   // seen as committed by its proposer
	requested                              map[uint64]uint64 // reads: the highest commit when each began
	confirmed                              int
	crashes, snapshots, restores, refusals int
}

// member is a member with its journal.
type member struct {
	id       uint64
	group    *Group
	offset   Time // how much earlier its clock began
	journal  Kept
	unsynced []flight // writes that are under way
	applied  []string
	at       uint64              // applied until there
	hosted   map[uint64][]string // contents of snapshots, by index
	seed     uint64
}

// flight is a message or a write in flight.
type flight struct {
	due     Time
	to      *member
	message *Message
	write   *Write
	life    *Group // of a write: the life that it ends with
	content []string
	from    *member // of a snapshot
	lost    bool
}

func newWorld(t *testing.T, seed uint64, count int) *world {
	w := &world{
		T: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 7)), trace: io.Discard, committed: map[uint64]Entry{}, leaders: map[uint64]uint64{},
		proposed: map[string]bool{}, acked: map[string]bool{}, requested: map[uint64]uint64{},
	}
	var voters []uint64
	for i := range count {
		voters = append(voters, uint64(i+1))
	}
	for _, id := range voters {
		m := &member{id: id, journal: Kept{Snapshot: Founding(voters)}, hosted: map[uint64][]string{1: nil}}
		w.members = append(w.members, m)
		w.start(m)
	}
	return w
}

func (w *world) fatalf(format string, values ...any) {
	w.Helper()
	w.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, values...))
}

// start begins a life of a member, from its journal.
func (w *world) start(m *member) {
	m.offset = Time(w.rand.Int64N(1e9))
	m.seed++
	g, err := New(Config{Self: m.id, Election: 100 * time.Millisecond, Heartbeat: 20 * time.Millisecond, Random: w.seed*1000 + m.seed}, &m.journal, w.now+m.offset)
	if err != nil {
		w.fatalf("member %d: %v", m.id, err)
	}
	m.group = g
	content, has := m.hosted[m.journal.Snapshot.Index]
	if !has && m.journal.Snapshot.Index != 0 {
		w.fatalf("member %d has lost the snapshot at %d", m.id, m.journal.Snapshot.Index)
	}
	m.applied, m.at = slices.Clone(content), m.journal.Snapshot.Index
}

// crash ends a life: unsynced writes are lost, or a prefix of them was done.
func (w *world) crash(m *member) {
	w.crashes++
	done := w.rand.IntN(len(m.unsynced) + 1)
	for _, f := range m.unsynced[:done] {
		m.keep(f.write)
	}
	m.group, m.unsynced = nil, nil
}

// keep applies a write to the journal.
func (m *member) keep(x *Write) {
	if x.Snapshot != nil {
		m.journal.Snapshot, m.journal.Records = *x.Snapshot, nil
	}
	if len(x.Records) > 0 {
		at := x.First - m.journal.Snapshot.Index - 1
		if x.First <= m.journal.Snapshot.Index { // some are in the snapshot
			at = 0
			x.Records = x.Records[min(m.journal.Snapshot.Index+1-x.First, uint64(len(x.Records))):]
		}
		m.journal.Records = append(m.journal.Records[:at:at], x.Records...)
	}
	if x.State != nil {
		m.journal.State = x.State
	}
}

// delay draws a latency.
func (w *world) delay() Time {
	d := Time(w.rand.Int64N(int64(4 * time.Millisecond)))
	if w.faults && w.rand.IntN(20) == 0 {
		d += Time(w.rand.Int64N(int64(300 * time.Millisecond)))
	}
	return d
}

// carry performs a group's effects.
func (w *world) carry(m *member, out *Output) {
	for i := range out.Writes {
		due := w.now + w.delay()
		if n := len(m.unsynced); n > 0 {
			due = max(due, m.unsynced[n-1].due) // in their order
		}
		m.unsynced = append(m.unsynced, flight{due: due, to: m, write: &out.Writes[i], life: m.group})
	}
	for i := range out.Messages {
		w.send(flight{message: &out.Messages[i]})
	}
	for i := range out.Snapshots {
		s := &out.Snapshots[i]
		content, has := m.hosted[s.Snapshot.Index]
		if !has {
			w.fatalf("member %d sends a snapshot at %d that it has not", m.id, s.Snapshot.Index)
		}
		w.send(flight{message: s, content: content, from: m})
	}
	if r := out.Restored; r != nil {
		w.restores++
		content, has := m.hosted[r.Index]
		if !has {
			w.fatalf("member %d restores a snapshot at %d that it has not", m.id, r.Index)
		}
		m.applied, m.at = slices.Clone(content), r.Index
	}
	for _, e := range out.Entries {
		w.commit(m, &e)
	}
	for _, r := range out.Reads {
		w.confirmed++
		if wanted, known := w.requested[r.ID]; known && r.Index < wanted {
			w.fatalf("read %d at member %d shows %d, and %d was committed when it was asked", r.ID, m.id, r.Index, wanted)
		}
	}
	if g := m.group; out.Turned && g.Leading() {
		if other, led := w.leaders[g.Term()]; led && other != m.id {
			w.fatalf("members %d and %d lead in term %d", other, m.id, g.Term())
		}
		w.leaders[g.Term()] = m.id
	}
	if out.Wanted {
		w.compact(m)
	}
	fmt.Fprintln(w.trace, w.now, m.id, len(out.Messages), len(out.Writes), len(out.Entries), m.group.Term(), m.group.Leading())
}

func (w *world) send(f flight) {
	times := 1
	if w.faults {
		times = []int{0, 1, 1, 1, 1, 1, 1, 1, 2}[w.rand.IntN(9)]
	}
	if f.lost = times == 0; f.lost && f.from != nil {
		times = 1 // the member that transfers a snapshot knows that it did not arrive
	}
	for range times {
		f.due = w.now + w.delay()
		w.transit = append(w.transit, f)
	}
}

// commit checks an entry that a member applies.
func (w *world) commit(m *member, e *Entry) {
	if e.Index != m.at+1 {
		w.fatalf("member %d applies entry %d behind %d", m.id, e.Index, m.at)
	}
	m.at = e.Index
	if was, known := w.committed[e.Index]; known && (was.Term != e.Term || string(was.Data) != string(e.Data)) {
		w.fatalf("entry %d is %q of term %d at member %d, and was %q of term %d", e.Index, e.Data, e.Term, m.id, was.Data, was.Term)
	}
	w.committed[e.Index] = *e
	w.highest = max(w.highest, e.Index)
	if len(e.Data) > 0 && e.Kind == 0 {
		if !w.proposed[string(e.Data)] {
			w.fatalf("entry %d is %q, which was never proposed", e.Index, e.Data)
		}
		m.applied = append(m.applied, string(e.Data))
	}
}

// step executes the next event, if it is before the end.
func (w *world) step(end Time) {
	var next *flight
	at, of := Never, -1
	for i := range w.transit {
		if f := &w.transit[i]; f.due < at {
			next, at, of = f, f.due, i
		}
	}
	var writer *member
	for _, m := range w.members {
		if len(m.unsynced) > 0 && m.unsynced[0].due < at {
			writer, at = m, m.unsynced[0].due
		}
	}
	var woken *member
	for _, m := range w.members {
		if m.group != nil && m.group.Wake() != Never && m.group.Wake()-m.offset < at {
			woken, at = m, max(w.now, m.group.Wake()-m.offset)
		}
	}
	w.now = max(w.now, min(at, end))
	if at > end {
		return
	}
	var out Output
	switch {
	case woken != nil:
		woken.group.Tick(w.now+woken.offset, &out)
		w.carry(woken, &out)
	case writer != nil:
		f := writer.unsynced[0]
		writer.unsynced = writer.unsynced[1:]
		writer.keep(f.write)
		writer.group.Written(w.now+writer.offset, f.write.ID, &out)
		w.carry(writer, &out)
	case next != nil:
		f := *next
		w.transit = slices.Delete(w.transit, of, of+1)
		w.arrive(&f)
	}
}

func (w *world) arrive(f *flight) {
	to := w.members[f.message.To-1]
	arrives := to.group != nil && !f.lost
	if arrives {
		var out Output
		if f.message.Snapshot != nil {
			to.hosted[f.message.Snapshot.Index] = f.content
		}
		if err := to.group.Hear(w.now+to.offset, f.message, &out); err != nil {
			w.refusals++
		}
		w.carry(to, &out)
	}
	if f.from != nil && f.from.group != nil {
		var said Output
		f.from.group.Reported(w.now+f.from.offset, to.id, arrives, &said)
		w.carry(f.from, &said)
	}
}

// act performs an act of users or operators, or a fault.
func (w *world) act(n int) {
	m := w.members[w.rand.IntN(len(w.members))]
	var out Output
	switch what := w.rand.IntN(12); {
	case m.group == nil:
		if w.rand.IntN(3) == 0 {
			w.start(m)
		}
		return
	case what == 0 && w.faults:
		w.crash(m)
		return
	case what == 1:
		if m.group.Leading() {
			w.requested[uint64(n)] = w.highest
			_ = m.group.Read(w.now+m.offset, uint64(n), &out)
		}
	case what == 2 && m.group.Behind() > 10:
		w.compact(m)
	case what == 3:
		_ = m.group.Hand(w.now+m.offset, 1+w.rand.Uint64N(uint64(len(w.members))), &out)
	case what == 4 && w.rand.IntN(4) == 0:
		all := []uint64{1, 2, 3, 4, 5}[:len(w.members)]
		without := w.rand.IntN(len(all) + 1)
		voters := slices.DeleteFunc(slices.Clone(all), func(id uint64) bool { return id == uint64(without) })
		var learners []uint64
		if without > 0 && w.rand.IntN(2) == 0 {
			learners = []uint64{uint64(without)}
		}
		_ = m.group.Change(w.now+m.offset, voters, learners, &out)
	default:
		data := fmt.Sprintf("p%d", n)
		w.proposed[data] = true
		err := m.group.Propose(w.now+m.offset, []byte(data), &out)
		if (err == nil) != m.group.Leading() && err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrNotLeader) {
			w.fatalf("propose: %v", err)
		}
	}
	w.carry(m, &out)
}

// compact makes a snapshot, and drops the entries in it.
func (w *world) compact(m *member) {
	mark := m.group.Mark()
	if mark.Index != m.at {
		w.fatalf("member %d has applied %d, and its mark is at %d", m.id, m.at, mark.Index)
	}
	w.snapshots++
	m.hosted[mark.Index] = slices.Clone(m.applied)
	drop := int(m.group.Compact(mark, 0) - 1 - m.journal.Snapshot.Index)
	m.journal.Snapshot, m.journal.Records = mark, m.journal.Records[drop:]
}

// run lets time pass.
func (w *world) run(d Time) {
	for end := w.now + d; w.now < end; {
		w.step(end)
	}
}

// play is a whole run: faults, then none.
func (w *world) play() {
	w.faults = true
	for n := range 300 {
		w.act(n)
		w.run(Time(w.rand.Int64N(int64(20 * time.Millisecond))))
	}
	w.faults = false
	for _, m := range w.members {
		if m.group == nil {
			w.start(m)
		}
	}
	w.run(3 * time.Second)
	w.settle()
}

// settle demands that all commit an entry, once there are no more faults.
func (w *world) settle() {
	w.Helper()
	w.proposed["last"] = true
	for try := 0; ; try++ {
		if try > 100 {
			for _, m := range w.members {
				w.Logf("member %d: term %d, leader %d, %v, applied %d, of %v", m.id, m.group.Term(), m.group.Leader(), m.group.seen.RaftState, m.at, members(m.group.conf))
			}
			w.fatalf("no member leads, though nothing is wrong any more")
		}
		w.run(100 * time.Millisecond)
		i := slices.IndexFunc(w.members, func(m *member) bool { return m.group.Leading() })
		if i < 0 {
			continue
		}
		leader := w.members[i]
		var out Output
		conf := members(leader.group.conf)
		if len(conf.Voters) < len(w.members) || len(conf.Outgoing) > 0 {
			all := []uint64{1, 2, 3, 4, 5}[:len(w.members)]
			_ = leader.group.Change(w.now+leader.offset, all, nil, &out)
		} else {
			_ = leader.group.Propose(w.now+leader.offset, []byte("last"), &out)
		}
		w.carry(leader, &out)
		w.run(time.Second)
		if len(leader.applied) > 0 && leader.applied[len(leader.applied)-1] == "last" {
			break
		}
	}
	for _, m := range w.members {
		if !slices.Equal(m.applied, w.members[0].applied) {
			for _, o := range w.members {
				first, _ := o.group.log.FirstIndex()
				w.Logf("member %d: term %d, %v, applied %d, first %d, %v, changing %d, held %d, conf %v", o.id, o.group.Term(), o.group.seen.RaftState, o.at, first, o.group.node.Status().Progress, o.group.changing, len(o.group.held), members(o.group.conf))
			}
			w.fatalf("member %d has applied %d entries, and member 1 %d", m.id, len(m.applied), len(w.members[0].applied))
		}
	}
}

// TestMembersAgree checks that members agree on the committed entries, on the leader of a term, and on what a read may
// show, regardless of lost, late, duplicated, crashed or cut off ones, and that they make progress after the faults.
func TestMembersAgree(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	var crashes, snapshots, restores, confirmed, committed, refusals int
	for seed := range seeds {
		w := newWorld(t, seed, []int{1, 2, 3, 3, 5}[seed%5])
		w.play()
		crashes, snapshots, restores, confirmed = crashes+w.crashes, snapshots+w.snapshots, restores+w.restores, confirmed+w.confirmed
		committed, refusals = committed+len(w.committed), refusals+w.refusals
	}
	t.Logf("%d entries, %d crashes, %d snapshots, %d restored from others, %d reads, %d messages refused", committed, crashes, snapshots, restores, confirmed, refusals)
	if crashes == 0 || snapshots == 0 || restores == 0 || confirmed == 0 || committed == 0 {
		t.Error("something did not happen at all")
	}
}

// TestSameSeedSameRun checks that all randomness comes from the seed.
func TestSameSeedSameRun(t *testing.T) {
	hash := func() uint64 {
		h := fnv.New64a()
		w := newWorld(t, 42, 3)
		w.trace = h
		w.play()
		return h.Sum64()
	}
	if a, b := hash(), hash(); a != b {
		t.Errorf("the same seed gives %x and %x", a, b)
	}
}

// TestForgedMessagesAreRefused checks that a message that no member has sent changes nothing, and stops no member.
func TestForgedMessagesAreRefused(t *testing.T) {
	w := newWorld(t, 1, 3)
	w.run(time.Second)
	for n := range 20 {
		w.act(1000 + n)
		w.run(20 * time.Millisecond)
	}
	g := w.members[0].group
	good := Message{Kind: 8, From: 2, To: 1, Term: g.Term()}
	for what, change := range map[string]func(*Message){
		"another's":         func(m *Message) { m.To = 2 },
		"from itself":       func(m *Message) { m.From = 1 },
		"from no member":    func(m *Message) { m.From = 0 },
		"of no term":        func(m *Message) { m.Term = 0 },
		"of the last term":  func(m *Message) { m.Term = math.MaxUint64 },
		"half a read":       func(m *Message) { m.Context = make([]byte, 7) },
		"no read's answer":  func(m *Message) { m.Kind, m.Context = 9, make([]byte, 3) },
		"local":             func(m *Message) { m.Kind = 0 },
		"of the journal":    func(m *Message) { m.Kind = 19 },
		"a proposal":        func(m *Message) { m.Kind = 2 },
		"committed too far": func(m *Message) { m.Commit = 1 << 40 },
		"no snapshot":       func(m *Message) { m.Kind = 7 },
		"a gap":             func(m *Message) { m.Kind, m.Index, m.Entries = 3, 5, []Entry{{Index: 7, Term: 1}} },
		"of a later term":   func(m *Message) { m.Kind, m.Index, m.Entries = 3, 5, []Entry{{Index: 6, Term: m.Term + 1}} },
	} {
		m := good
		change(&m)
		var out Output
		if err := g.Hear(w.now+w.members[0].offset, &m, &out); err == nil || len(out.Messages)+len(out.Writes) > 0 {
			t.Errorf("%s: %v, %+v", what, err, out)
		}
	}
}

// TestDamagedJournalIsRefused checks that a damaged journal is refused when a member starts.
func TestDamagedJournalIsRefused(t *testing.T) {
	state := func(n ...uint64) (b []byte) {
		for _, x := range n {
			b = binary.AppendUvarint(b, x)
		}
		return b
	}
	entry := func(n ...uint64) []byte { return append([]byte{0}, state(n...)...) }
	for what, k := range map[string]Kept{
		"a gap":              {Snapshot: Founding([]uint64{1}), Records: [][]byte{entry(3, 1)}},
		"terms that go back": {Snapshot: Founding([]uint64{1}), Records: [][]byte{entry(2, 3), entry(3, 2)}, State: state(3, 0, 1)},
		"half an entry":      {Snapshot: Founding([]uint64{1}), Records: [][]byte{{0, 2}}},
		"no kind":            {Snapshot: Founding([]uint64{1}), Records: [][]byte{{9, 2, 1}}},
		"half a state":       {Snapshot: Founding([]uint64{1}), State: state(1, 0)},
		"more of a state":    {Snapshot: Founding([]uint64{1}), State: state(1, 0, 1, 1)},
		"committed beyond":   {Snapshot: Founding([]uint64{1}), State: state(1, 0, 2)},
		"a lower term":       {Snapshot: Founding([]uint64{1}), Records: [][]byte{entry(2, 3)}, State: state(2, 0, 1)},
	} {
		if _, err := New(Config{Self: 1}, &k, 0); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for what, c := range map[string]Config{"nameless": {}, "hasty": {Self: 1, Election: 2, Heartbeat: 1}, "narrow": {Self: 1, Inflight: 1}} {
		if _, err := New(c, &Kept{Snapshot: Founding([]uint64{1})}, 0); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestMarksComeBack checks that marks are read back, and that any other text is reported, regardless of where it ends
// and of the length that it claims.
func TestMarksComeBack(t *testing.T) {
	for _, want := range []Mark{{}, Founding([]uint64{1, 1 << 63, 3}), {Index: 7, Term: 300, Conf: Conf{
		Voters: []uint64{1}, Learners: []uint64{2, 3}, Outgoing: []uint64{4}, LearnersNext: []uint64{5, 300}, AutoLeave: true,
	}}} {
		b := want.Append([]byte("before"))[6:]
		if got, err := ReadMark(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v is read as %+v: %v", want, got, err)
		}
		var got Mark
		c := wire.From(append(b, "after"...))
		if got.Code(&c); c.Err() != nil || string(c.Bytes()) != "after" || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v is taken as %+v, rest %q: %v", want, got, c.Bytes(), c.Err())
		}
		for n := range b {
			if _, err := ReadMark(b[:n]); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("%d bytes of %d are read: %v", n, len(b), err)
			}
		}
	}
	for what, b := range map[string][]byte{
		"more":          {1, 1, 0, 0, 0, 0, 0, 0},
		"a third truth": {1, 1, 2, 0, 0, 0, 0},
		"more voters":   {1, 1, 0, 5, 1, 0, 0, 0},
		"more learners": {1, 1, 0, 0, 0, 0, 3, 1, 2},
	} {
		if m, err := ReadMark(b); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %+v, %v", what, m, err)
		}
	}
}
