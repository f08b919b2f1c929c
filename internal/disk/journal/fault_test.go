package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/storage"
)

// faulty fails one write, with any error that it is given, from then on or only that one.
type faulty struct {
	fails  int64 // which one
	only   func(errorfs.Op) bool
	once   bool
	err    error
	writes atomic.Int64
	failed atomic.Pointer[errorfs.Op] // what was
	again  atomic.Int64               // writes after it
}

func (f *faulty) String() string { return "faults" }

func (f *faulty) MaybeError(op errorfs.Op) error {
	// The kernel gives a file back even with an error, and room is asked for in vain.
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose || op.Kind == errorfs.OpFilePreallocate || f.only != nil && !f.only(op) {
		return nil
	}
	if f.failed.Load() != nil {
		f.again.Add(1)
	}
	if n := f.writes.Add(1); n < f.fails || f.once && n > f.fails {
		return nil
	}
	f.failed.CompareAndSwap(nil, &op)
	return f.err
}

// TestDiskFails at each write: nothing more is taken, nothing more reaches the disk, and what was
// answered is there when it is well again.
func TestDiskFails(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	step := int64(3)
	if testing.Short() {
		step = 9
	}
	opened, ran := 0, 0
	for fails := int64(1); ; fails += step {
		disk := vfs.NewCrashableMem()
		c := newCourse(t, uint64(fails))
		f := &faulty{fails: fails, once: fails%2 == 0, err: syscall.ENOSPC}
		var logged bytes.Buffer
		var logging sync.Mutex
		j, err := journal.Open("f", journal.Options{Identity: mine, FS: wrap(disk, f), Ahead: ahead, Logger: slog.New(slog.NewTextHandler(lockedWriter{&logging, &logged}, nil))})
		if err == nil {
			opened++
			c.run(j, 150, 8, 16_000)
			err = errors.Join(afterFailure(t, j, &logging, &logged), j.Close())
		}
		if f.failed.Load() == nil {
			if err != nil {
				t.Errorf("without a fault: %v", err)
			}
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("write %d, %v of %s, fails: %v", fails, f.failed.Load().Kind, f.failed.Load().Path, err)
		}
		at := moment{answered: c.answered, submitted: c.now().submitted}
		for _, percent := range []int{0, 50, 100} {
			after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(fails), 9))})
			c.compare(after, at, fmt.Sprintf("write %d failed, then the power with %d %%", fails, percent))
		}
		c.compare(disk, at, fmt.Sprintf("write %d failed", fails))
		if t.Failed() {
			return
		}
		ran++
	}
	if opened < 60/int(step) || ran < 60/int(step) {
		t.Errorf("%d faults, %d when it was open; too few to mean anything", ran, opened)
	}
	t.Logf("%d faults, %d when it was open", ran, opened)
}

// lockedWriter lets a test read what is logged.
type lockedWriter struct {
	*sync.Mutex
	*bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.Buffer.Write(p)
}

// afterFailure checks what a journal does that has failed, and returns why it has. It returns nil
// where it has not.
func afterFailure(t *testing.T, j *journal.Journal, logging *sync.Mutex, logged *bytes.Buffer) error {
	t.Helper()
	err := j.Err()
	if err == nil {
		return nil
	}
	<-j.Failed()
	for range 2 {
		refused(t, j, storage.Append{Log: 1, State: []byte("s")}, storage.ErrRefused, err.Error())
		refused(t, j, storage.Fetch{Log: 1, Snapshot: 1}, storage.ErrRefused, "check the disk, then start the member again")
		if _, e := j.Recover(1); !errors.Is(e, storage.ErrRefused) || !errors.Is(e, err) {
			t.Errorf("Recover: %v", e)
		}
	}
	logging.Lock()
	defer logging.Unlock()
	if n := strings.Count(logged.String(), "\n"); n != 1 || !strings.Contains(logged.String(), "takes no more writes") {
		t.Errorf("%d lines are logged: %s", n, logged)
	}
	return err
}

// TestSyncFails once, and would succeed if it were tried again: what was under way is unknown,
// what follows is refused, and no write follows.
func TestSyncFails(t *testing.T) {
	disk := vfs.NewCrashableMem()
	inLog := func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
	var armed atomic.Bool
	f := &faulty{fails: 1, once: true, err: syscall.EIO, only: func(op errorfs.Op) bool {
		return armed.Load() && inLog(op) && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData)
	}}
	j := open(t, wrap(disk, f), "f")
	do(t, j, storage.Append{Log: 1, First: 1, Records: records("1")})
	armed.Store(true)
	refused(t, j, storage.Append{Log: 1, First: 2, Records: records("2")}, storage.ErrUnknown, "input/output error")
	<-j.Failed()
	refused(t, j, storage.Append{Log: 1, First: 2, Records: records("3")}, storage.ErrRefused, `the journal in folder "f" failed and takes no more writes: sync f/journal/records/`)
	if err := j.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close: %v", err)
	}
	if n := f.again.Load(); n > 0 {
		t.Errorf("the log was synced %d times more", n)
	}
	j = open(t, disk.CrashClone(vfs.CrashCloneCfg{}), "f")
	want(t, j, 1, `1-1 1:"1"`)
	closeJournal(t, j)
}

// TestNoDescriptorLeft is no failure of the disk: what was asked for is done when there is one again, whichever file was
// to be opened. When the journal is closed meanwhile, it does not wait.
func TestNoDescriptorLeft(t *testing.T) {
	for _, number := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		t.Run(number.Error(), func(t *testing.T) {
			t.Parallel()
			var exhausted atomic.Bool
			failed := make(chan errorfs.Op, 1)
			opens := errorfs.InjectorFunc(func(op errorfs.Op) error {
				switch op.Kind {
				case errorfs.OpCreate, errorfs.OpOpen, errorfs.OpOpenDir, errorfs.OpReuseForWrite, errorfs.OpList:
					if exhausted.Load() {
						select {
						case failed <- op:
						default:
						}
						return number
					}
				}
				return nil
			})
			disk := vfs.NewCrashableMem()
			j := open(t, wrap(disk, opens), "f")
			big := [][]byte{make([]byte, 1<<20)}
			submit := func(index uint64) chan error {
				answered := make(chan error, 1)
				if err := j.Submit(storage.Append{Log: 1, First: index, Records: big}, func(a any) { answered <- errorOf(a) }); err != nil {
					t.Fatal(err)
				}
				return answered
			}
			index := uint64(1)
			for round := range 3 { // each begins a new log of the database, and writes a table
				exhausted.Store(true)
				for waits := false; !waits; index++ {
					select {
					case err := <-submit(index):
						if err != nil {
							t.Fatal(err)
						}
					case op := <-failed:
						t.Logf("round %d: %v of %s fails at record %d", round, op.Kind, op.Path, index)
						waits = true
					}
				}
				exhausted.Store(false)
				if err := <-submit(index); err != nil {
					t.Fatal(err)
				}
				index++
				select {
				case <-failed: // of another goroutine of the database's
				default:
				}
			}
			if err := j.Err(); err != nil {
				t.Errorf("the journal has failed: %v", err)
			}
			exhausted.Store(true)
			if err := j.Close(); !errors.Is(err, number) {
				t.Errorf("Close without a descriptor: %v", err)
			}
			exhausted.Store(false)
			j = open(t, disk.CrashClone(vfs.CrashCloneCfg{}), "f")
			if l, err := j.Recover(1); err != nil || l.Last < index-1 {
				t.Errorf("the log has %+v, %v; want %d records", l, err, index-1)
			}
			closeJournal(t, j)
		})
	}
}

// slow holds syncs of the database's log up.
type slow struct {
	begun chan struct{} // gets one for each sync
	may   chan struct{} // gives one for each that may go on; closed when all may
}

func (s *slow) String() string { return "slow syncs" }

func (s *slow) MaybeError(op errorfs.Op) error {
	if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
		select {
		case s.begun <- struct{}{}:
			<-s.may
		case <-s.may:
		}
	}
	return nil
}

// TestSlowDisk: what is asked while it syncs goes into the next batch, with one sync for all, up to
// the bound of the queue; one more is refused, and nothing is lost of what was taken.
func TestSlowDisk(t *testing.T) {
	for name, bound := range map[string]journal.Options{
		"requests": {MaxRequests: 40}, "bytes": {MaxBytes: 40 * (256 + 32 + 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			s := &slow{begun: make(chan struct{}), may: make(chan struct{})}
			close(s.may)
			bound.Identity, bound.FS = mine, wrap(vfs.NewMem(), s)
			j, err := journal.Open("f", bound)
			if err != nil {
				t.Fatal(err)
			}
			may := make(chan struct{})
			s.may = may
			var answers []uint64
			all := make(chan struct{})
			request := func(id uint64) error {
				r := storage.Append{ID: id, Log: id % 4, First: (id + 3) / 4, Records: [][]byte{bytes.Repeat([]byte("x"), 1000)}}
				if r.Log == 0 {
					r.First = id / 4
				}
				return j.Submit(r, func(answer any) {
					if err := errorOf(answer); err != nil {
						t.Errorf("%v: %v", r, err)
					}
					if answers = append(answers, id); len(answers) == 40 {
						close(all)
					}
				})
			}
			if err := request(1); err != nil {
				t.Fatal(err)
			}
			<-s.begun
			for id := uint64(2); id <= 40; id++ {
				if err := request(id); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := request(41); !errors.Is(err, storage.ErrRefused) || !strings.Contains(err.Error(), "ask again when one is answered") {
					t.Errorf("one more than the bound: %v", err)
				}
			}
			may <- struct{}{}
			<-s.begun
			may <- struct{}{} // the second sync, and the last
			<-all
			for i, id := range answers {
				if id != uint64(i+1) {
					t.Fatalf("the answers come in the order %d", answers)
				}
			}
			close(may)
			if err := request(41); err != nil {
				t.Errorf("when all are answered: %v", err)
			}
			closeJournal(t, j)
			if len(answers) != 41 {
				t.Errorf("%d answers when it is closed", len(answers))
			}
		})
	}
}

// TestDiskDoesNotRead: damage is distinguished from a disk that does not give what it has.
func TestDiskDoesNotRead(t *testing.T) {
	disk := vfs.NewMem()
	closeJournal(t, open(t, disk, "f"))
	var sick atomic.Bool
	reads := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if sick.Load() && (op.Kind == errorfs.OpFileRead || op.Kind == errorfs.OpFileReadAt) && strings.Contains(op.Path, "records") {
			return syscall.EIO
		}
		return nil
	})
	fs := wrap(disk, reads)
	sick.Store(true)
	_, err := journal.Open("f", journal.Options{Identity: mine, FS: fs, Ahead: ahead})
	if !errors.Is(err, syscall.EIO) || errors.As(err, new(*journal.CorruptError)) {
		t.Errorf("Open: %v", err)
	}
	if findings, err := journal.Check(fs, "f"); !errors.Is(err, syscall.EIO) || len(findings) > 0 {
		t.Errorf("Check: %v, %v", findings, err)
	}
	sick.Store(false)
	closeJournal(t, open(t, fs, "f")) // and nothing was done to it
}

// wrapped is a file system of errorfs in which files that are used again are watched, too.
type wrapped struct{ *errorfs.FS }

func wrap(fs vfs.FS, injector errorfs.Injector) vfs.FS { return wrapped{errorfs.Wrap(fs, injector)} }

// ReuseForWrite makes a file of another.
func (w wrapped) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := w.Rename(from, to); err != nil {
		return nil, err
	}
	return w.OpenReadWrite(to, category)
}
