package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestTornRecords: with any part of a write on the disk after a crash, the row is as it was before, or as the write
// has it.
func TestTornRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var file []byte
	var now record
	for i := range 300 {
		content := bytes.Repeat([]byte{byte(i)}, random.IntN(2000))
		encoded, at := now.next(content)
		grown := append(bytes.Clone(file), make([]byte, max(0, at+len(encoded)-len(file)))...)
		for range 20 {
			torn := bytes.Clone(grown)
			from, to := random.IntN(len(encoded)+1), random.IntN(len(encoded)+1)
			copy(torn[at+min(from, to):], encoded[min(from, to):max(from, to)])
			got := parseRecord(torn)
			whole := bytes.Equal(torn[at:at+len(encoded)], encoded)
			if whole && got.number != now.number+1 || !whole && (got.number != now.number || !bytes.Equal(got.content, now.content)) {
				t.Fatalf("write %d, of which bytes %d to %d of %d are there: record %d", i, min(from, to), max(from, to), len(encoded), got.number)
			}
		}
		copy(grown[at:], encoded)
		file = grown
		if now = parseRecord(file); now.number != uint64(i+1) || !bytes.Equal(now.content, content) {
			t.Fatalf("write %d: record %d", i, now.number)
		}
	}
	if len(file) > 16*1024 {
		t.Errorf("the file has grown to %d bytes", len(file))
	}
}

// TestDamage is reported with the folder, and nothing is written over it.
func TestDamage(t *testing.T) {
	store := newStore(t.TempDir(), Config{Now: time.Now})
	defer store.Close()
	m := storage.Mutate{Key: "k", Additions: []storage.Entry{{Column: "c", Value: "v"}}, Timestamp: 1}
	if err := store.Mutate(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	f, err := store.openRow(t.Context(), "k", unix.LOCK_EX, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write([]byte{200}, true); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Mutate(t.Context(), &m); err == nil {
		t.Error("a damaged row is written")
	}
	if entries, err := store.Slice(t.Context(), &storage.Slice{Key: "k"}); err == nil {
		t.Errorf("a damaged row has %v", entries)
	}
}

// TestTidyAlive keeps the latest FIFOs of ended processes, and all of living ones.
func TestTidyAlive(t *testing.T) {
	store := newStore(t.TempDir(), Config{Now: time.Now})
	defer store.Close()
	if err := store.Attend(t.Context(), "lives"); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(store.path, aliveFolder)
	old := time.Now().Add(-2 * time.Hour)
	for i := range 5 {
		path := store.alivePath(fmt.Sprint(i))
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(store.alivePath("lives"), old.Add(-time.Hour), old.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := tidyAlive(folder, 2); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"0": false, "1": false, "2": false, "3": true, "4": true, "lives": true} {
		if _, err := os.Stat(store.alivePath(name)); (err == nil) != there {
			t.Errorf("the FIFO of %q: %v, want that it is there: %v", name, err, there)
		}
	}
}

// TestPolling: where the system gives no notices, watched rows are looked at.
func TestPolling(t *testing.T) {
	store := newStore(t.TempDir(), Config{Now: time.Now})
	defer store.Close()
	store.started = true // and there is no watcher
	changed := make(chan struct{}, 1)
	if err := store.Watch(t.Context(), "k", func() { changed <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Swap(t.Context(), &storage.Swap{Key: "k", Column: "c", Absent: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("no change is reported")
	}
}

// TestExplain: an error names the folder, its owner if that is another user, and the fix.
func TestExplain(t *testing.T) {
	path := t.TempDir()
	err := explain(path, "open", &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES})
	if want := fmt.Sprintf("open folder %q: permission denied; use a folder that this user may write, or run as its owner", path); !strings.HasPrefix(err.Error(), want) || !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("%v; want %s", err, want)
	}
	if owner := ownedBy("/"); os.Geteuid() != 0 && owner != "/ belongs to user root; " || os.Geteuid() == 0 && owner != "" {
		t.Errorf("the owner of / is %q", owner)
	}
	if os.Geteuid() != 0 {
		return
	}
	const stranger = 54321
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if owner := ownedBy(filepath.Join(path, "not", "there")); owner != path+" belongs to user 54321; " {
		t.Errorf("the owner is %q", owner)
	}
}
