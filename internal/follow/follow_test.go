package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// harness is a file that is followed, on a clock that the test moves.
type harness struct {
	*testing.T
	path string
	now  time.Time
	said []string
	*File[string]
}

// parse takes every text that does not begin with bad.
func parse(data []byte) (string, error) {
	if strings.HasPrefix(string(data), "bad") {
		return "", errors.New("it begins with bad")
	}
	return string(data), nil
}

func open(t *testing.T, text string, change func(*Options[string])) *harness {
	t.Helper()
	h := &harness{T: t, path: filepath.Join(t.TempDir(), "f"), now: time.Now()}
	h.write(text)
	o := Options[string]{
		What: "the text", Path: h.path, Most: 10, Parse: parse, Now: func() time.Time { return h.now },
		Good: func(now, before string, mended bool) { h.said = append(h.said, fmt.Sprint(now, before, mended)) },
		Bad:  func(fault error) { h.said = append(h.said, fault.Error()) },
	}
	if change != nil {
		change(&o)
	}
	var err error
	if h.File, err = Open(o); err != nil {
		t.Fatal(err)
	}
	return h
}

// write replaces the contents in place, and gives the file a time. The inode stays.
func (h *harness) write(text string) {
	h.Helper()
	if err := os.WriteFile(h.path, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
	h.touch(h.now)
}

func (h *harness) touch(at time.Time) {
	h.Helper()
	if err := os.Chtimes(h.path, at, at); err != nil {
		h.Fatal(err)
	}
}

// later lets a second pass, and looks.
func (h *harness) later() string {
	h.now = h.now.Add(Every)
	h.Look()
	return h.Value()
}

func (h *harness) wants(value, fault string, said ...string) {
	h.Helper()
	got := h.Fault()
	switch {
	case h.Value() != value:
		h.Errorf("the value is %q, want %q", h.Value(), value)
	case fault == "" && got != nil, fault != "" && (got == nil || got.Error() != fmt.Sprintf("read the text in %q: %s", h.path, fault)):
		h.Errorf("the fault is %v, want %q", got, fault)
	case len(h.said) != len(said):
		h.Errorf("it said %q, want %q", h.said, said)
	}
	for i := range said {
		if i < len(h.said) && !strings.Contains(h.said[i], said[i]) {
			h.Errorf("it said %q, want %q", h.said[i], said[i])
		}
	}
	h.said = nil
}

// TestSameStampOfAYoungFile: a file that changes twice within a tick has the same size, time and inode, and is read
// again nevertheless.
func TestSameStampOfAYoungFile(t *testing.T) {
	h := open(t, "one", nil)
	written := h.now
	before := Stat(h.path, h.now)
	h.write("two")
	h.touch(written)
	if after := Stat(h.path, h.now); !after.info.ModTime().Equal(before.info.ModTime()) || after.Fits(after) {
		t.Errorf("the times are %v and %v, and a young stamp fits: %v", before.info.ModTime(), after.info.ModTime(), after.Fits(after))
	}
	if got := h.later(); got != "two" {
		t.Errorf("a second change within a tick is missed: %q", got)
	}
	for range 3 {
		h.later() // the file grows old
	}
	h.said = nil
	h.write("six")
	h.touch(written)
	h.later()
	h.wants("two", "") // which shows that an old file with the same stamp is not read
}

// TestStamps: each part of a stamp counts.
func TestStamps(t *testing.T) {
	h := open(t, "one", nil)
	h.touch(h.now.Add(-time.Hour))
	before := Stat(h.path, h.now)
	if !before.Fits(Stat(h.path, h.now.Add(time.Hour))) {
		t.Error("an old file that does not change has another stamp")
	}
	for what, change := range map[string]func() error{
		"time": func() error { return os.Chtimes(h.path, h.now, h.now.Add(-time.Minute)) },
		"mode": func() error { return os.Chmod(h.path, 0o640) },
		"size": func() error {
			return errors.Join(os.Truncate(h.path, 1), os.Chtimes(h.path, h.now, h.now.Add(-time.Minute)))
		},
		"inode": func() error {
			data, err := os.ReadFile(h.path)
			other := h.path + ".new"
			return errors.Join(err, os.WriteFile(other, data, 0o640), os.Chmod(other, 0o640),
				os.Chtimes(other, h.now, h.now.Add(-time.Minute)), os.Rename(other, h.path))
		},
		"absent": func() error { return os.Rename(h.path, h.path+".old") },
	} {
		h.write("one")
		if err := errors.Join(os.Chmod(h.path, 0o600), os.Chtimes(h.path, h.now, h.now.Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
		before := Stat(h.path, h.now)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if before.Fits(Stat(h.path, h.now)) {
			t.Errorf("another %s is not noticed", what)
		}
	}
	if err := os.Remove(h.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if gone := Stat(h.path, h.now); !gone.Fits(gone) || gone.Fits(before) || (Stamp{}).Fits(Stamp{}) || gone.Info() != nil {
		t.Error("the stamps of missing files are wrong")
	}
}

// TestFaults: the previous value stays in use, and each fault is reported once.
func TestFaults(t *testing.T) {
	h := open(t, "one", nil)
	h.wants("one", "")
	h.write("bad")
	h.Look()
	h.wants("one", "") // before its time
	h.later()
	h.later()
	h.wants("one", "it begins with bad", "it begins with bad")
	h.write("bad again")
	h.later()
	h.wants("one", "it begins with bad")
	h.write("much too long")
	h.later()
	h.wants("one", "it has more than 10 bytes", "more than 10 bytes")
	if err := os.Remove(h.path); err != nil {
		t.Fatal(err)
	}
	h.later()
	h.later()
	h.wants("one", "no such file or directory", "no such file")
	h.write("two")
	h.Check() // at once
	h.wants("two", "", "twoonetrue")
	h.write("three")
	if err := h.Reread(); err != nil {
		t.Error(err)
	}
	h.wants("three", "", "threetwofalse")
	h.now = h.now.Add(-time.Hour) // the clock was set back
	h.write("four")
	h.Look()
	h.wants("four", "", "fourthreefalse")
}

// TestPipesAreRefused: a look at a pipe without a writer returns.
func TestPipesAreRefused(t *testing.T) {
	if _, _, err := Read(os.DevNull, 10, Regular, time.Now()); err == nil || err.Error() != "it is not a regular file" {
		t.Errorf("a device: %v", err)
	}
	if data, _, err := Read(os.DevNull, 10, nil, time.Now()); err != nil || len(data) > 0 {
		t.Errorf("where everything is accepted: %q, %v", data, err)
	}
	if _, _, err := Read(t.TempDir(), 10, nil, time.Now()); err == nil || strings.Contains(err.Error(), "/") {
		t.Errorf("a folder: %v", err)
	}
}

// TestSameContents: what is read again is parsed only if it has changed.
func TestSameContents(t *testing.T) {
	parsed := 0
	h := open(t, "one", func(o *Options[string]) {
		o.Parse = func(data []byte) (string, error) {
			parsed++
			return parse(data)
		}
	})
	h.later()
	if err := h.Reread(); err != nil || parsed != 1 {
		t.Errorf("%v; it was parsed %d times, want once", err, parsed)
	}
	h.said = nil
	h.write("bad")
	h.later()
	h.wants("one", "it begins with bad", "it begins with bad")
	h.write("one")
	h.later()
	h.wants("one", "", "oneonetrue")
	if parsed != 2 {
		t.Errorf("it was parsed %d times, want twice", parsed)
	}
}

// TestOptional: a missing file is an empty one.
func TestOptional(t *testing.T) {
	h := open(t, "one", func(o *Options[string]) { o.Optional = true })
	if err := os.Remove(h.path); err != nil {
		t.Fatal(err)
	}
	h.later()
	h.later()
	h.wants("", "", "onefalse")
}

// TestUnopened: the error of Open is a fault that can be mended.
func TestUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := Open(Options[string]{What: "the text", Path: path, Most: 10, Parse: parse})
	if err == nil || strings.Count(err.Error(), path) != 1 || f.Fault() == nil {
		t.Fatalf("%v, %v", err, f.Fault())
	}
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.Check(); f.Value() != "one" || f.Fault() != nil {
		t.Errorf("%q, %v", f.Value(), f.Fault())
	}
}

// TestFixed has no file.
func TestFixed(t *testing.T) {
	f := Fixed("x")
	f.Look()
	f.Check()
	if err := errors.Join(f.Reread(), f.Fault()); err != nil || f.Value() != "x" {
		t.Errorf("%q, %v", f.Value(), err)
	}
}
