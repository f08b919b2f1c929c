package consensus

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rounds is the number of rounds in a test; the second number is for -short.
func rounds(all, short uint64) uint64 {
	if testing.Short() {
		return short
	}
	return all
}

// world is members with their journals, and the network between them, in simulated time.
type world struct {
	*testing.T
	now      time.Duration
	members  []*member
	shards   int
	founders int
	transit  []flight
	cut      map[[2]protocol.ID]bool
	onReply  func(m *member, reply *protocol.Reply)
	noted    func(m *member, note protocol.Note)
	loses    func(f flight) bool // further losses; nil is none
	sent     func(f flight)      // sees each message, before it is lost or not
	every    uint64
	limit    int // of sessions
	pilot    time.Duration
	delay    time.Duration // of each message; 0 means a millisecond
	election time.Duration // 0 means 100 ms
}

// member is a member, and the contents of its folder.
type member struct {
	id              protocol.ID
	machine         *Machine // nil while it is down
	life            uint64
	start           time.Duration
	disk            disk
	journalRequests []flight // of the journal, in order
	refuses         error    // the journal's error
	guest           bool     // it is not a founder
}

func (m *member) name() string { return string(rune('a' + m.id - 1)) }

type flight struct {
	due      time.Duration
	from, to protocol.ID
	fact     any
	life     uint64
}

// disk is a journal: its logs.
type disk struct{ logs map[uint64]*log }

type log struct {
	storage.Kept
	writing uint64
	written [][]byte
}

func (d *disk) of(number uint64) *log {
	if d.logs[number] == nil {
		d.logs[number] = &log{Kept: storage.Kept{Log: number, First: 1}}
	}
	return d.logs[number]
}

// do executes a request, and answers. A request that no journal takes is a mistake of the machine.
func (d *disk) do(t *testing.T, request any) any {
	t.Helper()
	switch q := request.(type) {
	case storage.Append:
		l := d.of(q.Log)
		if q.First > 0 {
			if err := q.Check(); err != nil || q.First < l.First || q.First > l.First+uint64(len(l.Records)) {
				t.Fatalf("%v to a log that has %d records from %d on: %v", q, len(l.Records), l.First, err)
			}
			l.Records = append(slices.Clip(l.Records[:q.First-l.First]), q.Records...)
		}
		if q.State != nil {
			l.State = q.State
		}
		return storage.Appended{ID: q.ID}
	case storage.Chunk:
		l := d.of(q.Log)
		if l.writing != q.Snapshot {
			l.writing, l.written = q.Snapshot, nil
		}
		if q.Snapshot <= l.Snapshot || q.Number != uint64(len(l.written)) {
			t.Fatalf("%v behind %d chunks, and snapshot %d", q, len(l.written), l.Snapshot)
		}
		l.written = append(l.written, q.Data)
		return storage.Chunked{ID: q.ID}
	case storage.Install:
		l := d.of(q.Log)
		if q.Snapshot <= l.Snapshot || q.Chunks != uint64(len(l.written)) {
			t.Fatalf("%v behind %d chunks, and snapshot %d", q, len(l.written), l.Snapshot)
		}
		if q.Anew {
			l.Records = nil
		} else {
			l.Records = l.Records[q.Drop+1-l.First:]
		}
		l.First, l.Snapshot, l.Chunks, l.Meta, l.writing, l.written = q.Drop+1, q.Snapshot, l.written, q.Meta, 0, nil
		if q.State != nil {
			l.State = q.State
		}
		return storage.Installed{ID: q.ID}
	case storage.Fetch:
		l := d.of(q.Log)
		if q.Snapshot != l.Snapshot || q.Number >= uint64(len(l.Chunks)) {
			return storage.Fetched{ID: q.ID, Err: storage.ErrGone}
		}
		return storage.Fetched{ID: q.ID, Data: l.Chunks[q.Number]}
	}
	t.Fatalf("the journal is asked for a %T", request)
	return nil
}

func newWorld(t *testing.T, count, shards int) *world {
	w := &world{T: t, founders: count, shards: shards, cut: map[[2]protocol.ID]bool{}}
	w.onReply, w.noted, w.sent = func(*member, *protocol.Reply) {}, func(*member, protocol.Note) {}, func(flight) {}
	for i := range count {
		w.members = append(w.members, &member{id: protocol.ID(i + 1), disk: disk{logs: map[uint64]*log{}}})
	}
	return w
}

// form makes all members start, and be in a view for long enough to have a leader.
func (w *world) form() {
	w.Helper()
	for _, m := range w.members {
		w.begin(m)
	}
	w.show(1, w.members...)
	w.pass(2 * time.Second)
}

const firstLog = 1 << 16

// begin begins a life of a member, from its folder.
func (w *world) begin(m *member) {
	w.Helper()
	m.life++
	c := Config{
		Self: m.id, Life: m.life, Founders: w.founders, Founder: !m.guest, Log: firstLog,
		Heartbeat: cmp.Or(w.election, 100*time.Millisecond) / 5, Random: m.life, Sessions: w.limit,
		Options: Options{
			Shards: w.shards, Election: cmp.Or(w.election, 100*time.Millisecond), Every: w.every, Keep: w.every, Autopilot: w.pilot,
		},
	}
	for i := range w.shards {
		if l := m.disk.logs[firstLog+uint64(i)]; l != nil {
			c.Logs = append(c.Logs, l.Kept)
		}
	}
	machine, err := New(c)
	if err != nil {
		w.Fatalf("member %s: %v", m.name(), err)
	}
	m.machine, m.start = machine, w.now
	w.step(m, protocol.Event{Kind: protocol.Start})
}

// show raises a view of the running members, or of the named ones.
func (w *world) show(number uint64, of ...*member) {
	view := &protocol.View{Number: number, Epoch: protocol.Epoch{Counter: 1, Candidate: 1}, Coordinator: 1, Installed: true}
	for _, m := range of {
		view.Members = append(view.Members, protocol.Member{ID: m.id, Name: m.name(), Founder: !m.guest, Tenure: protocol.Tenure{Incarnation: m.life}})
	}
	for _, m := range of {
		if m.machine != nil {
			w.step(m, protocol.Event{Kind: protocol.Raised, Fact: view})
		}
	}
}

// crash ends a life: the first done requests to the journal are done.
func (w *world) crash(m *member, done int) {
	for _, f := range m.journalRequests[:done] {
		m.disk.do(w.T, f.fact)
	}
	for _, l := range m.disk.logs {
		l.writing, l.written = 0, nil
	}
	m.machine, m.journalRequests = nil, nil
}

// delay is the latency of a message, and of a sync.
const delay = time.Millisecond

func (w *world) step(m *member, ev protocol.Event) []protocol.Reply {
	w.Helper()
	var out protocol.Effects
	m.machine.Step(w.now-m.start, ev, &out)
	for _, e := range out.Sends {
		if e.To == protocol.Storage {
			due := w.now + delay
			if n := len(m.journalRequests); n > 0 {
				due = max(due, m.journalRequests[n-1].due)
			}
			m.journalRequests = append(m.journalRequests, flight{due: due, fact: e.Message, life: m.life})
			continue
		}
		said := flight{due: w.now + cmp.Or(w.delay, delay), from: m.id, to: e.To, fact: e.Message}
		w.sent(said)
		if !w.cut[[2]protocol.ID{m.id, e.To}] && (w.loses == nil || !w.loses(said)) {
			w.transit = append(w.transit, said)
		}
	}
	for _, note := range out.Notes {
		w.noted(m, note)
	}
	for i := range out.Replies {
		w.onReply(m, &out.Replies[i])
	}
	return out.Replies
}

// call calls a member, and returns the answers of the same step.
func (w *world) call(m *member, op uint64, fact any) []protocol.Reply {
	w.Helper()
	return w.step(m, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: op}, Fact: fact})
}

// next executes the first event before end. It reports whether there was any.
func (w *world) next(end time.Duration) bool {
	w.Helper()
	at, who := end+1, (*member)(nil)
	what := 0
	for _, m := range w.members {
		if m.machine != nil && m.machine.Wake() != protocol.Never && m.start+m.machine.Wake() < at {
			at, who, what = max(w.now, m.start+m.machine.Wake()), m, 1
		}
		if len(m.journalRequests) > 0 && m.journalRequests[0].due < at {
			at, who, what = m.journalRequests[0].due, m, 2
		}
	}
	first := -1
	for i := range w.transit {
		if w.transit[i].due < at {
			at, first, what = w.transit[i].due, i, 3
		}
	}
	if at > end {
		w.now = end
		return false
	}
	w.now = at
	switch what {
	case 1:
		w.step(who, protocol.Event{Kind: protocol.Tick})
	case 2:
		f := who.journalRequests[0]
		who.journalRequests = who.journalRequests[1:]
		answer := who.disk.answer(w.T, f.fact, who.refuses)
		w.step(who, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: answer})
	case 3:
		f := w.transit[first]
		w.transit = slices.Delete(w.transit, first, first+1)
		if to := w.members[f.to-1]; to.machine != nil {
			w.step(to, protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.fact})
		}
	}
	return true
}

// answer executes a request, or refuses it.
func (d *disk) answer(t *testing.T, request any, refuses error) any {
	t.Helper()
	if refuses == nil {
		return d.do(t, request)
	}
	return storage.AnswerTo(request, refuses)
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for end := w.now + d; w.next(end); {
	}
}

// formatReply formats a reply for people: answers of consensus itself here, others by package golden.
func formatReply(m *member, reply *protocol.Reply) string {
	switch r := reply.Result.(type) {
	case nil:
		return golden.Decided(reply, fmt.Sprintf("%s%d", m.name(), reply.Decision.Session.Number))
	case *protocol.Beaten:
		return m.name() + ": beaten" + golden.Reason(r.Err) + formatClient(r.Attached)
	case *protocol.Attached:
		return fmt.Sprintf("%s: %d is used by another client%s", m.name(), r.Session.Number, formatClient(r.Now))
	case *protocol.Adopted:
		if r.Err != nil {
			return m.name() + ": adopted" + golden.Reason(r.Err)
		}
		text := fmt.Sprintf("%s: adopted %d ttl %v", m.name(), r.Enrolled.Session.Number, r.Enrolled.TTL) + formatClient(r.Enrolled.Attached)
		if r.Enrolled.Tied {
			text += ", tied"
		}
		return text
	case *protocol.Shards:
		text := m.name() + ": shards"
		for i, s := range r.List {
			text += fmt.Sprintf(" %d: voters %v, learners %v;", i, s.Voters, s.Learners)
		}
		return text + golden.Reason(r.Err)
	case *protocol.Reformed:
		return m.name() + ": reformed" + golden.Reason(r.Err)
	case *protocol.Holds:
		return fmt.Sprintf("%s: holds %d", m.name(), r.Count)
	}
	return m.name() + ": " + format(reply.Result)
}

// format formats an answer by package golden.
func format(result any) string {
	names := golden.Names{Client: golden.Session, Member: func(id protocol.ID) string { return (&member{id: id}).name() }}
	return names.Result(result)
}

// formatClient formats a session's client, and those before it.
func formatClient(a lock.Attachments) string {
	if a == (lock.Attachments{}) {
		return ""
	}
	text := fmt.Sprintf(" client=%d.%d", a.Client, a.Generation)
	for _, former := range a.Former {
		if former != 0 {
			text += fmt.Sprintf(" behind %d", former)
		}
	}
	return text
}
