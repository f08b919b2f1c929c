package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// entriesOf returns the entries of a file, each of which is a whole line.
func entriesOf(t testing.TB, path string) (all []Entry) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if len(data) > 0 && data[len(data)-1] != '\n' {
		t.Errorf("%s ends within a line", path)
	}
	for line := range strings.Lines(string(data)) {
		var e Entry
		must(t, json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}

func opened(t testing.TB, c Config) *Log {
	t.Helper()
	l, err := Open(c)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() }) // a test that fails its sink has looked at the error
	return l
}

// TestFile has each entry as one line with its time and member, for its owner alone.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	at := time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)
	l := opened(t, Config{To: path, Member: "m1", Now: func() time.Time { return at }})
	l.Add(Entry{Event: Called, Subject: "token:ci", Name: "a\nb\u202e", Token: 1<<63 + 1, Result: "ok"})
	got := entriesOf(t, path) // it is there before Add returns
	if len(got) != 1 || !got[0].Time.Equal(at) || got[0].Member != "m1" || got[0].Name != "a\nb\u202e" || got[0].Token != 1<<63+1 {
		t.Errorf("the log has %+v", got)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

// TestFrequentEntriesAreCollected writes entries of locks within a second, in the order of all entries.
func TestFrequentEntriesAreCollected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, Config{To: path})
		l.Add(Entry{Event: Granted, Name: "a"})
		if got := entriesOf(t, path); len(got) != 0 {
			t.Errorf("%+v was written at once", got)
		}
		l.Add(Entry{Event: Denied, Name: "b"})
		l.Add(Entry{Event: Released, Name: "c"})
		time.Sleep(syncEvery) //nolint:forbidigo // inside a synctest bubble
		synctest.Wait()
		var names []string
		for _, e := range entriesOf(t, path) {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != "a b c" {
			t.Errorf("the log has %s", got)
		}
		must(t, l.Close())
	})
}

// TestRotation begins a new file at the largest size, keeps some, and splits no line.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, Config{To: path, Bytes: 1000, Keep: 2})
	const count = 100
	for i := range count {
		l.Add(Entry{Event: Called, Name: fmt.Sprint(i)})
	}
	last := -1
	for _, suffix := range []string{".2", ".1", ""} {
		all := entriesOf(t, path+suffix)
		if len(all) == 0 {
			t.Fatalf("%s is empty", suffix)
		}
		for _, e := range all {
			var i int
			_, err := fmt.Sscan(e.Name, &i)
			must(t, err)
			if last >= 0 && i != last+1 {
				t.Errorf("%d comes after %d", i, last)
			}
			last = i
		}
		info, err := os.Stat(path + suffix)
		must(t, err)
		if info.Size() > 1000 {
			t.Errorf("%s has %d bytes", suffix, info.Size())
		}
	}
	if last != count-1 {
		t.Errorf("the last entry is %d", last)
	}
	if _, err := os.Stat(path + ".3"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a third older file is there: %v", err)
	}
}

// TestReopen follows a program that renames the file.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, Config{To: path})
	l.Add(Entry{Event: Called, Name: "before"})
	must(t, os.Rename(path, path+".old"))
	l.Add(Entry{Event: Called, Name: "between"})
	must(t, l.Reopen())
	l.Add(Entry{Event: Called, Name: "after"})
	if old, now := entriesOf(t, path+".old"), entriesOf(t, path); len(old) != 2 || len(now) != 1 || now[0].Name != "after" {
		t.Errorf("the old file has %+v, the new one %+v", old, now)
	}
}

// failing is a sink that fails, and may have written a part.
type failing struct {
	written bytes.Buffer
	err     error
	synced  error
}

func (f *failing) write(lines []byte) error {
	if f.err == nil {
		f.written.Write(lines)
	}
	return f.err
}
func (f *failing) sync() error { return f.synced }
func (*failing) reopen() error { return nil }
func (*failing) close() error  { return nil }

// TestFailure says that the log cannot be written, and afterwards how many entries are missing.
func TestFailure(t *testing.T) {
	sink := &failing{err: errors.New("no space left")}
	l := opened(t, Config{})
	l.sink, l.to = sink, "FILE"
	must(t, l.Ready())
	l.Add(Entry{Event: Called, Name: "lost 1"})
	l.Add(Entry{Event: Called, Name: "lost 2"})
	if err := l.Ready(); err == nil || !strings.Contains(err.Error(), "FILE cannot be written: no space left") {
		t.Errorf("it is ready: %v", err)
	}
	if l.Fault() == nil {
		t.Error("no fault is known")
	}
	sink.err = nil
	must(t, l.Ready())
	l.Add(Entry{Event: Called, Name: "written"})
	text := sink.written.String()
	if strings.Contains(text, "lost 1") || !strings.Contains(text, "2 entries before this one were not written") || !strings.Contains(text, "written") {
		t.Errorf("the log has %s", text)
	}
	must(t, l.Fault())
}

// TestSyncFails is a failure of the log, too, until a sync succeeds.
func TestSyncFails(t *testing.T) {
	sink := &failing{synced: errors.New("input/output error")}
	l := opened(t, Config{})
	l.sink = sink
	l.Add(Entry{Event: Called})
	l.mu.Lock()
	l.settle()
	l.mu.Unlock()
	if l.Ready() == nil {
		t.Error("it is ready")
	}
	sink.synced = nil
	must(t, l.Ready())
}

// TestUnopened: a path that cannot be opened is an error that names it.
func TestUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "audit.jsonl")
	if _, err := Open(Config{To: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("it was opened: %v", err)
	}
	if _, err := Open(Config{To: t.TempDir()}); err == nil {
		t.Error("a folder was opened")
	}
}

// TestFeed has the latest entries and those that follow, in order, for a log without a destination as well.
func TestFeed(t *testing.T) {
	l := opened(t, Config{Remember: 3})
	for i := range 5 {
		l.Add(Entry{Event: Called, Name: fmt.Sprint(i)})
	}
	f := l.Follow(2)
	defer f.Close()
	all, err := f.Next(t.Context())
	must(t, err)
	l.Add(Entry{Event: Called, Name: "5"})
	more, err := f.Next(t.Context())
	must(t, err)
	var names []string
	for _, e := range append(all, more...) {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "3 4 5" {
		t.Errorf("the feed has %s", got)
	}
	over, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	if _, err := f.Next(over); err == nil || err.Error() != "enough" {
		t.Errorf("the end of the context is %v", err)
	}
	if all := l.Follow(100); len(all.unread) != 3 {
		t.Errorf("%d entries are remembered", len(all.unread))
	}
	if all := l.Follow(-1); len(all.unread) != 0 {
		t.Errorf("%d entries come for a negative number", len(all.unread))
	}
}

// TestSlowFeed ends after the entries that it has, with a reason, and delays no other.
func TestSlowFeed(t *testing.T) {
	l := opened(t, Config{})
	slow, quick := l.Follow(0), l.Follow(0)
	for i := range mostUnread + 1 {
		l.Add(Entry{Event: Granted, Name: fmt.Sprint(i)})
		if i == mostUnread/2 {
			_, err := quick.Next(t.Context())
			must(t, err)
		}
	}
	all, err := slow.Next(t.Context())
	must(t, err)
	if _, err := slow.Next(t.Context()); len(all) != mostUnread || !errors.Is(err, ErrSlow) {
		t.Errorf("the slow one has %d entries, then %v", len(all), err)
	}
	must(t, l.Close())
	all, err = quick.Next(t.Context())
	must(t, err)
	if _, err := quick.Next(t.Context()); len(all) != mostUnread/2 || !errors.Is(err, ErrClosed) {
		t.Errorf("the quick one has %d entries, then %v", len(all), err)
	}
	if _, err := l.Follow(0).Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a feed of a closed log has %v", err)
	}
	l.Add(Entry{Event: Called}) // nothing happens
}

// TestStderr writes to the stream.
func TestStderr(t *testing.T) {
	var to bytes.Buffer
	l := opened(t, Config{To: Stderr, stderr: &to})
	l.Add(Entry{Event: Denied, Subject: "anonymous"})
	if !strings.Contains(to.String(), `"event":"denied","subject":"anonymous"`) {
		t.Errorf("it has %q", to.String())
	}
}
