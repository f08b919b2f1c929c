package host_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/internal/host"
)

// startsNot wants a member that is refused with these words.
func startsNot(t *testing.T, c host.Config, want ...string) {
	t.Helper()
	n, err := host.Start(t.Context(), c)
	if err == nil {
		closeMember(t, n)
		t.Errorf("it starts; want an error with %q", want)
		return
	}
	// What the operating system says of the file of a trace is no advice.
	if explains := c.Trace == "" || !slices.Contains(want, "missing"); explains != errors.As(err, new(*host.StartError)) {
		t.Errorf("%v: that it says what to do is %v", err, !explains)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v\nwant %q in it", err, text)
		}
	}
}

// TestFormerLife: a state folder of a member whose spaces were in memory is not one for spaces on the disk, nor the other
// way round, whether it left in good order or not; and the error says whose it is and what can be done.
func TestFormerLife(t *testing.T) {
	state := t.TempDir()
	inMemory := host.Config{Name: "m1", State: state, Serves: true}
	onDisk := inMemory
	onDisk.Data = filepath.Join(state, "data")
	onDisk.Spaces = []host.Space{{Name: "default", Protocol: "consensus"}}

	closeMember(t, life(t, inMemory))
	startsNot(t, onDisk, "state folder "+state+` is that of member "m1" of cluster `, "which kept its spaces in memory", "go on in memory with --memory", "start afresh")
	closeMember(t, life(t, inMemory))

	onDisk.State = t.TempDir()
	onDisk.Data = filepath.Join(onDisk.State, "data")
	closeMember(t, life(t, onDisk))
	inMemory.State = onDisk.State
	startsNot(t, inMemory, `which keeps space "default" on the disk`, "data folder "+onDisk.Data, "without --memory", "start afresh")
	elsewhere := onDisk
	elsewhere.Data = t.TempDir()
	startsNot(t, elsewhere, "keeps its spaces in data folder "+onDisk.Data, "--data "+onDisk.Data)
	closeMember(t, life(t, onDisk))

	// A space of another name has nothing to do with what is kept.
	inMemory.Spaces = []host.Space{{Name: "default", Protocol: "consensus"}, {Name: "jobs", Protocol: "central"}}
	inMemory.Data = onDisk.Data
	closeMember(t, life(t, inMemory))
}

// TestFoundedAlone: the folder of a member that has founded a cluster alone is not one of several founders', each of which
// would grant alone.
func TestFoundedAlone(t *testing.T) {
	state := t.TempDir()
	alone := host.Config{Name: "m1", State: state, Serves: true}
	closeMember(t, life(t, alone))
	founder := alone
	founder.Listen, founder.Expect = "127.0.0.1:4141", 3
	founder.Join = []string{"127.0.0.1:4141", "127.0.0.1:4142", "127.0.0.1:4143"}
	startsNot(t, founder, "state folder "+state+` is that of member "m1" of cluster `, "which it has founded alone, and it is to be one of 3 founders", "start afresh")
	closeMember(t, life(t, alone))

	// A start that has failed has founded nothing. Both of these fail on the way.
	alone.State = t.TempDir()
	alone.Trace = filepath.Join(alone.State, "missing", "trace")
	startsNot(t, alone, "missing")
	founder.State, founder.Trace = alone.State, alone.Trace
	startsNot(t, founder, "missing")
	if _, err := os.Stat(filepath.Join(alone.State, "founded-alone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the start alone has left stands: %v", err)
	}
}

// TestFormerCell: a data folder that has its own cell, as after a restore of a snapshot, wants no other.
func TestFormerCell(t *testing.T) {
	c := host.Config{Name: "m1", Data: t.TempDir(), Serves: true, Spaces: []host.Space{{Name: "default", Protocol: "consensus"}}}
	closeMember(t, life(t, c))
	c.State = t.TempDir()
	startsNot(t, c, "the folder has the stable cell of its member itself: leave --state "+c.State+" out")
}

// TestSyncTime: the member knows how slow its disk is, and says so where that is much.
func TestSyncTime(t *testing.T) {
	for _, slow := range []bool{false, true} {
		var log bytes.Buffer
		c := host.Config{Name: "m1", Data: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil)), Spaces: []host.Space{{Name: "default", Protocol: "consensus"}}}
		if slow {
			c = host.OnDisk(c, slowDisk{vfs.Default})
		}
		n := life(t, c)
		took := n.SyncTime()
		closeMember(t, n)
		warned := strings.Contains(log.String(), `msg="the disk of the data folder is slow`)
		if slow && took < slowSync || took <= 0 || warned != (took > 10*time.Millisecond) {
			t.Errorf("slow %v: a sync takes %v, and the log says\n%s", slow, took, log.String())
		}
	}
	n := life(t, host.Config{})
	if took := n.SyncTime(); took != 0 {
		t.Errorf("without a folder a sync takes %v", took)
	}
	closeMember(t, n)
}

// slowDisk takes its time for each sync.
type slowDisk struct{ vfs.FS }

type slowFile struct{ vfs.File }

const slowSync = 12 * time.Millisecond

func (d slowDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.Create(name, category)
	return slowFile{file}, err
}

func (f slowFile) SyncData() error {
	time.Sleep(slowSync) //nolint:forbidigo // a disk that is slow takes real time
	return f.File.SyncData()
}

// TestClockThatIsNotSet: a member without a past warns where its clock cannot keep tokens from repeating; one that
// remembers does not.
func TestClockThatIsNotSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its clock begins in the year 2000
		var log bytes.Buffer
		c := host.Config{Name: "m1", State: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
		for again := range 2 {
			log.Reset()
			closeMember(t, life(t, c))
			if warned := strings.Contains(log.String(), "clock=2000-01-01T00:00:00Z before=2026-01-01T00:00:00Z"); warned != (again == 0) {
				t.Errorf("life %d: warned %v:\n%s", again+1, warned, log.String())
			}
		}
	})
}
