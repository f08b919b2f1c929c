package sim_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/replay"
	"github.com/holdfast-locks/holdfast/sim/simtest"
	"github.com/holdfast-locks/holdfast/sim/timeline"
	"github.com/holdfast-locks/holdfast/storage"
)

// A logger grants nothing. It writes every kind of request to its logs, and records the state of each log after each
// request in a book that survives crashes. Its next life must find the state after some prefix of the requests, which
// includes all answered ones.

// page is the record of one log. Its writes count from what the present life found.
type page struct {
	storage.Kept                   // after all requests
	written      []string          // chunks of the snapshot in progress, if any
	writing      uint64            // its number, or that of the last one
	states       []uint64          // checksums of all states of the log
	answered     int               // of those, the number answered
	pending      []uint64          // the unanswered requests, in order
	safe         uint64            // the snapshot whose Install was answered last
	chunks       map[string]string // by snapshot and number
}

// book has the pages of all members, and the errors in what they found.
type book struct {
	pages map[string]*page // by member and log
	wrong []string

	found, records, snapshots, answers, errors, fetched, gone int
}

func newBook() *book { return &book{pages: map[string]*page{}} }

func (b *book) fault(format string, arguments ...any) {
	b.wrong = append(b.wrong, fmt.Sprintf(format, arguments...))
}

func sumOf(k *storage.Kept) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %q %v %d %q %q", k.First, k.Records, k.State, k.State == nil, k.Snapshot, k.Meta, k.Chunks)
	return h.Sum64()
}

// open compares what a life of a member finds of a log with the possible states.
func (b *book) open(member string, log uint64, found *storage.Kept) *page {
	name := fmt.Sprint(member, " ", log)
	if found == nil {
		found = &storage.Kept{Log: log, First: 1}
	} else {
		b.found++
		b.records += len(found.Records)
		b.snapshots += len(found.Chunks)
	}
	sum := sumOf(found)
	p := &page{Kept: *found, states: []uint64{sum}, safe: found.Snapshot, writing: found.Snapshot, chunks: map[string]string{}}
	for i, chunk := range found.Chunks {
		p.chunks[fmt.Sprint(found.Snapshot, " ", i)] = string(chunk)
	}
	if last := b.pages[name]; last != nil && !slices.Contains(last.states[last.answered:], sum) {
		b.fault("%s has %d records from %d on, snapshot %d, which it was after none of %d requests behind %d that were answered (it was before: %t)",
			name, len(found.Records), found.First, found.Snapshot, len(last.pending), last.answered, slices.Contains(last.states, sum))
	} else if last == nil && sum != sumOf(&storage.Kept{First: 1}) {
		b.fault("%s has what was never written", name)
	}
	b.pages[name] = p
	return p
}

// note records a request in progress, and the state after it.
func (p *page) note(id uint64) {
	p.states, p.pending = append(p.states, sumOf(&p.Kept)), append(p.pending, id)
}

func (p *page) last() uint64 { return p.First - 1 + uint64(len(p.Records)) }

type logger struct {
	simtest.Front
	rand     *rand.Rand
	book     *book
	pages    []*page
	fetch    map[uint64]storage.Fetch
	next     protocol.Time
	id       uint64
	failed   bool
	over     bool
	requests atomic.Int64  // requests
	answers  chan struct{} // if not nil, gets a value for each answer
}

func newLogger(self protocol.ID, name string, seed uint32, shards int, kept []storage.Kept, b *book) *logger {
	m := &logger{Front: simtest.Front{Self: self}, rand: rand.New(rand.NewPCG(uint64(seed), uint64(self))), book: b, fetch: map[uint64]storage.Fetch{}}
	for i := range max(1, shards) {
		log := member.LogOf(holdfast.DefaultSpace) + uint64(i)
		var found *storage.Kept
		if at := slices.IndexFunc(kept, func(k storage.Kept) bool { return k.Log == log }); at >= 0 {
			found = &kept[at]
		}
		m.pages = append(m.pages, b.open(name, log, found))
		m.pages[i].Log = log
	}
	return m
}

func (m *logger) Wake() protocol.Time { return min(m.next, m.Front.Wake()) }

func (m *logger) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if m.over {
		return
	}
	m.Take(now, ev, out)
	if ev.Kind == protocol.Receive && ev.From == protocol.Storage {
		m.hear(ev.Fact)
		if m.answers != nil {
			m.answers <- struct{}{}
		}
	}
	if crash, is := ev.Fact.(func()); is {
		crash()
		m.over, m.next = true, protocol.Never
	}
	m.Due(now)
	if now < m.next {
		return
	}
	sent := len(out.Sends)
	defer func() { m.requests.Add(int64(len(out.Sends) - sent)) }()
	m.next = now + time.Duration(m.rand.Int64N(int64(30*time.Millisecond)))
	for _, p := range m.pages {
		for range m.rand.IntN(4) {
			if len(p.pending) < 6 && !m.failed {
				m.write(p, out)
			}
		}
	}
}

// write makes a request to a log.
func (m *logger) write(p *page, out *protocol.Effects) {
	m.id++
	text := func() []byte { return fmt.Appendf(nil, "%d of %d", m.id, m.rand.Uint32()) }
	switch x := m.rand.IntN(20); {
	case x < 10 || x < 12 && len(p.Records) == 0:
		m.append(p, p.last()+1, text, out)
	case x < 12:
		m.append(p, p.last()-uint64(m.rand.IntN(min(3, len(p.Records)))), text, out)
	case x < 14:
		p.State = text()
		out.Send(protocol.Storage, storage.Append{ID: m.id, Log: p.Log, State: p.State})
		p.note(m.id)
	case x < 16 && p.safe > 0:
		f := storage.Fetch{ID: m.id, Log: p.Log, Snapshot: p.safe}
		m.fetch[m.id] = f
		out.Send(protocol.Storage, f)
	case x < 19 && len(p.written) < 4:
		if len(p.written) == 0 {
			p.writing++
		}
		data := text()
		p.written = append(p.written, string(data))
		out.Send(protocol.Storage, storage.Chunk{ID: m.id, Log: p.Log, Snapshot: p.writing, Number: uint64(len(p.written) - 1), Data: data})
		p.note(m.id)
	case len(p.written) > 0:
		m.install(p, text(), out)
	}
}

func (m *logger) append(p *page, first uint64, text func() []byte, out *protocol.Effects) {
	a := storage.Append{ID: m.id, Log: p.Log, First: first}
	for range 1 + m.rand.IntN(3) {
		a.Records = append(a.Records, text())
	}
	if m.rand.IntN(2) == 0 {
		a.State = text()
		p.State = a.State
	}
	p.Records = slices.Concat(p.Records[:first-p.First], a.Records)
	out.Send(protocol.Storage, a)
	p.note(m.id)
}

func (m *logger) install(p *page, meta []byte, out *protocol.Effects) {
	i := storage.Install{ID: m.id, Log: p.Log, Snapshot: p.writing, Chunks: uint64(len(p.written)), Meta: meta, Anew: m.rand.IntN(8) == 0}
	i.Drop = p.First - 1 + uint64(m.rand.IntN(len(p.Records)+1))
	if i.Anew {
		i.Drop, p.Records = p.last()+uint64(m.rand.IntN(5)), nil
	} else {
		p.Records = p.Records[i.Drop+1-p.First:]
	}
	p.First, p.Snapshot, p.Meta, p.Chunks = i.Drop+1, i.Snapshot, meta, nil
	for n, chunk := range p.written {
		p.Chunks = append(p.Chunks, []byte(chunk))
		p.chunks[fmt.Sprint(i.Snapshot, " ", n)] = chunk
	}
	p.written = nil
	out.Send(protocol.Storage, i)
	p.note(m.id)
}

// hear takes an answer.
func (m *logger) hear(answer any) {
	switch a := answer.(type) {
	case storage.Appended:
		m.answered(a.ID, a.Err, false)
	case storage.Chunked:
		m.answered(a.ID, a.Err, false)
	case storage.Installed:
		m.answered(a.ID, a.Err, true)
	case storage.Fetched:
		m.read(&a)
	}
}

func (m *logger) answered(id uint64, err error, installs bool) {
	at := slices.IndexFunc(m.pages, func(p *page) bool { return slices.Contains(p.pending, id) })
	if at < 0 {
		m.book.fault("request %d is answered, which is not under way", id)
		return
	}
	p := m.pages[at]
	if err != nil {
		m.book.errors++
		m.failed = true
		return
	}
	if p.pending[0] != id || m.failed {
		m.book.fault("request %d is answered before %d, or after an error: %t", id, p.pending[0], m.failed)
	}
	m.book.answers++
	p.answered, p.pending = p.answered+1, p.pending[1:]
	if installs {
		p.safe++
		for !m.isSnapshot(p) {
			p.safe++
		}
	}
}

// isSnapshot reports whether there was a snapshot with that number.
func (m *logger) isSnapshot(p *page) bool {
	_, was := p.chunks[fmt.Sprint(p.safe, " 0")]
	return was
}

func (m *logger) read(a *storage.Fetched) {
	f := m.fetch[a.ID]
	p := m.pages[slices.IndexFunc(m.pages, func(p *page) bool { return p.Log == f.Log })]
	switch want := p.chunks[fmt.Sprint(f.Snapshot, " ", f.Number)]; {
	case errors.Is(a.Err, storage.ErrGone) && f.Snapshot != p.Snapshot:
		m.book.gone++
	case a.Err == nil && string(a.Data) == want:
		m.book.fetched++
	case a.Err != nil && !errors.Is(a.Err, storage.ErrInvalid):
		m.book.errors++
		m.failed = true
	default:
		m.book.fault("%v is answered with %v %q, want %q", f, a, a.Data, want)
	}
}

// logging are the options of a logger: its number of logs.
type logging struct {
	protocol.Common
	book   *book
	shards int
}

func (o *logging) List() option.List {
	return append(o.Common.List(), option.Option{Name: "shards", Value: option.Count[int]{At: &o.shards, Most: 256}, Default: "1"})
}

func (o *logging) Parts() int { return o.shards }

func (o *logging) New(s *protocol.Setup) (protocol.Machine, error) {
	return newLogger(s.Self, s.Member, s.Random, o.shards, s.Logs, o.book), nil
}

func loggers(b *book) sim.Protocol {
	p := sim.Of(protocol.Descriptor{Name: "scribes", Logs: true, Options: func() protocol.Options { return &logging{book: b} }})
	p.Locks, p.Most = false, 3
	return p
}

// The code above, down from the imports, does not know the simulator's journal.

// ofJournals are the faults that concern journals, and orderly ends of members.
func ofJournals() (all sim.Faults) {
	for _, f := range []sim.Fault{sim.Crash, sim.Pause, sim.DiskSlow, sim.DiskFail, sim.DiskFull, sim.DiskTorn, sim.DiskLost, sim.Leave, sim.Shutdown} {
		all = all.With(f)
	}
	return all
}

// TestJournalsRemember checks that logs have everything that was answered, and a prefix of the rest, regardless of the
// faults of members and their disks.
func TestJournalsRemember(t *testing.T) {
	manySeeds(t)
	hits := map[string]int{
		"fault disk-torn": 0, "fault disk-lost": 0, "fault disk-slow": 0, "fault shutdown": 0, "fault leave": 0, "fault pause": 0,
		"journal one sync for several requests": 0, "journal a sync takes long": 0, "journal the disk fails": 0, "journal the disk is full": 0,
		"journal the disk is full at a start": 0, "journal a crash loses requests": 0, "journal a crash leaves requests that were not answered": 0,
		"journal a crash loses an unfinished snapshot": 0, "journal a start with logs": 0,
		"handler space receive storage.Appended": 0, "handler space receive storage.Chunked": 0, "handler space receive storage.Installed": 0, "handler space receive storage.Fetched": 0,
	}
	total := newBook()
	for seed := uint64(1); seed <= 24; seed++ {
		b := newBook()
		c := sim.Config{Protocol: loggers(b), Faults: ofJournals(), Duration: 15 * time.Second, Bias: sim.Bias{AllFaults: true, Often: 2}}
		s, err := sim.RunMany(c, seed, 1, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := s.Worst; w != nil {
			t.Fatalf("seed %d: %v %v\n%s", w.Seed, w.Outcome, w.Violation, w.Settings)
		}
		if len(b.wrong) > 0 {
			t.Fatalf("seed %d: %d times, first %s", seed, len(b.wrong), b.wrong[0])
		}
		for what := range hits {
			hits[what] += exercised(t, s, c, what)
		}
		total.found, total.records, total.snapshots = total.found+b.found, total.records+b.records, total.snapshots+b.snapshots
		total.answers, total.errors, total.fetched, total.gone = total.answers+b.answers, total.errors+b.errors, total.fetched+b.fetched, total.gone+b.gone
	}
	for what, n := range hits {
		if n == 0 {
			t.Errorf("%s was never hit", what)
		}
	}
	t.Logf("%v; %d logs were found, with %d records, %d chunks; %d answers, %d errors, %d chunks fetched, %d gone", hits,
		total.found, total.records, total.snapshots, total.answers, total.errors, total.fetched, total.gone)
	for what, n := range map[string]int{"found": total.found, "records": total.records, "snapshots": total.snapshots, "errors": total.errors, "fetched": total.fetched, "gone": total.gone} {
		if n < 20 {
			t.Errorf("%s: %d show little", what, n)
		}
	}
}

// often makes journals fail in nearly every run.
func often(b *book) sim.Config {
	return sim.Config{Protocol: loggers(b), Faults: ofJournals(), Duration: 10 * time.Second, Bias: sim.Bias{AllFaults: true, Often: 4}}
}

// TestWhatAJournalDoesIsReported checks that the same seed is the same run, and that its script has all acts of
// journals.
func TestWhatAJournalDoesIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays nine runs; run without -short")
	}
	sharded, said := 0, map[string]bool{}
	for seed := uint64(1); seed <= 3; seed++ {
		var drawn, recorded, played bytes.Buffer
		if _, err := sim.Run(often(newBook()), seed, &drawn); err != nil {
			t.Fatal(err)
		}
		script, _, err := sim.Record(often(newBook()), seed, &recorded)
		if err != nil {
			t.Fatal(err)
		}
		if script, _, err = sim.ParseScript(script.String()); err != nil {
			t.Fatal(err)
		}
		result, err := sim.Play(script, sim.Stage{Protocol: loggers(newBook()), Trace: &played})
		if err != nil {
			t.Fatal(err)
		}
		if drawn.String() != recorded.String() || drawn.String() != played.String() {
			t.Errorf("seed %d is another run when it is recorded (same: %t) or played", seed, drawn.String() == recorded.String())
		}
		if len(result.Wrong) > 0 {
			t.Errorf("seed %d: %v", seed, result.Wrong)
		}
		for _, choice := range script.Choices {
			said[choice.What()+" "+choice.Name()] = true
		}
		if script.Options["shards"] != "" {
			sharded++
		}
		script.Options = option.Values{"shards": "257"}
		if _, err := sim.Play(script, sim.Stage{Protocol: loggers(newBook())}); err == nil || !strings.Contains(err.Error(), `option shards cannot be "257": it is too large`) {
			t.Errorf("a script with too many shards: %v", err)
		}
		script.Options = option.Values{"autopilot": "off"}
		if _, err := sim.Play(script, sim.Stage{Protocol: loggers(newBook())}); err == nil || !strings.Contains(err.Error(), `no option "autopilot"`) {
			t.Errorf("a script with an option of another protocol: %v", err)
		}
	}
	for _, what := range []string{"sync takes", "sync slow", "sync fails", "fetch takes", "death lost", "broken ends", "broken back"} {
		if !said[what] {
			t.Errorf("the scripts say nothing of %q", what)
		}
	}
	if sharded == 0 || sharded == 3 {
		t.Errorf("%d of 3 seeds have several logs", sharded)
	}
}

// TestWhoKeepsLogsIsRecorded checks that fresh machines repeat the recorded ones, life by life, given the contents of
// their logs, and that the timeline of the run has the faults of their journals.
func TestWhoKeepsLogsIsRecorded(t *testing.T) {
	texts := map[string]*bytes.Buffer{}
	var events []timeline.Event
	c := often(newBook())
	c.Observe = func(h timeline.Event) { events = append(events, h) }
	c.MemberTrace = func(member string) io.Writer {
		if texts[member] == nil {
			texts[member] = &bytes.Buffer{}
		}
		return texts[member]
	}
	if _, err := sim.Run(c, 1, nil); err != nil {
		t.Fatal(err)
	}
	lives, b := 0, newBook()
	for member, text := range texts {
		again, err := replay.Run(text, replay.Config{Protocols: sim.Nodes(loggers(b))})
		if err != nil || again.Difference != nil {
			t.Fatalf("member %s: %v\n%v", member, err, again.Difference)
		}
		lives += len(again.Lives)
	}
	if b.found == 0 || lives <= len(texts) || len(b.wrong) > 0 {
		t.Errorf("%d logs found in %d lives of %d members; wrong: %q", b.found, lives, len(texts), b.wrong)
	}
	if err := timeline.Check(events); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"the journal of ", "there is no room for its journal"} {
		if !slices.ContainsFunc(events, func(h timeline.Event) bool { return h.Kind == timeline.Fault && strings.Contains(h.Text, text) }) {
			t.Errorf("the story says nothing of %q", text)
		}
	}
}

// TestLoggersOnARealJournal runs the same machine on package run and a folder, with repeated crashes after which
// unsynced data may or may not be there.
func TestLoggersOnARealJournal(t *testing.T) {
	fs, random, b := vfs.NewCrashableMem(), rand.New(rand.NewPCG(7, 8)), newBook()
	before, under := 0, int64(0) // answers of former lives; requests under way when the machine crashed
	for life := range uint32(12) {
		j, err := journal.Open("folder", journal.Options{Identity: []byte("scribe"), FS: fs, MaxRequests: 4})
		if err != nil {
			t.Fatal(err)
		}
		var kept []storage.Kept
		for i := range uint64(2) {
			k, known, err := j.Kept(member.LogOf(holdfast.DefaultSpace) + i)
			if err != nil {
				t.Fatal(err)
			}
			if known {
				kept = append(kept, k)
			}
		}
		m, hands := newLogger(1, "a", life, 2, kept, b), clocktest.NewManual()
		m.answers = make(chan struct{}, 1<<16)
		d, err := run.New(run.Config{Machine: protocol.Stack(still{}, m), Clock: hands, Journal: j})
		if err != nil {
			t.Fatal(err)
		}
		for heard := int64(0); heard < 100; {
			hands.Advance(30 * time.Millisecond)
			d.Step(protocol.Event{Kind: protocol.Tick, Port: 1})
			for ; m.requests.Load() > heard+int64(random.IntN(6)); heard++ {
				<-m.answers
			}
		}
		var after *vfs.MemFS
		d.Step(protocol.Event{Kind: protocol.Call, Port: 1, Fact: func() { // between two steps: the answered requests are known
			under += m.requests.Load() - int64(b.answers+b.fetched+b.gone-before)
			after = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
		}})
		if err := errors.Join(d.Close(), j.Close()); err != nil {
			t.Fatal(err)
		}
		fs, before = after, b.answers+b.fetched+b.gone
	}
	if under == 0 {
		t.Error("no crash came while a request was under way")
	}
	if len(b.wrong) > 0 || b.errors > 0 {
		t.Fatalf("%d errors; wrong: %q", b.errors, b.wrong)
	}
	if b.found < 15 || b.records < 100 || b.snapshots == 0 || b.fetched == 0 {
		t.Errorf("%d logs were found, with %d records and %d chunks; %d chunks fetched: that shows little", b.found, b.records, b.snapshots, b.fetched)
	}
}

// still is a machine that does nothing.
type still struct{}

func (still) Wake() protocol.Time                                   { return protocol.Never }
func (still) Step(protocol.Time, protocol.Event, *protocol.Effects) {}
