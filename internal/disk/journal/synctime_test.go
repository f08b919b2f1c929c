package journal_test

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
)

// slowDisk takes its time for each sync of data.
type slowDisk struct {
	vfs.FS
	takes []time.Duration // one after the other, the last for all that follow
	syncs int
	fails error
}

type slowFile struct {
	vfs.File
	disk *slowDisk
}

func (d *slowDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.Create(name, category)
	return &slowFile{file, d}, err
}

func (f *slowFile) SyncData() error {
	d := f.disk
	time.Sleep(d.takes[min(d.syncs, len(d.takes)-1)]) //nolint:forbidigo // inside a synctest bubble
	d.syncs++
	return errors.Join(d.fails, f.File.SyncData())
}

// TestSyncTime: one slow sync among many says nothing of the disk, and a slow disk is not asked for long.
func TestSyncTime(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		takes       []time.Duration
		want, total time.Duration
		syncs       int
	}{
		{[]time.Duration{ms}, ms, 7 * ms, 7},
		{[]time.Duration{40 * ms, ms}, ms, 46 * ms, 7},
		{[]time.Duration{20 * ms}, 20 * ms, 60 * ms, 3},
		{[]time.Duration{3 * time.Second}, 3 * time.Second, 3 * time.Second, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			disk := &slowDisk{FS: vfs.NewMem(), takes: test.takes}
			if err := disk.MkdirAll("data", 0o700); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			got, err := journal.SyncTime(disk, "data")
			if err != nil || got != test.want || time.Since(began) != test.total || disk.syncs != test.syncs {
				t.Errorf("%v: %v, %v after %v and %d syncs; want %v after %v and %d", test.takes, got, err, time.Since(began), disk.syncs, test.want, test.total, test.syncs)
			}
			if left, err := disk.List("data"); err != nil || len(left) > 0 {
				t.Errorf("the folder has %v, %v", left, err)
			}
		})
	}
}

func TestSyncTimeFails(t *testing.T) {
	broken := errors.New("broken")
	disk := &slowDisk{FS: vfs.NewMem(), takes: []time.Duration{0}, fails: broken}
	if _, err := journal.SyncTime(disk, ""); !errors.Is(err, broken) {
		t.Errorf("a disk that cannot sync: %v", err)
	}
	if _, err := journal.SyncTime(nil, t.TempDir()+"/nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if took, err := journal.SyncTime(nil, t.TempDir()); err != nil || took <= 0 {
		t.Errorf("a real disk: %v, %v", took, err)
	}
}
