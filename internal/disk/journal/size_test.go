package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/storage"
)

// sizeOf is how many bytes are in the files of a folder.
func sizeOf(t testing.TB, folder string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(at string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // it was removed in between
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return size
}

// TestSizeOnDisk stays bounded, however much is written, while records are removed that a
// snapshot stands for.
func TestSizeOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 300 MB; run without -short")
	}
	const total, most, behind, size, bound = 100_000, 100, 2_000, 3000, 2*2_000*3000 + 15*8<<20
	folder := t.TempDir()
	j := open(t, nil, folder)
	data := []byte(strings.Repeat("holdfast ", size/9))
	largest, snapshot, requests := int64(0), uint64(0), newSubmitter(t, j)
	for first := uint64(1); first < total; first += most {
		a := storage.Append{Log: 1, First: first}
		for i := range most {
			record := append([]byte{}, data...)
			for at := range record { // what cannot be compressed
				record[at] = byte(uint64(at)*first>>3 ^ uint64(i*at))
			}
			a.Records = append(a.Records, record)
		}
		requests.do(a)
		if first%behind == 1 && first > behind {
			snapshot++
			requests.do(storage.Chunk{Log: 1, Snapshot: snapshot, Data: data})
			requests.do(storage.Install{Log: 1, Snapshot: snapshot, Chunks: 1, Drop: first - behind})
			requests.wait()
			largest = max(largest, sizeOf(t, folder))
		}
	}
	requests.wait()
	if largest > bound {
		t.Errorf("%d records of %d bytes, of which %d are needed at a time, take %d MiB on the disk", total, size, 2*behind, largest>>20)
	}
	t.Logf("%d MB written, up to %d MB on the disk", total*size/1_000_000, largest/1_000_000)
	closeJournal(t, j)
	j = open(t, nil, folder)
	l, err := j.Recover(1)
	if err != nil || l.Last != total || l.Last-l.First > 2*behind {
		t.Errorf("there are records %d to %d, %v", l.First, l.Last, err)
	}
	closeJournal(t, j)
}

// submitter asks without waiting for each answer.
type submitter struct {
	testing.TB
	j       *journal.Journal
	room    chan struct{}
	waiting sync.WaitGroup
}

func newSubmitter(t testing.TB, j *journal.Journal) *submitter {
	return &submitter{TB: t, j: j, room: make(chan struct{}, 16)}
}

func (a *submitter) do(request any) {
	a.room <- struct{}{}
	a.waiting.Add(1)
	err := a.j.Submit(request, func(answer any) {
		if err := errorOf(answer); err != nil {
			a.Errorf("%v", err)
		}
		<-a.room
		a.waiting.Done()
	})
	if err != nil {
		a.Fatal(err)
	}
}

func (a *submitter) wait() { a.waiting.Wait() }
