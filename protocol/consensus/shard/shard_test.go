package shard

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type Time = protocol.Time

const ttl = 900 * time.Millisecond

// world is members, their journals, the network between them and their clients, in simulated time.
type world struct {
	*testing.T
	seed    uint64
	rand    *rand.Rand
	now     Time
	members []*member
	users   []*user
	transit []flight
	faults  bool
	trace   io.Writer

	holders  map[string]map[*user]bool            // users that believe they hold a name
	tokens   map[string]holdfast.Token            // the highest reported token of a name
	reads    map[uint64]map[string]holdfast.Token // the least that a read must show
	lastRead uint64

	// A member that is cut off, until when: from all, or only what it sends.
	alone      uint64
	aloneUntil Time
	mute       bool

	// A member that is far from the others, and the extra latency of its messages.
	far uint64
	way Time

	every uint64 // entries between snapshots, if not drawn
	part  int    // size of a snapshot's parts; 0 for a drawn one
	opens bool   // load opens sessions, which stay

	loses func(m Message) bool // further losses of the network; nil for none

	grants, crashes, lost, answered, moved, snapshots, taken, cuts int
}

// member is a member with its journal.
type member struct {
	id     uint64
	shard  *Shard
	offset Time
	rate   float64
	life   uint64
	disk   disk
	waits  []flight // requests to the journal, in order
}

// local is a member's clock reading.
func (m *member) local(now Time) Time { return m.offset + Time(float64(now)*m.rate) }

// real is the real time of a clock reading.
func (m *member) real(local Time) Time {
	if local == protocol.Never {
		return local
	}
	return Time(float64(local-m.offset)/m.rate) + 1
}

type flight struct {
	due      Time
	from, to uint64
	message  Message
	request  any
	life     *Shard
}

// disk is a journal with one log.
type disk struct {
	begins   uint64
	records  [][]byte
	state    []byte
	snapshot uint64
	chunks   [][]byte
	meta     []byte
	writing  uint64
	written  [][]byte
}

// do executes a request, and answers.
func (d *disk) do(request any) any {
	switch q := request.(type) {
	case storage.Append:
		if q.First > 0 {
			d.records = append(d.records[:q.First-d.begins-1:q.First-d.begins-1], q.Records...)
		}
		if q.State != nil {
			d.state = q.State
		}
		return storage.Appended{ID: q.ID, Err: q.Check()}
	case storage.Chunk:
		if d.writing != q.Snapshot {
			d.writing, d.written = q.Snapshot, nil
		}
		if q.Snapshot <= d.snapshot || q.Number != uint64(len(d.written)) {
			return storage.Chunked{ID: q.ID, Err: fmt.Errorf("chunk %d of %d, behind %d", q.Number, q.Snapshot, len(d.written))}
		}
		d.written = append(d.written, q.Data)
		return storage.Chunked{ID: q.ID}
	case storage.Install:
		if q.Snapshot <= d.snapshot || q.Chunks != uint64(len(d.written)) || d.writing != q.Snapshot || q.Drop < d.begins || !q.Anew && q.Drop > d.begins+uint64(len(d.records)) {
			return storage.Installed{ID: q.ID, Err: fmt.Errorf("%v where %d of %d are written, and the log begins behind %d", q, len(d.written), d.writing, d.begins)}
		}
		if q.Anew {
			d.records = nil
		} else {
			d.records = d.records[q.Drop-d.begins:]
		}
		d.begins, d.snapshot, d.chunks, d.meta, d.written, d.writing = q.Drop, q.Snapshot, d.written, q.Meta, nil, 0
		if q.State != nil {
			d.state = q.State
		}
		return storage.Installed{ID: q.ID}
	case storage.Fetch:
		if q.Snapshot != d.snapshot || q.Number >= uint64(len(d.chunks)) {
			return storage.Fetched{ID: q.ID, Err: storage.ErrGone}
		}
		return storage.Fetched{ID: q.ID, Data: d.chunks[q.Number]}
	}
	panic(fmt.Sprintf("%T", request))
}

// user is a client: it locks and unlocks names, one at a time, through any member that answers.
type user struct {
	id       lock.SessionID
	at       *member
	rate     float64
	opened   bool
	request  uint64
	name     string
	token    holdfast.Token // it holds
	waits    bool
	gives    bool // the release is in flight
	until    Time // the end of its belief, by its own clock
	beats    map[uint64]Time
	beatAt   Time
	actAt    Time
	ended    bool
	calledAt *Shard
	pending  uint64 // number of the operation in flight at at
	attach   uint64 // the read that must be answered before it hears anything there; 0 once it is
	since    Time
}

func (u *user) local(now Time) Time { return Time(float64(now) * u.rate) }

func newWorld(t *testing.T, seed uint64, count int) *world {
	w := &world{
		T: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 3)), trace: io.Discard,
		holders: map[string]map[*user]bool{}, tokens: map[string]holdfast.Token{}, reads: map[uint64]map[string]holdfast.Token{},
	}
	var voters []uint64
	for i := range count {
		voters = append(voters, uint64(i+1))
	}
	for _, id := range voters {
		m := &member{id: id, rate: 1 + 0.02*w.rand.Float64()}
		mark := group.Founding(voters)
		m.disk = disk{begins: 1, snapshot: 1, meta: mark.Append(nil)}
		w.members = append(w.members, m)
		w.start(m)
	}
	for i := range 4 {
		w.users = append(w.users, w.newUser(uint64(i+1)))
	}
	return w
}

func (w *world) newUser(n uint64) *user {
	return &user{
		id: lock.SessionID{Member: 1 + w.rand.Uint64N(uint64(len(w.members))), Number: n}, at: w.members[w.rand.IntN(len(w.members))],
		rate: 1 + 0.02*w.rand.Float64(), beats: map[uint64]Time{}, until: -1,
	}
}

func (w *world) fatalf(format string, values ...any) {
	w.Helper()
	w.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, values...))
}

// start begins a life of a member.
func (w *world) start(m *member) {
	m.life++
	m.offset = Time(w.rand.Int64N(1e9))
	mark, err := group.ReadMark(m.disk.meta)
	if err != nil {
		w.fatalf("member %d: %v", m.id, err)
	}
	config := Config{
		Group: group.Config{Self: m.id, Election: 100 * time.Millisecond, Heartbeat: 20 * time.Millisecond, Random: w.seed<<20 + m.life},
		Log:   1, Life: m.life, Every: 1 + w.rand.Uint64N(60), Keep: 1 + w.rand.Uint64N(20), Append: 1 + w.rand.IntN(400),
		Replica: replica.Config{Part: 1 + w.rand.IntN(400)},
	}
	if w.every > 0 {
		config.Every, config.Keep = w.every, w.every/5
	}
	if w.part > 0 {
		config.Replica.Part = w.part
	}
	m.shard, err = New(config, &Kept{Group: group.Kept{State: m.disk.state, Snapshot: mark, Records: m.disk.records}, Parts: m.disk.chunks, Begins: m.disk.begins, Number: m.disk.snapshot}, m.local(w.now))
	if err != nil {
		w.fatalf("member %d: %v", m.id, err)
	}
}

// crash ends a life: a prefix of its requests to the journal was done.
func (w *world) crash(m *member) {
	w.crashes++
	for _, f := range m.waits[:w.rand.IntN(len(m.waits)+1)] {
		m.disk.do(f.request)
	}
	m.disk.writing, m.disk.written = 0, nil
	m.shard, m.waits = nil, nil
}

func (w *world) delay() Time {
	d := Time(w.rand.Int64N(int64(3 * time.Millisecond)))
	if w.faults && w.rand.IntN(30) == 0 {
		d += Time(w.rand.Int64N(int64(300 * time.Millisecond)))
	}
	return d
}

// carry performs a member's effects.
func (w *world) carry(m *member, out *Output) {
	for _, q := range out.Journal {
		due := w.now + w.delay()
		if n := len(m.waits); n > 0 {
			due = max(due, m.waits[n-1].due)
		}
		m.waits = append(m.waits, flight{due: due, request: q, life: m.shard})
		if i, installs := q.(storage.Install); installs {
			if w.snapshots++; i.Anew {
				w.taken++
			}
		}
	}
	for _, e := range out.Messages {
		times := 1
		if w.faults {
			times = []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 2}[w.rand.IntN(10)]
		}
		if w.now < w.aloneUntil && (m.id == w.alone || e.To == w.alone && !w.mute) {
			times = 0
		}
		if w.loses != nil && w.loses(e.Message) {
			times = 0
		}
		for range times {
			due := w.now + w.delay()
			if m.id == w.far || e.To == w.far {
				due += w.way
			}
			w.transit = append(w.transit, flight{due: due, from: m.id, to: e.To, message: e.Message})
		}
	}
	for i := range out.Decisions {
		w.decided(m, &out.Decisions[i])
	}
	for _, r := range out.Results {
		for _, u := range w.users {
			if u.at == m && u.pending == r.Number {
				u.pending = 0
				w.resulted(u, r.Err)
			}
		}
	}
	for _, b := range out.Beaten {
		w.beaten(m, &b)
	}
	for _, id := range out.Answered {
		w.answered++
		for _, u := range w.users {
			if u.at == m && u.attach == id {
				w.attached(u)
			}
		}
		for name, token := range w.reads[id] {
			shown := m.shard.Replica().Table().Show(name)
			if last := max(shown.Token, latest(&shown)); last < token && shown.Token < token && m.shard.Replica().Reign()<<32 < uint64(token)>>32<<32 {
				w.fatalf("read %d at member %d shows %v of %q, whose token %v was reported before it was asked", id, m.id, shown, name, token)
			}
		}
	}
	fmt.Fprintln(w.trace, w.now, m.id, len(out.Messages), len(out.Journal), len(out.Decisions), m.shard.Leader())
}

func latest(l *lock.Lock) (token holdfast.Token) {
	for _, g := range l.History {
		token = max(token, g.Token)
	}
	return token
}

// decided hands a decision to a user, if it is at that member.
func (w *world) decided(m *member, d *lock.Decision) {
	for _, u := range w.users {
		if u.id != d.Session || u.at != m || u.request != d.Request || u.attach != 0 {
			continue // a restarted member repeats old decisions
		}
		switch d.Kind {
		case lock.Granted:
			if u.token == 0 && u.waits {
				w.granted(u, d.Token)
			}
		case lock.Refused, lock.Lost, lock.Released:
			if d.Kind == lock.Lost {
				w.lost++
			}
			w.release(u)
			u.waits, u.token, u.gives = false, 0, false
			u.actAt = w.now + Time(w.rand.Int64N(int64(50*time.Millisecond)))
		}
	}
}

func (w *world) granted(u *user, token holdfast.Token) {
	u.waits, u.token = false, token
	if u.local(w.now) < u.until {
		w.hold(u)
	}
	u.actAt = w.now + Time(w.rand.Int64N(int64(100*time.Millisecond)))
}

// attached makes a user hear decisions from now on, and see earlier ones.
func (w *world) attached(u *user) {
	u.attach = 0
	if !u.opened || !u.waits {
		return
	}
	for _, g := range u.at.shard.Replica().Table().Show(u.name).Holders {
		if g.Session == u.id {
			w.granted(u, g.Token)
		}
	}
}

// hold records that a user believes it holds.
func (w *world) hold(u *user) {
	holders := w.holders[u.name]
	if holders == nil {
		holders = map[*user]bool{}
		w.holders[u.name] = holders
	}
	for other := range holders {
		if other != u && other.local(w.now) < other.until {
			w.fatalf("%v and %v both hold %q, until %v and %v", u.id, other.id, u.name, u.until, other.until)
		}
	}
	holders[u] = true
	if last := w.tokens[u.name]; u.token < last {
		w.fatalf("%v holds %q under %v, after %v", u.id, u.name, u.token, last)
	}
	w.tokens[u.name] = u.token
	w.grants++
}

func (w *world) release(u *user) { delete(w.holders[u.name], u) }

// resulted handles the result of an operation without a decision.
func (w *world) resulted(u *user, err error) {
	switch {
	case err == nil && !u.opened:
		u.opened, u.actAt = true, w.now
	case errors.Is(err, holdfast.ErrLost):
		w.over(u)
	case err != nil && u.gives:
		u.gives, u.token, u.waits = false, 0, false
	case err != nil && !errors.Is(err, holdfast.ErrNotHeld):
		w.fatalf("%v: %v", u.id, err)
	}
}

// over handles the end of a session; its user begins another.
func (w *world) over(u *user) {
	w.release(u)
	i := slices.Index(w.users, u)
	u.ended = true
	w.users[i] = w.newUser(u.id.Number + 1000)
}

// beaten handles a confirmed beat, which counts from its sending.
func (w *world) beaten(m *member, b *Beaten) {
	for _, u := range slices.Clone(w.users) {
		sent, known := u.beats[b.ID]
		if !known || u.at != m {
			continue
		}
		if len(b.Gone) > 0 {
			if u.opened && u.local(w.now) < u.until {
				w.fatalf("%v is gone, and may believe until %v", u.id, u.until)
			}
			if u.opened {
				w.over(u)
			}
			continue
		}
		u.until = max(u.until, sent+ttl)
	}
}

// act performs a random act of a user.
func (w *world) act(u *user) {
	m := u.at
	if m.shard == nil || u.pending != 0 && w.now-u.since > 400*time.Millisecond || w.rand.IntN(200) == 0 {
		u.at, u.pending, u.actAt, u.beatAt = w.members[w.rand.IntN(len(w.members))], 0, w.now+10*time.Millisecond, w.now
		clear(u.beats)
		w.moved++
		w.lastRead++
		u.attach = w.lastRead
		u.calledAt = nil
		return
	}
	var out Output
	if u.attach != 0 && u.calledAt != m.shard {
		u.calledAt = m.shard
		m.shard.ReadIndex(m.local(w.now), u.attach, &out)
	}
	submit := func(op replica.Op) {
		op.Session = u.id
		if number, err := m.shard.Submit(m.local(w.now), op, &out); err == nil {
			u.pending, u.since = number, w.now
		}
	}
	if u.token != 0 && u.local(w.now) >= u.until {
		w.release(u) // it believes no more
	}
	if w.now >= u.beatAt && u.opened {
		u.beatAt = w.now + ttl/4
		w.lastRead++
		u.beats[w.lastRead] = u.local(w.now)
		m.shard.Beat(m.local(w.now), Beat{ID: w.lastRead, Sessions: []lock.SessionID{u.id}}, &out)
	}
	switch {
	case w.now < u.actAt || u.pending != 0 || u.attach != 0:
	case !u.opened:
		submit(replica.Op{Kind: replica.Open, TTL: ttl, Secret: replica.Secret{byte(u.id.Number)}})
		u.beatAt = w.now
	case u.token == 0 && !u.waits:
		u.request++
		u.name, u.waits = fmt.Sprint("n", w.rand.IntN(2)), true
		fallthrough
	case u.waits: // again, or for the first time
		submit(replica.Op{Kind: replica.Acquire, Request: u.request, Name: u.name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}, Wait: lock.Never})
		u.actAt = w.now + 500*time.Millisecond
	default:
		w.release(u)
		u.gives = true
		submit(replica.Op{Kind: replica.Release, Request: u.request, Name: u.name, Token: u.token})
		u.actAt = w.now + 300*time.Millisecond
	}
	w.carry(m, &out)
}

// read reads at a member.
func (w *world) read(m *member) {
	w.lastRead++
	want := map[string]holdfast.Token{}
	for name, token := range w.tokens {
		want[name] = token
	}
	w.reads[w.lastRead] = want
	var out Output
	m.shard.ReadIndex(m.local(w.now), w.lastRead, &out)
	w.carry(m, &out)
}

// run lets time pass.
func (w *world) run(d Time) {
	for end := w.now + d; w.now < end; {
		w.step(end)
	}
}

// step executes the next event, if it is before the end.
func (w *world) step(end Time) {
	at, do := end, func() {}
	sooner := func(due Time, what func()) {
		if due = max(due, w.now); due < at {
			at, do = due, what
		}
	}
	for i := range w.transit {
		f := w.transit[i]
		sooner(f.due, func() { w.transit = slices.Delete(w.transit, i, i+1); w.arrive(&f) })
	}
	for _, m := range w.members {
		if m.shard == nil {
			continue
		}
		if len(m.waits) > 0 {
			sooner(m.waits[0].due, func() { w.stored(m) })
		}
		sooner(m.real(m.shard.Wake()), func() {
			var out Output
			m.shard.Tick(m.local(w.now), &out)
			w.carry(m, &out)
		})
	}
	w.now = max(w.now, at)
	do()
}

func (w *world) stored(m *member) {
	f := m.waits[0]
	m.waits = m.waits[1:]
	var out Output
	answer := m.disk.do(f.request)
	m.shard.Stored(m.local(w.now), answer, &out)
	if err := m.shard.Failed(); err != nil {
		w.fatalf("member %d: %v: %v", m.id, f.request, err)
	}
	w.carry(m, &out)
}

func (w *world) arrive(f *flight) {
	to := w.members[f.to-1]
	if to.shard == nil {
		return
	}
	var out Output
	_ = to.shard.Hear(to.local(w.now), f.from, f.message, &out)
	w.carry(to, &out)
}

// play is a whole run: faults, then none.
func (w *world) play() {
	w.faults = true
	for range 400 {
		m := w.members[w.rand.IntN(len(w.members))]
		switch n := w.rand.IntN(40); {
		case m.shard == nil && n < 3: // long enough to need a snapshot of another member
			w.start(m)
		case m.shard == nil:
		case n == 0:
			w.crash(m)
		case n < 4:
			w.read(m)
		case n == 4:
			w.cuts++
			w.alone, w.aloneUntil, w.mute = m.id, w.now+Time(w.rand.Int64N(int64(3*time.Second))), w.rand.IntN(3) == 0
		}
		for _, u := range slices.Clone(w.users) {
			w.act(u)
		}
		w.run(Time(w.rand.Int64N(int64(20 * time.Millisecond))))
	}
	w.faults, w.aloneUntil = false, 0
	for _, m := range w.members {
		if m.shard == nil {
			w.start(m)
		}
	}
	before := w.grants
	for range 300 {
		for _, u := range slices.Clone(w.users) {
			w.act(u)
		}
		w.run(10 * time.Millisecond)
	}
	if w.grants-before < 10 {
		w.fatalf("%d locks were granted in 3 s in which nothing was wrong", w.grants-before)
	}
	w.run(time.Second)
	for _, m := range w.members {
		if m.shard.group.Applied() == w.members[0].shard.group.Applied() && m.shard.Replica().Digest() != w.members[0].shard.Replica().Digest() {
			w.fatalf("members %d and 1 are in different states", m.id)
		}
	}
}

// TestLocksHold checks that regardless of lost, late and duplicated messages and crashes, no client believes in a lock
// that another has, tokens rise, no session ends that its client may believe in, and reads are up to date; in the end
// every client is served and all copies are the same.
func TestLocksHold(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 15
	}
	var sum world
	// Kept: a beat that was answered before its session's beginning was applied, and a member that was ahead of the
	// snapshot that it got.
	all := []uint64{715, 2451}
	for seed := range seeds {
		all = append(all, seed)
	}
	for _, seed := range all {
		w := newWorld(t, seed, []int{1, 3, 3, 5}[seed%4])
		w.play()
		sum.grants, sum.crashes, sum.lost, sum.answered = sum.grants+w.grants, sum.crashes+w.crashes, sum.lost+w.lost, sum.answered+w.answered
		sum.moved, sum.snapshots, sum.taken, sum.cuts = sum.moved+w.moved, sum.snapshots+w.snapshots, sum.taken+w.taken, sum.cuts+w.cuts
	}
	t.Logf("%d grants, %d crashes, %d locks lost, %d reads, %d times to another member, %d snapshots, %d of them taken from others, %d cuts",
		sum.grants, sum.crashes, sum.lost, sum.answered, sum.moved, sum.snapshots, sum.taken, sum.cuts)
	if min(sum.grants, sum.crashes, sum.answered, sum.moved, sum.snapshots, sum.taken, sum.cuts) == 0 {
		t.Error("something did not happen at all")
	}
}

// TestSameSeedSameRun checks that a seed gives the same run, byte for byte.
func TestSameSeedSameRun(t *testing.T) {
	hash := func() uint64 {
		h := fnv.New64a()
		w := newWorld(t, 5, 3)
		w.trace = h
		w.play()
		return h.Sum64()
	}
	if a, b := hash(), hash(); a != b {
		t.Errorf("the same seed gives %x and %x", a, b)
	}
}
