package follow

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// Every is how often a File is looked at.
const Every = time.Second

// Options says what is read, and what becomes of it.
type Options[T any] struct {
	// What the file has, for errors: read WHAT in "PATH".
	What string
	// Path is the path of the file.
	Path string
	// Most is the largest size, in bytes.
	Most int
	// Accept returns why a file is not read. Nil means Regular.
	Accept func(fs.FileInfo) error
	// Parse makes a value of the contents, where these have changed. If Optional, it is called with nil where there is no
	// file.
	Parse    func(data []byte) (T, error)
	Optional bool
	// Good is called when the file was read again without a fault: with its value, the value before, and whether the
	// file had a fault before. Nil does nothing.
	Good func(now, before T, mended bool)
	// Bad is called when the file was read again and has another fault than before. Nil does nothing.
	Bad func(fault error)
	// Now returns the time. Nil means time.Now.
	Now func() time.Time
}

// File is a file whose contents are followed. It is safe for concurrent use. Good and Bad are called one at a time,
// and must not ask the File for anything but its Value, which is the new one.
type File[T any] struct {
	o       Options[T]
	fixed   bool // there is no file
	current atomic.Pointer[T]

	mu     sync.Mutex // guards the following fields; held while the file is read
	looked time.Time
	seen   Stamp
	sum    *[sha256.Size]byte // of the contents that have become the value; nil without any
	fault  error
}

// Open reads a file. The error is its fault; the File can be used nevertheless, and has the zero T until the file is
// mended.
func Open[T any](o Options[T]) (*File[T], error) {
	if o.Accept == nil {
		o.Accept = Regular
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &File[T]{o: o}
	f.current.Store(new(T))
	f.looked = f.o.Now()
	made, err := f.parse()
	if f.fault = err; err == nil {
		f.current.Store(&made)
	}
	return f, err
}

// Fixed returns a File that has a value and no file.
func Fixed[T any](value T) *File[T] {
	f := &File[T]{fixed: true}
	f.current.Store(&value)
	return f
}

// Value returns what the file had when it was last looked at without a fault.
func (f *File[T]) Value() T { return *f.current.Load() }

// Fault returns why the file as it was at the last look cannot be used; nil if it can. It names the file.
func (f *File[T]) Fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Look reads the file again if it has changed since the last look, which was a second ago or more. It returns at once
// while another goroutine looks.
func (f *File[T]) Look() {
	if f.fixed || !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	now := f.o.Now()
	if past := now.Sub(f.looked); past >= 0 && past < Every {
		return
	}
	f.look(now)
}

// Check reads the file again if it has changed since the last look.
func (f *File[T]) Check() {
	if f.fixed {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look(f.o.Now())
}

// Reread reads the file again, and returns its fault.
func (f *File[T]) Reread() error {
	if f.fixed {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = f.o.Now()
	f.read()
	return f.fault
}

// look is called with the mutex held.
func (f *File[T]) look(now time.Time) {
	f.looked = now
	if !f.seen.Fits(Stat(f.o.Path, now)) {
		f.read()
	}
}

// read is called with the mutex held.
func (f *File[T]) read() {
	before := f.fault
	made, err := f.parse()
	f.fault = err
	switch {
	case err == nil:
		previous := f.current.Swap(&made)
		if f.o.Good != nil {
			f.o.Good(made, *previous, before != nil)
		}
	case f.o.Bad != nil && (before == nil || before.Error() != err.Error()):
		f.o.Bad(err)
	}
}

// parse returns the value of the file as it is now. It is called with the mutex held, or by Open.
func (f *File[T]) parse() (made T, err error) {
	var data []byte
	data, f.seen, err = Read(f.o.Path, f.o.Most, f.o.Accept, f.o.Now())
	if err == nil || f.o.Optional && f.seen.absent {
		sum := sha256.Sum256(data)
		if f.sum != nil && *f.sum == sum { // a young file that was read again
			return f.Value(), nil
		}
		if made, err = f.o.Parse(data); err == nil {
			f.sum = &sum
		}
	}
	if err != nil {
		err = fmt.Errorf("read %s in %q: %w", f.o.What, f.o.Path, err)
	}
	return made, err
}
