package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/storage"
)

// mine is the identity of most journals here.
var mine = []byte("cluster 7, member \"a\"")

// ahead is how far the zeros go in journals that are crashed and damaged at each of their bytes.
const ahead = 512

// open opens a folder, which the test closes.
func open(t testing.TB, fs vfs.FS, folder string) *journal.Journal {
	t.Helper()
	o := journal.Options{Identity: mine, FS: fs}
	if fs != nil {
		o.Ahead = ahead
	}
	j, err := journal.Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func closeJournal(t testing.TB, j *journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// submit asks, and waits for the answer. An immediate refusal is an answer, too.
func submit(t testing.TB, j *journal.Journal, request any) (answer any, err error) {
	t.Helper()
	answered := make(chan any, 1)
	if err := j.Submit(request, func(a any) { answered <- a }); err != nil {
		return nil, err
	}
	answer = <-answered
	return answer, errorOf(answer)
}

// do asks for what must be done.
func do(t testing.TB, j *journal.Journal, requests ...any) {
	t.Helper()
	for _, request := range requests {
		if _, err := submit(t, j, request); err != nil {
			t.Fatalf("%v: %v", request, err)
		}
	}
}

// refused asks for what must be refused, of a kind, with such words.
func refused(t testing.TB, j *journal.Journal, request any, kind error, says string) {
	t.Helper()
	_, err := submit(t, j, request)
	if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v: %v; want %q in it, of the kind %q", request, err, says, kind)
	}
}

// has tells what a log has, in one line.
func has(t testing.TB, j *journal.Journal, log uint64) string {
	t.Helper()
	text, err := dump(t, j, log)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func dump(t testing.TB, j *journal.Journal, log uint64) (string, error) {
	t.Helper()
	l, err := j.Recover(log)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d-%d", l.First, l.Last)
	for r, err := range l.Records() {
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" %d:%s", r.Index, short(r.Data))
	}
	if l.State != nil {
		text += fmt.Sprintf(" state %q", l.State)
	}
	if l.Snapshot == 0 {
		return text, nil
	}
	text += fmt.Sprintf(" snapshot %d meta %q", l.Snapshot, l.Meta)
	for n := range l.Chunks {
		answer, err := submit(t, j, storage.Fetch{ID: n, Log: log, Snapshot: l.Snapshot, Number: n})
		if err != nil {
			return "", err
		}
		text += " " + short(answer.(storage.Fetched).Data)
	}
	return text, nil
}

// short tells bytes, the long ones by their beginning and length.
func short(b []byte) string {
	if len(b) > 12 {
		return fmt.Sprintf("%q+%d", b[:4], len(b))
	}
	return fmt.Sprintf("%q", b)
}

func records(texts ...string) [][]byte {
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = []byte(text)
	}
	return all
}

func want(t *testing.T, j *journal.Journal, log uint64, text string) {
	t.Helper()
	if got := has(t, j, log); got != text {
		t.Errorf("log %d has %s\nwant %s", log, got, text)
	}
}

// TestRecords are there after each request and when the folder is opened again: the last ones
// that were written at an index, from the first to the last.
func TestRecords(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there")
	j := open(t, nil, folder)
	want(t, j, 0, `1-0`)
	for _, c := range []struct {
		request storage.Append
		has     string
	}{
		{storage.Append{Log: 1, State: []byte("s")}, `1-0 state "s"`},
		{storage.Append{Log: 1, First: 1}, `1-0 state "s"`},
		{storage.Append{Log: 1, First: 1, Records: records("a", "", "c")}, `1-3 1:"a" 2:"" 3:"c" state "s"`},
		{storage.Append{Log: 1, First: 4, Records: records("d"), State: []byte("t")}, `1-4 1:"a" 2:"" 3:"c" 4:"d" state "t"`},
		{storage.Append{Log: 1, First: 2, Records: records("B")}, `1-2 1:"a" 2:"B" state "t"`},
		{storage.Append{Log: 1, First: 2, Records: records("x", "y"), State: []byte{}}, `1-3 1:"a" 2:"x" 3:"y" state ""`},
		{storage.Append{Log: 1, First: 3}, `1-2 1:"a" 2:"x" state ""`},
		{storage.Append{Log: 1, First: 1}, `1-0 state ""`},
		{storage.Append{Log: 1, First: 1, Records: records("n")}, `1-1 1:"n" state ""`},
	} {
		do(t, j, c.request)
		want(t, j, 1, c.has)
		closeJournal(t, j)
		j = open(t, nil, folder)
		want(t, j, 1, c.has)
	}
	want(t, j, 0, `1-0`)
	want(t, j, 2, `1-0`)
	closeJournal(t, j)
	if findings, err := journal.Check(nil, folder); err != nil || len(findings) > 0 {
		t.Errorf("Check says %v, %v", findings, err)
	}
}

// TestSnapshots: what is installed takes the place of records, and of the one before.
func TestSnapshots(t *testing.T) {
	folder := t.TempDir()
	j := open(t, nil, folder)
	chunk := func(snapshot, number uint64, data string) storage.Chunk {
		return storage.Chunk{Log: 5, Snapshot: snapshot, Number: number, Data: []byte(data)}
	}
	do(t, j, storage.Append{Log: 5, First: 1, Records: records("1", "2", "3", "4"), State: []byte("s")},
		storage.Append{Log: 4, First: 1, Records: records("other")}, chunk(1, 0, "zero"), chunk(1, 1, "one"))
	want(t, j, 5, `1-4 1:"1" 2:"2" 3:"3" 4:"4" state "s"`)
	refused(t, j, storage.Fetch{Log: 5, Snapshot: 1}, storage.ErrGone, "snapshot 1 of log 5, which has snapshot 0")
	do(t, j, chunk(1, 0, "ZERO"), storage.Install{Log: 5, Snapshot: 1, Chunks: 2, Meta: []byte("m"), Drop: 3})
	want(t, j, 5, `4-4 4:"4" state "s" snapshot 1 meta "m" "ZERO" "one"`)
	closeJournal(t, j)
	j = open(t, nil, folder)
	want(t, j, 5, `4-4 4:"4" state "s" snapshot 1 meta "m" "ZERO" "one"`)
	do(t, j, storage.Append{Log: 5, First: 5, Records: records("5")}, chunk(3, 0, "given up"), chunk(3, 1, "given up"), chunk(2, 0, "two"))
	want(t, j, 5, `4-5 4:"4" 5:"5" state "s" snapshot 1 meta "m" "ZERO" "one"`)
	do(t, j, storage.Install{Log: 5, Snapshot: 2, Chunks: 1, Drop: 9, Anew: true, State: []byte("t")})
	refused(t, j, storage.Fetch{Log: 5, Snapshot: 1}, storage.ErrGone, "which has snapshot 2")
	refused(t, j, storage.Fetch{Log: 5, Snapshot: 2, Number: 1}, storage.ErrInvalid, "chunk 1 of snapshot 2 of log 5, which has 1")
	want(t, j, 5, `10-9 state "t" snapshot 2 meta "" "two"`)
	do(t, j, storage.Append{Log: 5, First: 10, Records: records("10", "11")}, chunk(4, 0, "left by a crash"), chunk(4, 1, "left"),
		storage.Chunk{Log: 77, Snapshot: 1, Data: []byte("of a log that is not there")})
	closeJournal(t, j)
	j = open(t, nil, folder)
	want(t, j, 5, `10-11 10:"10" 11:"11" state "t" snapshot 2 meta "" "two"`)
	refused(t, j, chunk(4, 2, "goes on"), storage.ErrInvalid, "comes before chunk 0; write them in their order, from 0 on, after a crash as well")
	do(t, j, storage.Install{Log: 5, Snapshot: 4, Drop: 5, Anew: true}) // it may be empty, and go back
	closeJournal(t, j)
	j = open(t, nil, folder) // and nothing is left that would not fit
	want(t, j, 5, `6-5 state "t" snapshot 4 meta ""`)
	want(t, j, 4, `1-1 1:"other"`)
	want(t, j, 77, `1-0`)
	do(t, j, storage.Append{Log: 5, First: 6, Records: records("6", "7", "8")}, chunk(5, 0, "five"),
		storage.Install{Log: 5, Snapshot: 5, Chunks: 1, Drop: 7}, storage.Append{Log: 5, First: 8, Records: records("8b")})
	want(t, j, 5, `8-8 8:"8b" state "t" snapshot 5 meta "" "five"`)
	closeJournal(t, j)
	if findings, err := journal.Check(nil, folder); err != nil || len(findings) > 0 {
		t.Errorf("Check says %v, %v", findings, err)
	}
}

// TestWhatALogDoesNotTake is refused by name, with what is allowed, and changes nothing.
func TestWhatALogDoesNotTake(t *testing.T) {
	j := open(t, vfs.NewMem(), "f")
	defer closeJournal(t, j)
	do(t, j, storage.Append{Log: 1, First: 1, Records: records("1", "2", "3", "4")},
		storage.Chunk{Log: 1, Snapshot: 2}, storage.Install{Log: 1, Snapshot: 2, Chunks: 1, Drop: 2})
	for _, c := range []struct {
		request any
		says    string
	}{
		{storage.Append{Log: 1, First: 2, Records: records("x")}, "from index 2 on; it begins at 3 and ends at 4, so 3 to 5 is allowed"},
		{storage.Append{Log: 1, First: 6, Records: records("x")}, "so 3 to 5 is allowed"},
		{storage.Append{Log: 9, First: 2, Records: records("x")}, "it begins at 1 and ends at 0, so 1 to 1 is allowed"},
		{storage.Append{Log: 9}, "neither records nor a state"},
		{storage.Chunk{Log: 1, Snapshot: 2}, "which has snapshot 2 already; a higher number"},
		{storage.Chunk{Log: 1, Snapshot: 3, Number: 1}, "chunk 1 of snapshot 3 of log 1 comes before chunk 0"},
		{storage.Install{Log: 1, Snapshot: 2, Drop: 3}, "which has snapshot 2 already"},
		{storage.Install{Log: 1, Snapshot: 3, Chunks: 1, Drop: 3}, "has 1 chunks, and 0 were written"},
		{storage.Install{Log: 1, Snapshot: 3, Drop: 1}, "so 2 to 4 is allowed, and any where the log begins anew"},
		{storage.Install{Log: 1, Snapshot: 3, Drop: 5}, "so 2 to 4 is allowed"},
		{storage.Fetch{Log: 9}, "snapshot 0 of log 9"},
		{storage.Save{}, "ask a journal for a storage.Save; an Append, Chunk, Install or Fetch is allowed"},
	} {
		refused(t, j, c.request, storage.ErrInvalid, c.says)
	}
	want(t, j, 1, `3-4 3:"3" 4:"4" snapshot 2 meta "" ""`)
	want(t, j, 9, `1-0`)
}

// TestRecordsOfBefore: a log that was written to since it was recovered does not look damaged.
func TestRecordsOfBefore(t *testing.T) {
	j := open(t, vfs.NewMem(), "f")
	defer closeJournal(t, j)
	do(t, j, storage.Append{Log: 1, First: 1, Records: records("1")})
	l, err := j.Recover(1)
	if err != nil {
		t.Fatal(err)
	}
	do(t, j, storage.Append{Log: 1, First: 2, Records: records("2")})
	for _, err = range l.Records() {
	}
	if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), "written to since") {
		t.Errorf("records of before: %v", err)
	}
	if err := j.Err(); err != nil {
		t.Errorf("the journal has failed by it: %v", err)
	}
}

// TestFolderIsForOne process, one journal of it, and one member.
func TestFolderIsForOne(t *testing.T) {
	for _, fs := range []vfs.FS{nil, vfs.NewMem()} {
		folder := filepath.Join(t.TempDir(), "f")
		j := open(t, fs, folder)
		_, err := journal.Open(folder, journal.Options{Identity: mine, FS: fs})
		if !errors.Is(err, journal.ErrInUse) || !strings.Contains(err.Error(), folder) {
			t.Errorf("a second Open: %v", err)
		}
		if _, err := journal.Check(fs, folder); !errors.Is(err, journal.ErrInUse) {
			t.Errorf("Check of an open folder: %v", err)
		}
		do(t, j, storage.Append{Log: 1, First: 1, Records: records("1")})
		closeJournal(t, j)
		_, err = journal.Open(folder, journal.Options{Identity: []byte("b"), FS: fs})
		if is := (*journal.IdentityError)(nil); !errors.As(err, &is) || !bytes.Equal(is.Has, mine) {
			t.Errorf("Open by another: %v", err)
		}
		for _, says := range []string{folder, `"cluster 7, member \"a\""`, `"b"`, "give each member a folder of its own"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q does not say %s", err, says)
			}
		}
		j, err = journal.Open(folder, journal.Options{FS: fs})
		if err != nil || !bytes.Equal(j.Identity(), mine) {
			t.Fatalf("Open by whomever: %v", err)
		}
		want(t, j, 1, `1-1 1:"1"`)
		closeJournal(t, j)
		closeJournal(t, j) // another does nothing
		refused(t, j, storage.Append{Log: 1, First: 1}, storage.ErrInvalid, "was closed")
		refused(t, j, storage.Fetch{Log: 1, Snapshot: 1}, storage.ErrInvalid, "was closed")
		if _, err := j.Recover(1); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("Recover after Close: %v", err)
		}
	}
}

// TestFoldersThatAreNone are refused and left as they are.
func TestFoldersThatAreNone(t *testing.T) {
	folder := t.TempDir()
	if _, err := journal.Open(folder, journal.Options{}); !errors.Is(err, journal.ErrNone) {
		t.Errorf("an empty folder, and no identity for a new journal: %v", err)
	}
	if _, err := journal.Check(nil, folder); !errors.Is(err, journal.ErrNone) || !strings.Contains(err.Error(), folder) {
		t.Errorf("Check of an empty folder: %v", err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for at, says := range map[string]string{
		folder:                     `has "file" and no journal; give the journal a folder of its own`,
		file:                       "is a file; name a folder",
		filepath.Join(file, "sub"): "file",
	} {
		if _, err := journal.Open(at, journal.Options{Identity: mine}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Open of %s: %v; want %q in it", at, err, says)
		}
	}
	for _, o := range []journal.Options{{MaxRequests: -1}, {MaxBytes: -1}, {Ahead: -1}} {
		if _, err := journal.Open(filepath.Join(folder, "n"), o); err == nil || !strings.Contains(err.Error(), "is -1; 1 or more is allowed, and 0 for") {
			t.Errorf("Open with %+v: %v", o, err)
		}
	}
}

// TestOtherFormats are distinguished from damage.
func TestOtherFormats(t *testing.T) {
	folder := t.TempDir()
	closeJournal(t, open(t, nil, folder))
	identity := filepath.Join(folder, "journal", "identity")
	text, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("journal 1"), []byte("journal 2"), 1)
	if err := os.WriteFile(identity, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = journal.Open(folder, journal.Options{Identity: mine})
	if is := (*journal.FormatError)(nil); !errors.As(err, &is) || !strings.Contains(err.Error(), folder) || !strings.Contains(err.Error(), `"holdfast journal 2", and this version reads "holdfast journal 1"`) {
		t.Errorf("a later format: %v", err)
	}
	if _, err = journal.Check(nil, folder); !errors.As(err, new(*journal.FormatError)) {
		t.Errorf("Check of a later format: %v", err)
	}
}

// errorOf returns the error in an answer.
func errorOf(answer any) error {
	switch a := answer.(type) {
	case storage.Appended:
		return a.Err
	case storage.Chunked:
		return a.Err
	case storage.Installed:
		return a.Err
	case storage.Fetched:
		return a.Err
	}
	return fmt.Errorf("a %T is no answer", answer)
}
