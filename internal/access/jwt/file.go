package jwt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// How often a file is checked, and how recent a change may be for another one to have the same timestamp.
const (
	lookEvery = time.Second
	youngFile = 2 * time.Second
)

// fileKeys are the keys in a file.
type fileKeys struct {
	path   string
	logger *slog.Logger
	now    func() time.Time

	current atomic.Pointer[keys]

	mu     sync.Mutex // guards the following fields; held while the file is read
	looked time.Time
	seen   fs.FileInfo // nil if it could not be opened
	young  bool        // it may change again without a new timestamp
	fault  error
}

// openFile reads the file.
func openFile(path string, logger *slog.Logger, now func() time.Time) (*fileKeys, error) {
	f := &fileKeys{path: path, logger: logger, now: now}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = now()
	f.read()
	return f, f.fault
}

// find returns the keys that may have signed a token.
func (f *fileKeys) find(_ context.Context, u *unverified) (keys, error) {
	f.look()
	return f.current.Load().candidates(u), nil
}

// problem returns why the file as it is now cannot be used.
func (f *fileKeys) problem() error {
	f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// look reads the file again if it has changed since the last check, which was a while ago.
func (f *fileKeys) look() {
	if !f.mu.TryLock() { // another goroutine checks
		return
	}
	defer f.mu.Unlock()
	now := f.now()
	if past := now.Sub(f.looked); past >= 0 && past < lookEvery {
		return
	}
	f.looked = now
	info, err := os.Stat(f.path)
	if err == nil && f.seen != nil && !f.young && os.SameFile(info, f.seen) &&
		info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() {
		return
	}
	f.read()
}

// read reads the file, and keeps its keys if they are valid. It is called with the mutex held.
func (f *fileKeys) read() {
	found, info, err := readKeys(f.path)
	f.seen, f.young = info, info != nil && f.now().Sub(info.ModTime()) < youngFile
	if err == nil {
		f.fault = nil
		f.current.Store(&found)
		return
	}
	err = fmt.Errorf("read the keys in %q: %w", f.path, err)
	if f.current.Load() != nil && (f.fault == nil || f.fault.Error() != err.Error()) {
		f.logger.Error("the keys of an issuer cannot be read; the previous ones stay in use", "why", err.Error())
	}
	f.fault = err
}

// readKeys returns the keys in a file, and its state when it was opened.
func readKeys(path string) (keys, fs.FileInfo, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, plain(err)
	}
	data, err := readBounded(file)
	if err != nil {
		return nil, info, plain(err)
	}
	found, err := parseKeys(data)
	return found, info, err
}

// readBounded reads a set of keys.
func readBounded(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, mostKeyBytes+1))
	if err == nil && len(data) > mostKeyBytes {
		err = fmt.Errorf("it has more than %d bytes", mostKeyBytes)
	}
	return data, err
}

// plain unwraps an error of a file, whose path is already named.
func plain(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		return system.Err
	}
	return err
}
