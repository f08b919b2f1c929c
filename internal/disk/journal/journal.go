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

// Options is how a journal is opened.
type Options struct {
	// Identity says whose journal it is: it is written into a new folder, and a folder that has
	// another is refused. Zero accepts any that the folder has, and makes no new one.
	Identity []byte
	// MaxRequests bounds the requests that wait or are being done, and as many fetches besides
	// them. Zero means 4096.
	MaxRequests int
	// MaxBytes bounds what they bring. Zero means 64 MiB.
	MaxBytes int
	// Ahead is how many bytes the database's log is longer than what is written there at the most: zeros, so that most
	// syncs find a file that has not grown. Zero means 512 KiB.
	Ahead int
	// FS is the file system. Zero means the machine's.
	FS vfs.FS
	// Logger gets a line when the journal fails. Zero means that nothing is logged.
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
	failed   chan struct{} // closed when the journal has failed, and nothing is under way
	over     chan struct{} // closed when the journal is being closed
	flushed  atomic.Bool   // the floor is to be raised

	use sync.RWMutex // read-locked while db is used, and locked to close it
	db  *pebble.DB   // nil when it is closed

	writer, reader sync.WaitGroup
	closing        sync.Once
	closed         error // what Close returns

	// What follows is the writer's own.
	logs    map[uint64]*ledger
	root    root
	synced  uint64   // how many of the root's batches
	reached vfs.File // where each batch leaves that, for what opens the folder after a crash
}

// Submit asks for a storage.Append, Chunk, Install or Fetch. An error says that nothing is done
// about it, nor will be: it is a storage.ErrRefused where the queue is full or the journal has
// failed, and a storage.ErrInvalid otherwise. Without one, answer is called once, with what
// answers the request: on a goroutine of the journal's, so it must not wait for anything. What the
// request points to is the journal's until then.
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

// Identity says whose journal it is.
func (j *Journal) Identity() []byte { return j.identity }

// Failed is closed when the journal has failed, and every request has been answered that it had
// taken. Err says why.
func (j *Journal) Failed() <-chan struct{} { return j.failed }

// Err is why the journal has failed, or nil.
func (j *Journal) Err() error { return j.disk.broken() }

// fail ends everything. It is called by the goroutine that has come upon an error, so it does
// nothing that takes a while: the writer does the rest.
func (j *Journal) fail(err error) {
	why := fmt.Errorf("%w: %w", j.because(err), storage.ErrRefused)
	j.writes.end(why, true)
	j.fetches.end(why, true)
}

func (j *Journal) because(err error) error {
	return fmt.Errorf("the journal in folder %q failed and takes no more writes: %w; check the disk, then start the member again", j.folder, err)
}

// Close does what was asked for, syncs, and closes the folder. A journal that has failed returns
// why. Another Close returns the same.
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
