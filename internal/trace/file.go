package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a file.
const (
	// DefaultSize is the default maximum size of a file.
	DefaultSize = 1 << 30
	// MostPending is the maximum amount of buffered output.
	MostPending = 32 << 20
	// lastWait is how long a dying process waits for its trace.
	lastWait = 2 * time.Second
)

// Reasons for a trace to end before its member.
var (
	errSlow = fmt.Errorf("the disk is slower than the trace; more than %d bytes wait for it", MostPending)
	errFull = errors.New("the file has reached its size limit")
)

// File is a trace on disk. A separate goroutine writes it.
type File struct {
	path   string
	disk   disk
	limit  int64
	logger *slog.Logger
	more   chan struct{} // signals pending output, buffered
	done   chan struct{} // closed when nothing more is written

	mu      sync.Mutex
	written *sync.Cond // signals that pending output is written
	pending []byte
	writing bool
	size    int64 // of the file, including pending output
	over    bool  // no more output is accepted
	failed  error // the disk's error
}

// disk is the used part of *os.File.
type disk interface {
	io.WriteCloser
	Truncate(int64) error
}

// OpenError is the reason why a file cannot be recorded to.
type OpenError struct {
	Path string
	Err  error
}

func (e *OpenError) Error() string { return fmt.Sprintf("open the trace %s: %v", e.Path, e.Err) }

// Unwrap returns the fault of the file.
func (e *OpenError) Unwrap() error { return e.Err }

// Open opens the trace at path for appending, or creates it. It grows to limit bytes; 0 means DefaultSize. The error is
// an *OpenError: the file is in use, cannot be written, or is not a trace.
func Open(path string, limit int64, logger *slog.Logger) (*File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, &OpenError{path, err}
	}
	size, err := claim(f)
	if err != nil {
		return nil, &OpenError{path, errors.Join(err, f.Close())}
	}
	if limit == 0 {
		limit = DefaultSize
	}
	return newFile(path, f, size, limit, logger), nil
}

func newFile(path string, f disk, size, limit int64, logger *slog.Logger) *File {
	file := &File{
		path: path, disk: f, limit: limit, logger: logger, size: size,
		more: make(chan struct{}, 1), done: make(chan struct{}),
	}
	file.written = sync.NewCond(&file.mu)
	go file.run()
	return file
}

// claim locks the file for this process, and returns its size. An unfinished line of a killed process is terminated.
func claim(f *os.File) (int64, error) {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another process writes it")
		}
		return 0, err
	}
	about, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case !about.Mode().IsRegular():
		return 0, errors.New("it is no regular file")
	case about.Size() == 0:
		return 0, f.Chmod(0o600)
	}
	first, last := make([]byte, len(prefix)), make([]byte, 1)
	if _, err := f.ReadAt(first, 0); err != nil || !bytes.Equal(first, []byte(prefix)) {
		return 0, errors.New("it is there, and is no trace")
	}
	if _, err := f.ReadAt(last, about.Size()-1); err != nil {
		return 0, err
	}
	size := about.Size()
	if last[0] != '\n' {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		size++
	}
	return size, f.Chmod(0o600)
}

// Put accepts text to be written.
func (f *File) Put(text []byte, whole bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failed != nil:
		return f.failed
	case f.over:
		return errFull
	case whole && len(f.pending) > MostPending:
		return errSlow
	case whole && f.size+int64(len(text)) > f.limit:
		return fmt.Errorf("%w of %d bytes", errFull, f.limit)
	}
	f.put(text)
	return nil
}

// put appends text. It is called with the mutex held.
func (f *File) put(text []byte) {
	f.pending = append(f.pending, text...)
	f.size += int64(len(text))
	f.signal()
}

func (f *File) signal() {
	select {
	case f.more <- struct{}{}:
	default: // it is already signalled
	}
}

// Flush waits until all is written, within a limit: the calling process is about to die.
func (f *File) Flush() {
	slow := time.AfterFunc(lastWait, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = errSlow
		f.written.Broadcast()
	})
	defer slow.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.failed == nil && (f.writing || len(f.pending) > 0) {
		f.written.Wait()
	}
}

// Ended writes the reason for the end of the trace; "" writes nothing.
func (f *File) Ended(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	if f.failed == nil && why != "" {
		f.put(endLine(why))
	}
	f.over = true
	f.signal()
	level := slog.LevelWarn
	if why == memberEnded || why == "" {
		level = slog.LevelDebug
	}
	f.logger.Log(context.Background(), level, "the trace has ended", "file", f.path, "why", why)
}

func endLine(why string) []byte { return append(strconv.AppendQuote([]byte("end "), why), '\n') }

// Close waits until the output is written, and closes the file. The error is the disk's, if not all was written. Call
// Ended before.
func (f *File) Close() error {
	<-f.done
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.disk.Close(); f.failed == nil && err != nil {
		f.failed = fmt.Errorf("close the trace %s: %w", f.path, err)
	}
	return f.failed
}

// run writes pending output until the end.
func (f *File) run() {
	defer close(f.done)
	var spare []byte
	var there int64 // known size of the written part
	f.mu.Lock()
	there = f.size - int64(len(f.pending))
	f.mu.Unlock()
	for range f.more {
		f.mu.Lock()
		text, over := f.pending, f.over
		f.pending, f.writing = spare[:0], true
		f.mu.Unlock()
		err := f.write(text, there)
		there += int64(len(text))
		if spare = text; cap(spare) > MostPending/8 {
			spare = nil
		}
		f.mu.Lock()
		f.writing = false
		if err != nil && f.failed == nil {
			f.failed = err
		}
		f.written.Broadcast()
		f.mu.Unlock()
		if over {
			return
		}
	}
}

// write writes text at the end. If the disk fails, the partial write is truncated to make room for the line with the
// reason.
func (f *File) write(text []byte, there int64) error {
	f.mu.Lock()
	failed := f.failed
	f.mu.Unlock()
	if failed != nil || len(text) == 0 {
		return nil
	}
	_, err := f.disk.Write(text)
	if err == nil {
		return nil
	}
	f.logger.Error("cannot write the trace; it ends here", "file", f.path, "error", err)
	err = fmt.Errorf("write the trace %s: %w", f.path, err)
	if shorter := f.disk.Truncate(there); shorter == nil {
		// If even that does not fit, the trace ends within a step, which implies as much.
		_, _ = f.disk.Write(endLine(err.Error()))
	}
	return err
}
