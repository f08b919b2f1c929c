package storelock_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// original is a process of Titan's, as its rules are written down, and nothing of ours: one transaction
// at a time, so that it needs no mediator. What Titan calls an exception is an error.
type original struct {
	store   storage.Store
	rid     string
	wait    time.Duration
	expiry  time.Duration
	retries int
	ahead   time.Duration // of its wall clock
}

// What the original distinguishes.
var (
	errTemporary = errors.New("temporary locking exception")
	errExpired   = fmt.Errorf("expired lock: %w", errTemporary)
)

func (o *original) now() int64 { return time.Now().Add(o.ahead).UnixMicro() }

func (o *original) rowOf(key, column string) string {
	var row bytes.Buffer
	_ = binary.Write(&row, binary.BigEndian, int32(len(key))) // a Buffer takes all
	row.WriteString(key + column)
	return row.String()
}

func (o *original) columnOf(timestamp int64) string {
	var column bytes.Buffer
	_ = binary.Write(&column, binary.BigEndian, timestamp) // a Buffer takes all
	column.WriteString(o.rid)
	return column.String()
}

// writeLock stages a claim, and returns its timestamp.
func (o *original) writeLock(ctx context.Context, row string) (int64, error) {
	previous := ""
	for range o.retries {
		start := o.now()
		m := &storage.Mutate{Key: row, Additions: []storage.Entry{{Column: o.columnOf(start), Value: "\x00\x00\x00\x00"}}, Timestamp: start}
		if previous != "" {
			m.Deletions = []string{previous}
		}
		err := o.store.Mutate(ctx, m)
		if err == nil && o.now()-start <= o.wait.Microseconds() {
			return start, nil
		}
		previous = o.columnOf(start)
	}
	_ = o.store.Mutate(ctx, &storage.Mutate{Key: row, Deletions: []string{previous}, Timestamp: o.now()}) // once, even if it fails
	return 0, errTemporary
}

// checkLock returns nil if the claim is the oldest that has not expired.
func (o *original) checkLock(ctx context.Context, row string, timestamp int64) error {
	now := o.now()
	for ; now <= timestamp+o.wait.Microseconds(); now = o.now() {
		time.Sleep(time.Duration(timestamp+o.wait.Microseconds()-now+1) * time.Microsecond) //nolint:forbidigo // inside a synctest bubble
	}
	var entries []storage.Entry
	err := errTemporary
	for range o.retries {
		if entries, err = o.store.Slice(ctx, &storage.Slice{Key: row, Start: "\x00", End: "\xff\xff\xff\xff\xff\xff\xff\xff\xff"}); err == nil {
			break
		}
	}
	if err != nil {
		return errTemporary
	}
	cutoff := now - o.expiry.Microseconds()
	for _, e := range entries {
		ts, rid := int64(binary.BigEndian.Uint64([]byte(e.Column[:8]))), e.Column[8:]
		switch {
		case ts < cutoff && rid == o.rid && ts == timestamp:
			return errExpired
		case ts < cutoff:
		case rid != o.rid:
			return fmt.Errorf("already held by %s: %w", rid, errTemporary)
		case ts == timestamp:
			return nil
		}
	}
	return fmt.Errorf("no lock columns found: %w", errTemporary)
}

// deleteLock releases a claim, even if the store fails meanwhile.
func (o *original) deleteLock(ctx context.Context, row string, timestamp int64) {
	for range o.retries {
		if o.store.Mutate(ctx, &storage.Mutate{Key: row, Deletions: []string{o.columnOf(timestamp)}, Timestamp: o.now()}) == nil {
			return
		}
	}
}

// distant is a store that is some way off: what is written takes up to Quick, or once in a while
// longer than any process waits.
type distant struct {
	storage.Store
	mu    sync.Mutex
	rand  *rand.Rand
	quick time.Duration
	slow  time.Duration
	slept int // writes that were slow
}

func (d *distant) ways() (there, back time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := time.Duration(d.rand.Int64N(int64(d.quick)))
	if d.rand.IntN(20) == 0 {
		total, d.slept = d.slow+total, d.slept+1
	}
	there = time.Duration(d.rand.Int64N(int64(total) + 1))
	return there, total - there
}

func (d *distant) Mutate(ctx context.Context, m *storage.Mutate) error {
	there, back := d.ways()
	time.Sleep(there) //nolint:forbidigo // inside a synctest bubble
	err := d.Store.Mutate(ctx, m)
	time.Sleep(back) //nolint:forbidigo // inside a synctest bubble
	return err
}

func (d *distant) Slice(ctx context.Context, r *storage.Slice) ([]storage.Entry, error) {
	there, back := d.ways()
	time.Sleep(there) //nolint:forbidigo // inside a synctest bubble
	entries, err := d.Store.Slice(ctx, r)
	time.Sleep(back) //nolint:forbidigo // inside a synctest bubble
	return entries, err
}

// process is one of ours: a machine, and what drives it.
type process struct {
	machine   *claim.Machine
	store     storage.Store
	ahead     time.Duration
	began     time.Time
	events    chan protocol.Event
	decisions chan lock.Decision
	group     sync.WaitGroup
	lease     protocol.Lease
}

func newProcess(t *testing.T, store storage.Store, number int, o claim.Options, ahead time.Duration) *process {
	t.Helper()
	o.RID, o.Group = fmt.Sprintf("ours%d", number), "locks"
	m, err := claim.New(claim.Config{Options: o, Self: 1, Random: uint64(number), Store: storage.Features{Name: "memory", Consistent: true}})
	if err != nil {
		t.Fatal(err)
	}
	return &process{
		machine: m, store: store, ahead: ahead, began: time.Now(), lease: protocol.Lease{Member: protocol.Never},
		events: make(chan protocol.Event), decisions: make(chan lock.Decision, 16),
	}
}

// run steps the machine until ctx ends, and returns when nothing is asked any more.
func (p *process) run(ctx context.Context) {
	var out protocol.Effects
	step := func(ev protocol.Event) {
		p.machine.Step(time.Since(p.began), ev, &out)
		for i := range out.Replies {
			if d := out.Replies[i].Decision; d.Kind != 0 && d.Kind != lock.Queued {
				p.decisions <- d
			}
		}
		sends := append([]protocol.Envelope(nil), out.Sends...)
		out.Reset()
		for _, s := range sends {
			p.group.Go(func() { p.ask(ctx, s.Message) })
		}
	}
	step(protocol.Event{Kind: protocol.Start})
	view := &protocol.View{Number: 1, Installed: true, Open: true, Coordinator: 1, Members: []protocol.Member{{ID: 1, Since: 1}}, Lease: &p.lease}
	view.Epoch.Counter = 1
	step(protocol.Event{Kind: protocol.Raised, Fact: view})
	for ctx.Err() == nil {
		wake := time.NewTimer(min(p.machine.Wake()-time.Since(p.began), time.Hour))
		select {
		case <-ctx.Done():
		case ev := <-p.events:
			step(ev)
		case <-wake.C:
			step(protocol.Event{Kind: protocol.Tick})
		}
		wake.Stop()
	}
	p.group.Wait()
}

// ask lets the store do something, and tells the machine.
func (p *process) ask(ctx context.Context, request protocol.Message) {
	ev := protocol.Event{Kind: protocol.Receive, From: protocol.Storage}
	switch r := request.(type) {
	case storage.Clock:
		ev.Fact = storage.Clocked{ID: r.ID, Time: time.Now().Add(p.ahead).UnixMicro()}
	case storage.Mutate:
		ev.Fact = storage.Mutated{ID: r.ID, Err: p.store.Mutate(ctx, &r)}
	case storage.Slice:
		entries, err := p.store.Slice(ctx, &r)
		ev.Fact = storage.Sliced{ID: r.ID, Entries: entries, Err: err}
	}
	select {
	case p.events <- ev:
	case <-ctx.Done():
	}
}

// use locks a name so many times.
func (p *process) use(ctx context.Context, times int, hold func()) {
	session := lock.SessionID{Member: 1, Number: 1}
	call := func(op uint64, fact any) {
		p.events <- protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: op}, Fact: fact}
	}
	for i := range uint64(times) {
		call(2*i+1, &lock.Request{Session: session, ID: i + 1, Name: "x", Arrived: time.Since(p.began), WaitEnd: lock.Never})
		granted := <-p.decisions
		hold()
		call(2*i+2, &protocol.Release{Session: session, Request: i + 1, Name: "x", Token: granted.Token})
		<-p.decisions
	}
}

// TestOriginalsShareRowsWithUs: processes of Titan's and of ours claim one lock, with clocks that differ
// by the skew, over a store that is slow. Both have it often, never two at a time.
func TestOriginalsShareRowsWithUs(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sharesRows(t, seed) })
		})
	}
}

func sharesRows(t *testing.T, seed uint64) {
	options := claim.Options{Wait: 50 * time.Millisecond, Skew: 15 * time.Millisecond, Expiry: 10 * time.Second}
	store := memory.New(memory.Config{Remember: time.Duration(seed%2) * time.Hour})
	random := rand.New(rand.NewPCG(seed, 0))
	// The original takes a write for good that took W; so here all are quicker by the skew, or too slow.
	far := &distant{Store: store, rand: rand.New(rand.NewPCG(seed, 1)), quick: options.Wait - options.Skew, slow: options.Wait}
	ahead := func() time.Duration { return time.Duration(random.Int64N(int64(options.Skew))) }

	var mu sync.Mutex
	holders, had := 0, map[string]int{}
	hold := func(by string, length time.Duration) {
		mu.Lock()
		holders++
		had[by]++
		if holders > 1 {
			t.Errorf("%s has the lock while another has", by)
		}
		mu.Unlock()
		time.Sleep(length) //nolint:forbidigo // inside a synctest bubble
		mu.Lock()
		holders--
		mu.Unlock()
	}
	ctx, stop := context.WithCancel(t.Context())
	var running, using sync.WaitGroup
	for i := range 3 {
		p := newProcess(t, far, i, options, ahead())
		held := time.Duration(1+random.IntN(30)) * time.Millisecond
		running.Go(func() { p.run(ctx) })
		using.Go(func() { p.use(ctx, 10, func() { hold("ours", held) }) })
	}
	for i := range 3 {
		o := &original{store: far, rid: fmt.Sprintf("titan%d", i), wait: options.Wait, expiry: options.Expiry, retries: 3, ahead: ahead()}
		own := rand.New(rand.NewPCG(seed, uint64(10+i)))
		using.Go(func() {
			row := o.rowOf("locks", "x")
			for wins := 0; wins < 10; {
				ts, err := o.writeLock(ctx, row)
				if err == nil {
					if err = o.checkLock(ctx, row, ts); err == nil {
						wins++
						hold("titan", 5*time.Millisecond)
					}
					o.deleteLock(ctx, row, ts)
				}
				time.Sleep(time.Duration(own.IntN(400)) * time.Millisecond) //nolint:forbidigo // inside a synctest bubble
			}
		})
	}
	using.Wait()
	stop()
	running.Wait()
	if had["ours"] != 30 || had["titan"] != 30 {
		t.Errorf("held %v times; want 30 by each kind", had)
	}
	if far.slept == 0 {
		t.Error("no write was ever slow")
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
