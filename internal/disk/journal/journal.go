package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/storage"
)

// Options configures how a journal is opened.
type Options struct {
	// Identity identifies the journal's owner: it is written into a new folder, and a folder with another one is
	// refused. Zero accepts any existing one, and creates no new journal.
	Identity []byte
	// MaxRequests bounds the requests waiting or in progress, and separately the same number of fetches. Zero means
	// 4096.
	MaxRequests int
	// MaxBytes bounds their data. Zero means 64 MiB.
	MaxBytes int
	// Ahead is the maximum number of zeros after the data in the database's log, so that most syncs find a file that
	// has not grown. Zero means 512 KiB.
	Ahead int
	// FS is the file system. Zero means the machine's.
	FS vfs.FS
	// Logger gets a line when the journal fails. Nil discards.
	Logger *slog.Logger
}

// Journal is an open folder.
type Journal struct {
	folder   string
	identity []byte
	logger   *slog.Logger
	lock     io.Closer
	disk     *disk
	writes   *queue
	fetches  *queue
	failed   chan struct{} // closed when the journal has failed, and no request is under way
	over     chan struct{} // closed when the journal is being closed
	flushed  atomic.Bool   // the floor must be raised

	use sync.RWMutex // read-locked while db is used, and locked to close it
	db  *pebble.DB   // nil when it is closed

	writer, reader sync.WaitGroup
	closing        sync.Once
	closed         error // the result of Close

	// Used only by the writer.
	logs    map[uint64]*ledger
	root    root
	synced  uint64   // number of the root's batches that are synced
	reached vfs.File // the file with the count of batches, for the next open after a crash
}

// Submit accepts a storage.Append, Chunk, Install or Fetch. An error means that it will not be executed: a
// storage.ErrRefused if the queue is full or the journal has failed, and a storage.ErrInvalid otherwise. Without an
// error, answer is called once with the answer to the request, on a goroutine of the journal, so it must not block. The
// journal owns the request's memory until then.
func (j *Journal) Submit(request any, answer func(any)) error {
	a := pending{request: request, size: perRequest, answer: answer}
	var check error
	switch r := request.(type) {
	case storage.Append:
		a.size += r.Size() + 32*len(r.Records)
		check = r.Check()
	case storage.Chunk:
		a.size += len(r.Data)
		check = r.Check()
	case storage.Install:
		a.size += len(r.Meta) + len(r.State)
		check = r.Check()
	case storage.Fetch:
		if err := j.fetches.put(a); err != nil {
			return fmt.Errorf("ask for %v: %w", r, err)
		}
		return nil
	default:
		return fmt.Errorf("ask a journal for a %T; an Append, Chunk, Install or Fetch is allowed: %w", request, storage.ErrInvalid)
	}
	if check == nil {
		check = j.writes.put(a)
	}
	if check != nil {
		return fmt.Errorf("ask for %v: %w", request, check)
	}
	return nil
}

// Identity returns the identity of the journal's owner.
func (j *Journal) Identity() []byte { return j.identity }

// Failed is closed when the journal has failed, and all accepted requests have been answered. Err returns the reason.
func (j *Journal) Failed() <-chan struct{} { return j.failed }

// Err returns why the journal has failed, or nil.
func (j *Journal) Err() error { return j.disk.broken() }

// fail stops the journal. It is called by the goroutine that found an error, so it does nothing slow: the writer does
// the rest.
func (j *Journal) fail(err error) {
	why := fmt.Errorf("%w: %w", j.because(err), storage.ErrRefused)
	j.writes.end(why, true)
	j.fetches.end(why, true)
}

func (j *Journal) because(err error) error {
	return fmt.Errorf("the journal in folder %q failed and takes no more writes: %w; check the disk, then start the member again", j.folder, err)
}

// Close completes the accepted requests, syncs, and closes the folder. For a failed journal it returns the reason.
// Another Close returns the same.
func (j *Journal) Close() error {
	j.closing.Do(func() {
		why := fmt.Errorf("the journal in folder %q was closed: %w", j.folder, storage.ErrInvalid)
		close(j.over)
		j.writes.end(why, false)
		j.fetches.end(why, false)
		j.writer.Wait()
		j.reader.Wait()
		if err := j.closeDatabase(); err != nil {
			j.disk.fail(err)
		}
		j.raiseFloor()
		if err := j.disk.broken(); err != nil {
			j.closed = j.because(err)
		}
		if err := j.lock.Close(); err != nil {
			j.closed = errors.Join(j.closed, fmt.Errorf("unlock folder %q: %w", j.folder, err))
		}
	})
	return j.closed
}

// closeDatabase closes the database, if it is open.
func (j *Journal) closeDatabase() error {
	j.use.Lock()
	defer j.use.Unlock()
	if j.reached == nil {
		return nil // it is closed, or was not opened
	}
	err := j.reached.Close()
	if j.db != nil {
		err = errors.Join(err, j.db.Close())
	}
	j.reached, j.db = nil, nil
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
