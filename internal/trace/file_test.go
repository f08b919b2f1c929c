package trace

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// openFile opens a trace that must open.
func openFile(t *testing.T, path string, limit int64) *File {
	t.Helper()
	f, err := Open(path, limit, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// put puts a step that must be taken.
func put(t *testing.T, f *File, text string) {
	t.Helper()
	if err := f.Put([]byte(text), true); err != nil {
		t.Fatal(err)
	}
}

// end ends a trace, and returns what is in the file.
func end(t *testing.T, f *File, path string) string {
	t.Helper()
	f.Ended(memberEnded)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return content(t, path)
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLivesFollowOneAnother: each start appends, behind the end of a line that a killed
// process has left unfinished, and only the owner can read the file.
func TestLivesFollowOneAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	f := openFile(t, path, 0)
	put(t, f, magic+"\n")
	put(t, f, "1 0s st")
	f.Ended("")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	f = openFile(t, path, 0)
	put(t, f, magic+"\n")
	want := magic + "\n1 0s st\n" + magic + "\nend \"the member has ended\"\n"
	if got := end(t, f, path); got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	about, err := os.Stat(path)
	if err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", about.Mode(), err)
	}
}

// TestFilesThatAreRefused: nothing is overwritten, and no two members write into one file.
func TestFilesThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	other := filepath.Join(folder, "other.txt")
	if err := os.WriteFile(other, []byte("my thesis\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(folder, "used.txt")
	f := openFile(t, used, 0)
	defer end(t, f, used)
	for path, want := range map[string]string{
		other:                                "it is there, and is no trace",
		used:                                 "another process writes it",
		folder:                               "is a directory",
		filepath.Join(folder, "none", "a"):   "no such file or directory",
		filepath.Join(folder, "none", "a\n"): "no such file or directory",
		os.DevNull:                           "it is no regular file",
	} {
		_, err := Open(path, 0, quiet())
		var wrong *OpenError
		if !errors.As(err, &wrong) || wrong.Path != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if text := content(t, other); text != "my thesis\n" {
		t.Errorf("the other file is %q now", text)
	}
}

// TestSizeOfAFile: at its bound no step is begun any more, a step that was begun is ended,
// and the last line says why.
func TestSizeOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	f := openFile(t, path, int64(len(magic)+1+10))
	put(t, f, magic+"\n")
	put(t, f, "1 0s start\n"[:10])
	err := f.Put([]byte("2"), true)
	if !errors.Is(err, errFull) {
		t.Errorf("one byte past the bound: %v", err)
	}
	if err := f.Put([]byte("\n  wake never\n"), false); err != nil {
		t.Errorf("the end of the step that was begun: %v", err)
	}
	f.Ended(err.Error())
	if err := f.Put([]byte("3"), true); err == nil {
		t.Error("something is taken behind the end")
	}
	want := magic + "\n1 0s start\n  wake never\nend \"the file has reached its size limit of 27 bytes\"\n"
	if got := end(t, f, path); got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
}

// slowDisk takes nothing until it is let go, and then fails if its test says so.
type slowDisk struct {
	mu    sync.Mutex
	text  bytes.Buffer
	begun chan struct{}
	goOn  chan struct{}
	room  int // how many bytes it takes; negative: all
}

func (d *slowDisk) Write(b []byte) (int, error) {
	d.begun <- struct{}{}
	<-d.goOn
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.room >= 0 && d.text.Len()+len(b) > d.room {
		n := d.room - d.text.Len()
		d.text.Write(b[:n])
		return n, errors.New("no space left on device")
	}
	return d.text.Write(b)
}

func (d *slowDisk) Truncate(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text.Truncate(int(n))
	return nil
}

func (d *slowDisk) Close() error { return nil }

// TestSlowDisk: a caller that puts never waits. What is more than memory holds ends the
// trace, which says so.
func TestSlowDisk(t *testing.T) {
	d := &slowDisk{begun: make(chan struct{}, 8), goOn: make(chan struct{}), room: -1}
	f := newFile("a.txt", d, 0, DefaultSize, quiet())
	put(t, f, "first\n")
	<-d.begun // and the disk hangs
	step := bytes.Repeat([]byte("x"), 1<<20)
	steps := 0
	var err error
	for ; err == nil; steps++ {
		err = f.Put(step, true)
	}
	if !errors.Is(err, errSlow) || steps < MostPending>>20 || steps > MostPending>>20+2 {
		t.Errorf("after %d MiB: %v", steps, err)
	}
	f.Ended(err.Error())
	close(d.goOn)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	text := d.text.String()
	if !strings.HasPrefix(text, "first\nxxx") || !strings.HasSuffix(text, "x"+string(endLine(errSlow.Error()))) {
		t.Errorf("the end of what was written is %q", text[max(0, len(text)-200):])
	}
}

// TestFullDisk: what does not fit is taken back to make room for a line that says why; Put
// and Close return that error.
func TestFullDisk(t *testing.T) {
	d := &slowDisk{begun: make(chan struct{}, 8), goOn: make(chan struct{}), room: 120}
	f := newFile("a.txt", d, 0, DefaultSize, quiet())
	put(t, f, "first\n")
	d.goOn <- struct{}{}
	f.Flush()
	put(t, f, strings.Repeat("x", 200)+"\n")
	close(d.goOn)
	f.Flush()
	err := f.Put([]byte("more"), true)
	if err == nil || !strings.Contains(err.Error(), "write the trace a.txt: no space left on device") {
		t.Errorf("Put returned %v", err)
	}
	f.Ended(err.Error())
	if closed := f.Close(); !errors.Is(closed, err) {
		t.Errorf("Close returned %v", closed)
	}
	want := "first\nend \"write the trace a.txt: no space left on device\"\n"
	if got := d.text.String(); got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
}

// TestDirectStore writes at once, and keeps the first error.
func TestDirectStore(t *testing.T) {
	var text bytes.Buffer
	s := To(&text)
	if err := s.Put([]byte("1"), true); err != nil {
		t.Error(err)
	}
	s.Flush()
	s.Ended("")
	s.Ended("why")
	if text.String() != "1end \"why\"\n" {
		t.Errorf("it has %q", text.String())
	}
	reader, writer := io.Pipe()
	if err := reader.CloseWithError(io.ErrClosedPipe); err != nil {
		t.Error(err)
	}
	s = To(writer)
	for range 2 {
		if err := s.Put([]byte("1"), true); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
}
