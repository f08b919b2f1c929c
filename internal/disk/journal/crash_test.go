package journal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/storage"
)

// logs is how many logs the tests with a model write to.
const logs = 3

// course is what was asked of a journal, and what was answered.
type course struct {
	testing.TB
	random *rand.Rand // of the requests

	mu       sync.Mutex
	ids      uint64
	models   [logs][]*model // after each request, the first before any
	answered [logs]int
	wrong    bool // an answer was an error
}

func newCourse(t testing.TB, seed uint64) *course {
	c := &course{TB: t, random: rand.New(rand.NewPCG(seed, 1))}
	for log := range c.models {
		c.models[log] = []*model{{}}
	}
	return c
}

// run asks for n requests, so many at a time, and returns when all are answered.
func (c *course) run(j *journal.Journal, n, atATime, size int) {
	room := make(chan struct{}, atATime)
	for range n {
		room <- struct{}{}
		c.mu.Lock()
		log := c.random.Uint64N(logs)
		m := c.models[log][len(c.models[log])-1]
		c.ids++
		request := m.next(c.random, log, c.ids, size)
		c.models[log] = append(c.models[log], m.after(request))
		c.mu.Unlock()
		err := j.Submit(request, func(answer any) {
			c.answer(log, answer)
			<-room
		})
		if err != nil {
			c.mu.Lock()
			c.wrong = true
			c.mu.Unlock()
			<-room
		}
	}
	for range atATime {
		room <- struct{}{}
	}
}

func (c *course) answer(log uint64, answer any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch err := errorOf(answer); {
	case err != nil:
		c.wrong = true
	case c.wrong:
		c.Errorf("%v comes after an error", answer)
	default:
		c.answered[log]++
	}
}

// moment is how far a course was.
type moment struct {
	submitted, answered [logs]int
}

func (c *course) now() moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := moment{answered: c.answered}
	for log := range c.models {
		at.submitted[log] = len(c.models[log]) - 1
	}
	return at
}

// compare opens what a crash at a moment has left: each log must have what some first ones of its
// requests have made, all that were answered among them. It returns how many.
func (c *course) compare(disk vfs.FS, at moment, what string) (done [logs]int) {
	j, err := journal.Open("f", journal.Options{Identity: mine, FS: disk, Ahead: ahead})
	if err != nil {
		c.Errorf("%s: open: %v", what, err)
		return done
	}
	defer func() {
		if err := j.Close(); err != nil {
			c.Errorf("%s: close: %v", what, err)
		}
	}()
	for log := range uint64(logs) {
		has, err := dump(c.TB, j, log)
		if err != nil {
			c.Errorf("%s: %v", what, err)
			continue
		}
		c.mu.Lock()
		n := at.submitted[log]
		for ; n >= at.answered[log] && c.models[log][n].String() != has; n-- {
		}
		if done[log] = n; n < at.answered[log] {
			c.Errorf("%s: log %d has\n%s\nof %d requests %d were answered, which make\n%v", what, log, has, at.submitted[log], at.answered[log], c.models[log][at.answered[log]])
		}
		c.mu.Unlock()
	}
	return done
}

// resume goes on with what a crash has left.
func (c *course) resume(done [logs]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong, c.answered = false, [logs]int{}
	for log, n := range done {
		c.models[log] = []*model{c.models[log][n].crashed()}
	}
}

// cutter takes copies of a disk as power cuts would leave it, before some of the writes.
type cutter struct {
	*course
	disk   *vfs.MemFS
	random *rand.Rand
	every  int // one of so many writes

	mu     sync.Mutex
	writes int
	looks  int
	kept   *vfs.MemFS // a copy to go on with
	of     moment
}

func (k *cutter) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writes++; k.random.IntN(k.every) != 0 {
		return nil
	}
	// First what was answered, then the disk: what comes in between may be on it as well.
	at := k.now()
	copied := k.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: k.random.IntN(5) * 25, RNG: k.random})
	at.submitted = k.now().submitted
	k.looks++
	if k.random.IntN(k.looks) == 0 {
		k.kept, k.of = copied.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: k.random}), at
	}
	k.compare(copied, at, fmt.Sprintf("power cut before write %d (%v %s)", k.writes, op.Kind, op.Path))
	return nil
}

func (k *cutter) String() string { return "power cuts" }

// TestPowerCuts before each write, and before some of very many: what was answered is there,
// what was not is there whole or not at all, and what was replaced or removed is not. And
// the same again, from what a cut has left.
func TestPowerCuts(t *testing.T) {
	seeds := uint64(9)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			// A log that ends in a torn piece of n bytes costs time in proportion to n squared: the database looks which bit of it
			// may have flipped.
			size, every, requests := 8_000, 20, 250
			if seed%3 == 0 {
				size, every, requests = 50, 1, 25
			}
			c := newCourse(t, seed)
			disk, looks, writes := vfs.NewCrashableMem(), 0, 0
			for life := range 3 {
				k := &cutter{course: c, disk: disk, every: every, random: rand.New(rand.NewPCG(seed, 2+uint64(life)))}
				j, err := journal.Open("f", journal.Options{Identity: mine, FS: wrap(disk, k), Ahead: ahead})
				if err != nil {
					t.Fatal(err)
				}
				c.run(j, requests, 1+int(seed), size)
				closeJournal(t, j)
				if looks, writes = looks+k.looks, writes+k.writes; t.Failed() || c.wrong {
					t.Fatalf("in life %d of %d; an answer was an error: %v", life, writes, c.wrong)
				}
				c.compare(disk, c.now(), "after Close")
				disk = k.kept.CrashClone(vfs.CrashCloneCfg{})
				c.resume(c.compare(k.kept, k.of, "the cut that is gone on with"))
			}
			t.Logf("%d cuts before %d writes", looks, writes)
		})
	}
}

// TestPowerCutsOfUnfinishedSnapshots: chunks are not synced, and what says how far the journal has
// come does not count on them.
func TestPowerCutsOfUnfinishedSnapshots(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var opened, raised atomic.Bool
	j := open(t, wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if opened.Load() && op.Kind == errorfs.OpRename && strings.Contains(op.Path, "floor") {
			raised.Store(true)
		}
		return nil
	})), "f")
	opened.Store(true)
	do(t, j, storage.Append{Log: 1, First: 1, Records: records("1")})
	const most = 2000
	n, left := uint64(0), 10
	for ; left > 0 && n < most; n++ {
		do(t, j, storage.Chunk{Log: 1, Snapshot: 1, Number: n, Data: make([]byte, 50_000)})
		if n%8 != 0 && !raised.Load() {
			continue
		}
		after := open(t, disk.CrashClone(vfs.CrashCloneCfg{}), "f")
		want(t, after, 1, `1-1 1:"1"`)
		refused(t, after, storage.Install{Log: 1, Snapshot: 1, Chunks: n + 1}, storage.ErrInvalid, "and 0 were written")
		closeJournal(t, after)
		if raised.Load() {
			left--
		}
	}
	if n == most {
		t.Errorf("the floor has not been raised while %d chunks were written", n)
	}
	do(t, j, storage.Install{Log: 1, Snapshot: 1, Chunks: n})
	after := open(t, disk.CrashClone(vfs.CrashCloneCfg{}), "f")
	if l, err := after.Recover(1); err != nil || l.Chunks != n {
		t.Errorf("after the Install the log has %+v, %v", l, err)
	}
	closeJournal(t, after)
	closeJournal(t, j)
}
