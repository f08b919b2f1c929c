package clustertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast"
)

// Register is a file guarded by tokens: the resource behind the lock. It does not use the lock service: comparing
// tokens is enough.
type Register struct{ path string }

// entry is the file's content.
type entry struct {
	Token  holdfast.Token `json:"token"` // the largest that wrote
	Value  uint64         `json:"value"`
	Writes uint64         `json:"writes"`
}

// ErrStale refuses a write under a token older than one that has written.
var ErrStale = errors.New("stale token")

// Write increments the value, under token. The error is ErrStale, or the file system's. Check and write are one step:
// the file is locked meanwhile, as a store would lock its row.
func (r Register) Write(token holdfast.Token) error {
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open register: %w", err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock register: %w", err)
	}
	old, err := read(f)
	if err != nil {
		return err
	}
	if token < old.Token {
		return fmt.Errorf("%w: %v, and %v has written", ErrStale, token, old.Token)
	}
	data, err := json.Marshal(entry{Token: token, Value: old.Value + 1, Writes: old.Writes + 1})
	if err != nil {
		return fmt.Errorf("encode register: %w", err)
	}
	// The content only grows: a shorter one never leaves a tail of a longer one.
	if _, err := f.WriteAt(data, 0); err != nil {
		return fmt.Errorf("write register: %w", err)
	}
	return nil
}

// writes returns the number of accepted writes.
func (r Register) writes() (uint64, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return 0, fmt.Errorf("open register: %w", err)
	}
	defer f.Close()
	e, err := read(f)
	return e.Writes, err
}

func read(f *os.File) (entry, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return entry{}, fmt.Errorf("read register: %w", err)
	}
	var e entry
	if len(data) == 0 {
		return e, nil
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return entry{}, fmt.Errorf("decode register %q: %w", data, err)
	}
	return e, nil
}
