package token

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// How often the file is checked, and how recent a change may be for another one to have the same timestamp.
const (
	lookEvery = time.Second
	youngFile = 2 * time.Second
)

// Reasons why a secret or a name is refused.
var (
	ErrUnknown = errors.New("the token is not known")
	ErrExpired = errors.New("the token has expired")
	ErrTaken   = errors.New("the name is taken")
)

// Options configures a File.
type Options struct {
	// Path is the path of the file.
	Path string
	// Insecure accepts a file that other users of the machine can access.
	Insecure bool
	// Logger gets a line when a changed file takes effect, and one when it cannot. Nil discards.
	Logger *slog.Logger
}

// File is a file of tokens. It is safe for concurrent use.
type File struct {
	path     string
	insecure bool
	logger   *slog.Logger
	now      func() time.Time // for checks of the file

	current atomic.Pointer[set]
	writing sync.Mutex // held while this File changes the file; taken before mu

	mu     sync.Mutex // guards the following fields; held while the file is read
	looked time.Time
	seen   fs.FileInfo // nil if there was no file
	young  bool        // it may change again without a new timestamp
	fault  error
}

// set is the records of a file at one moment. It is immutable.
type set struct {
	bySum map[Sum]Record
	names map[string]Sum
}

func newSet(records []Record) *set {
	s := &set{map[Sum]Record{}, map[string]Sum{}}
	for _, r := range records {
		s.bySum[r.Sum], s.names[r.Name] = r, r.Sum
	}
	return s
}

// Open reads the file. If that fails there are no tokens until it is mended, and Fault returns the reason.
func Open(o Options) *File {
	f := &File{path: o.Path, insecure: o.Insecure, logger: o.Logger, now: time.Now}
	if f.logger == nil {
		f.logger = slog.New(slog.DiscardHandler)
	}
	f.current.Store(newSet(nil))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = f.now()
	f.read()
	return f
}

// Lookup returns the token with that secret. The error is an ErrMalformed, ErrMistyped, ErrUnknown, or an ErrExpired
// that names the token; with an ErrExpired the record is returned, too.
func (f *File) Lookup(secret string, now time.Time) (Record, error) {
	sum, err := SumOf(secret)
	if err != nil {
		return Record{}, err
	}
	f.look()
	r, known := f.current.Load().bySum[sum]
	switch {
	case !known:
		return Record{}, fmt.Errorf("%w: it was revoked, or created for other members", ErrUnknown)
	case r.Expired(now):
		return r, &expiredError{r}
	}
	return r, nil
}

// expiredError is an ErrExpired of one token.
type expiredError struct{ of Record }

// Error returns a sentence.
func (e *expiredError) Error() string {
	return fmt.Sprintf("the token %q has expired at %s; create another one", e.of.Name, e.of.Expires.UTC().Format(time.RFC3339))
}

// Is makes it an ErrExpired.
func (e *expiredError) Is(target error) bool { return target == ErrExpired }

// List returns the records, in order of their names.
func (f *File) List() []Record {
	f.look()
	s := f.current.Load()
	list := make([]Record, 0, len(s.names))
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		list = append(list, s.bySum[s.names[name]])
	}
	return list
}

// Fault returns why the file as it is now cannot be used; nil if it can. It names the file. The previous records are in
// use until it is nil.
func (f *File) Fault() error {
	f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// look reads the file again if it has changed since the last check, which was a while ago.
func (f *File) look() {
	if !f.mu.TryLock() { // another goroutine checks
		return
	}
	defer f.mu.Unlock()
	now := f.now()
	if past := now.Sub(f.looked); past >= 0 && past < lookEvery {
		return
	}
	f.looked = now
	if !f.unchanged() {
		f.read()
	}
}

// unchanged reports whether the file is as it was at the last reading. It is called with the mutex held.
func (f *File) unchanged() bool {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.seen == nil && f.fault == nil
	case err != nil || f.seen == nil || f.young:
		return false
	}
	return info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() && info.Mode() == f.seen.Mode() &&
		os.SameFile(info, f.seen)
}

// read reads the file, and keeps its records if they are valid. It is called with the mutex held.
func (f *File) read() {
	records, info, err := readFile(f.path, f.insecure)
	f.seen, f.young = info, info != nil && f.now().Sub(info.ModTime()) < youngFile
	if err != nil {
		if f.fault == nil || f.fault.Error() != err.Error() {
			f.logger.Error("the file of tokens cannot be used; the previous tokens stay valid", "why", err.Error())
		}
		f.fault = err
		return
	}
	f.keep(records)
}

// keep makes the records the current ones. It is called with the mutex held.
func (f *File) keep(records []Record) {
	made, before := newSet(records), f.current.Load()
	mended := f.fault != nil
	f.fault = nil
	if mended || !maps.Equal(before.bySum, made.bySum) {
		f.logger.Info("the file of tokens is in use", "file", f.path, "tokens", len(records))
	}
	f.current.Store(made)
}

// readFile returns the records of a file, and its state when it was opened; nil, nil, nil without a file. The error
// names the file, and what to do.
func readFile(path string, insecure bool) ([]Record, fs.FileInfo, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the tokens in %q: %w", path, plain(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = acceptable(path, info, insecure)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(file, mostBytes+1))
	}
	var records []Record
	if err == nil {
		records, err = Parse(data)
	}
	if err != nil {
		return nil, info, fmt.Errorf("read the tokens in %q: %w", path, plain(err))
	}
	return records, info, nil
}

// acceptable returns why a file of that kind is not read.
func acceptable(path string, info fs.FileInfo, insecure bool) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0 && !insecure:
		return fmt.Errorf("other users may access it (its mode is %04o); run chmod 600 %s, or accept it with --insecure-files",
			info.Mode().Perm(), path)
	}
	return nil
}

// plain unwraps an error of a file, whose path is already named.
func plain(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		return system.Err
	}
	return err
}
