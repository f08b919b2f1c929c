package token

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
)

// midnight is a time of the tests.
var midnight = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func TestSecretsAreDistinct(t *testing.T) {
	seen := map[Sum]bool{}
	for range 100 {
		secret, sum := New()
		if seen[sum] || len(secret) != SecretLength || !strings.HasPrefix(secret, Prefix) || !Looks(secret) {
			t.Fatalf("a secret of %d characters, seen before: %v", len(secret), seen[sum])
		}
		seen[sum] = true
		if got, err := SumOf(secret); err != nil || got != sum {
			t.Errorf("the digest is %v, %v; want %v", got, err, sum)
		}
	}
}

// TestEveryTypoIsFound changes each character of a secret.
func TestEveryTypoIsFound(t *testing.T) {
	secret, _ := New()
	for i := range secret {
		other := []byte(secret)
		if other[i]++; i >= len(Prefix) && !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", rune(other[i])) {
			other[i] = 'A'
		}
		_, err := SumOf(string(other))
		if want := ErrMistyped; i >= len(Prefix) && !errors.Is(err, want) || i < len(Prefix) && !errors.Is(err, ErrMalformed) {
			t.Errorf("character %d: %v", i, err)
		}
		if err != nil && strings.Contains(err.Error(), secret[10:]) {
			t.Errorf("the error has the secret: %v", err)
		}
	}
	for _, text := range []string{"", "hft_", secret + "A", secret[:len(secret)-1], " " + secret, strings.ToUpper(secret), "hft_" + strings.Repeat("!", 48)} {
		if _, err := SumOf(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func record(name string) (string, Record) {
	secret, sum := New()
	return secret, Record{Name: name, Sum: sum, Created: midnight}
}

func TestParseRefuses(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	one := "- {name: ci, sha256: " + sum + ", created: 2026-12-01T00:00:00Z}\n"
	for _, tt := range []struct{ text, want string }{
		{"tokens: {}", "line 1: tokens is not a list"},
		{"x", "line 1: the file is not a mapping"},
		{"other: 1", `line 1: the file has no key "other"; its keys are tokens`},
		{"tokens: []\ntokens: []", "line 2: the file has the key tokens twice"},
		{"tokens:\n  - 1", "line 2: a token is not a mapping"},
		{"tokens:\n- {name: ci}", "line 2: a token has no sha256"},
		{"tokens:\n" + strings.Replace(one, "name", "nam", 1), `line 2: a token has no key "nam"`},
		{"tokens:\n" + one + one, `line 3: the token "ci" is also in line 2`},
		{"tokens:\n" + one + strings.Replace(one, "ci", "cj", 1), `line 3: the token "cj" has the sha256 of the one in line 2`},
		{"tokens:\n" + strings.Replace(one, "ci", "c i", 1), `line 2: the name "c i" of a token is not allowed`},
		{"tokens:\n" + strings.Replace(one, "ci", "''", 1), "line 2: the name of a token is empty"},
		{"tokens:\n" + strings.Replace(one, "ci", strings.Repeat("c", 101), 1), "line 2: the name of a token has 101 bytes"},
		{"tokens:\n" + strings.Replace(one, "ci", "[ci]", 1), "line 2: name is not a text"},
		{"tokens:\n" + strings.Replace(one, "abab", "", 1), `line 2: the sha256 of token "ci" is not 64 hexadecimal digits`},
		{"tokens:\n" + strings.Replace(one, "T00", " 00", 1), `line 2: created of token "ci" is "2026-12-01 00:00:00Z"`},
		{"tokens:\n" + strings.Replace(one, "}", ", expires: soon}", 1), `line 2: expires of token "ci" is "soon"`},
		{"tokens:\n" + strings.Replace(one, "}", ", expires: 0001-01-01T00:00:00Z}", 1), "line 2: expires of token"},
		{"tokens: &a\n- *a", "line 2: a token is not a mapping"},
		{"tokens: []\n---\ntokens: []", "the file has a second document"},
		{"tokens: [", "the file is not YAML: line 1"},
		{strings.Repeat("#", mostBytes+1), "the file has 4194305 bytes; at most 4194304"},
	} {
		records, err := Parse([]byte(tt.text))
		var wrong *SyntaxError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tt.want) || records != nil {
			t.Errorf("%.60q: %v, want %s", tt.text, err, tt.want)
		}
	}
	for _, text := range []string{"", "# none\n", "{}", "tokens:", "tokens: []", "null"} {
		if records, err := Parse([]byte(text)); err != nil || records != nil {
			t.Errorf("%q: %v, %v", text, records, err)
		}
	}
}

// TestSecretsInTheFileAreNotRepeated: a secret in the place of a digest is a mistake that its error must not spread.
func TestSecretsInTheFileAreNotRepeated(t *testing.T) {
	secret, _ := New()
	_, err := Parse([]byte("tokens:\n- {name: ci, created: 2026-12-01T00:00:00Z, sha256: " + secret + "}"))
	if err == nil || strings.Contains(err.Error(), secret[4:20]) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzFile(f *testing.F) {
	_, one := record("ci")
	_, two := record("1.0")
	two.Expires = midnight.Add(time.Hour)
	f.Add(Format(nil))
	f.Add(Format([]Record{one, two}))
	f.Add([]byte("tokens: [{name: a, sha256: " + one.Sum.String() + ", created: 2026-12-01T00:00:00+14:00, expires: null}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Parse(Format(records))
		if err != nil {
			t.Fatalf("%v\n%s", err, Format(records))
		}
		slices.SortFunc(records, func(a, b Record) int { return strings.Compare(a.Name, b.Name) })
		if !slices.Equal(records, again) {
			t.Errorf("%v became %v", records, again)
		}
	})
}

func TestLookup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	f := Open(Options{Path: path})
	if err := f.Fault(); err != nil {
		t.Fatalf("without a file: %v", err)
	}
	secret, r := record("ci")
	r.Expires = midnight.Add(time.Hour)
	if err := f.Add(r); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Lookup(secret, midnight.Add(time.Hour-1)); err != nil || got != r {
		t.Errorf("%v, %v; want %v", got, err, r)
	}
	got, err := f.Lookup(secret, r.Expires)
	if want := `the token "ci" has expired at 2026-12-01T01:00:00Z; create another one`; !errors.Is(err, ErrExpired) || err.Error() != want || got != r {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	other, _ := New()
	if _, err := f.Lookup(other, midnight); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v, want %v", err, ErrUnknown)
	}
	if _, err := f.Lookup("hft_x", midnight); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v, want %v", err, ErrMalformed)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte(secret[4:])) || !bytes.Contains(data, []byte(r.Sum.String())) {
		t.Errorf("the file has the secret or no digest: %v\n%s", err, data)
	}
	_, taken := record("ci")
	if err := f.Add(taken); !errors.Is(err, ErrTaken) {
		t.Errorf("%v, want %v", err, ErrTaken)
	}
	again := r
	again.Name = "other"
	if err := f.Add(again); err == nil || !strings.Contains(err.Error(), `the token "ci" has the same secret`) {
		t.Error(err)
	}
	if err := f.Revoke("cd"); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v, want %v", err, ErrUnknown)
	}
	if err := f.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Lookup(secret, midnight); !errors.Is(err, ErrUnknown) || len(f.List()) > 0 {
		t.Errorf("%v, want %v; there are %v", err, ErrUnknown, f.List())
	}
}

// TestAddRefuses what the file cannot hold.
func TestAddRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	f := Open(Options{Path: path})
	_, r := record("ci")
	for _, change := range []func(*Record){
		func(r *Record) { r.Name = "a b" },
		func(r *Record) { r.Created = time.Time{} },
		func(r *Record) { r.Expires = r.Created.AddDate(9000, 0, 0) },
	} {
		bad := r
		change(&bad)
		if err := f.Add(bad); err == nil {
			t.Errorf("%v is added", bad)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v", err)
	}
}

// watched is a File whose clock the test moves, and its log.
func watched(t *testing.T, path string) (*File, func(), *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	f := Open(Options{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	began, passed := time.Now(), atomic.Int64{}
	f.now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
	return f, func() { passed.Add(int64(follow.Every)) }, &log
}

func write(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestFileIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	f, later, log := watched(t, path)
	secret, r := record("ci")
	write(t, path, Format([]Record{r}), 0o600)
	if len(f.List()) != 0 {
		t.Fatal("the file is checked before its time")
	}
	later()
	if got, err := f.Lookup(secret, midnight); err != nil || got != r {
		t.Fatalf("%v, %v", got, err)
	}
	for _, tt := range []struct {
		data []byte
		mode os.FileMode
		want string
	}{
		{[]byte("tokens: 1"), 0o600, "line 1: tokens is not a list"},
		{Format([]Record{r}), 0o644, "other users can use it: its mode is 0644; run chmod 600 " + strconv.Quote(path) + ", or accept it with --insecure-files"},
	} {
		write(t, path, Format([]Record{r}), 0o600)
		later()
		if err := f.Fault(); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		write(t, path, tt.data, tt.mode)
		if err := f.Fault(); err != nil {
			t.Errorf("the file is checked again before its time: %v", err)
		}
		for range 3 {
			later()
			if _, err := f.Lookup(secret, midnight); err != nil {
				t.Errorf("the previous tokens are gone: %v", err)
			}
		}
		if err := f.Fault(); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want %s", err, tt.want)
		}
		if n := strings.Count(log.String(), "previous tokens stay valid"); n != 1 {
			t.Errorf("the log has it %d times:\n%s", n, log)
		}
		log.Reset()
	}
	if err := f.Add(r); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read is changed: %v", err)
	}
	write(t, path, Format(nil), 0o600)
	later()
	if _, err := f.Lookup(secret, midnight); !errors.Is(err, ErrUnknown) || f.Fault() != nil {
		t.Errorf("%v, %v", err, f.Fault())
	}
	write(t, path, Format([]Record{r}), 0o600)
	later()
	if len(f.List()) != 1 {
		t.Fatal("the token is not back")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	later()
	if len(f.List()) != 0 || f.Fault() != nil {
		t.Errorf("without a file there are %v, %v", f.List(), f.Fault())
	}
}

func TestInsecureFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	secret, r := record("ci")
	write(t, path, Format([]Record{r}), 0o644)
	if f := Open(Options{Path: path}); f.Fault() == nil || len(f.List()) > 0 {
		t.Errorf("it is accepted: %v", f.List())
	}
	f := Open(Options{Path: path, Insecure: true})
	if _, err := f.Lookup(secret, midnight); err != nil || f.Fault() != nil {
		t.Errorf("%v, %v", err, f.Fault())
	}
	_, other := record("other")
	if err := f.Add(other); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("its mode is %v, %v: it was 0644", info.Mode(), err)
	}
}

// TestWritersDoNotLoseRecords: many writers, each with its own File, as in other processes.
func TestWritersDoNotLoseRecords(t *testing.T) {
	const writers, each = 8, 5
	folder := t.TempDir()
	path := filepath.Join(folder, "link.yaml")
	if err := os.Symlink("tokens.yaml", path); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "tokens.yaml"), nil, 0o600)
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			f := Open(Options{Path: path})
			var all error
			for i := range each {
				_, kept := record(fmt.Sprintf("w%d-%d", w, i))
				_, gone := record(fmt.Sprintf("gone%d-%d", w, i))
				all = errors.Join(all, f.Add(kept), f.Add(gone), f.Revoke(gone.Name))
			}
			errs <- all
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if list := Open(Options{Path: path}).List(); len(list) != writers*each {
		t.Errorf("there are %d tokens, want %d", len(list), writers*each)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 { // the link, the file and the lock
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", info, err)
	}
}

// TestFailedWriteLeavesNothing: a folder is in the place of the file, so that it cannot be replaced.
func TestFailedWriteLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "tokens.yaml")
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := replace(path, nil, Format(nil)); err == nil {
		t.Error("the folder is replaced")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
	f := Open(Options{Path: path})
	_, r := record("ci")
	for _, err := range []error{f.Fault(), f.Add(r)} {
		if want := fmt.Sprintf("read the tokens in %q: it is not a regular file", path); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestStuckWriterStopsNoReader: another process holds the lock of writers. Lookups and changes of the file go on.
func TestStuckWriterStopsNoReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	f, later, _ := watched(t, path)
	stuck, err := exclude(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	secret, r := record("ci")
	_, other := record("other")
	added := make(chan error, 1)
	go func() { added <- f.Add(other) }()
	for f.writing.TryLock() { // until Add has begun
		f.writing.Unlock()
		runtime.Gosched()
	}
	write(t, path, Format([]Record{r}), 0o600)
	later()
	if got, err := f.Lookup(secret, midnight); err != nil || got != r || f.Fault() != nil {
		t.Errorf("%v, %v; %v", got, err, f.Fault())
	}
	select {
	case err := <-added:
		t.Errorf("the lock of writers does not hold: %v", err)
	default:
	}
	if err := stuck.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-added; err != nil || len(f.List()) != 2 {
		t.Errorf("%v; there are %v", err, f.List())
	}
}

func BenchmarkLookup(b *testing.B) {
	f := Open(Options{Path: filepath.Join(b.TempDir(), "tokens.yaml")})
	secret, r := record("ci")
	if err := f.Add(r); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.Lookup(secret, midnight); err != nil {
			b.Fatal(err)
		}
	}
}
