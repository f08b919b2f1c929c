package folder

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/storage"
)

// A process that attends has a FIFO open for writing. The kernel closes it with the last process that has it, so a
// reader sees the end of the file then, and not before: the FIFO has its name only after it was opened for writing, and
// no process opens it for writing under its name.

// draftFIFO is the beginning of the name of a FIFO that is not open for writing yet.
const draftFIFO = ".new-"

// mostEnded is how many FIFOs of ended processes are kept, the latest.
const mostEnded = 4096

// tidyEvery is how many calls of Attend there are for one that removes old FIFOs, on average.
const tidyEvery = 64

// living is the processes that a handle attends as, and those whose ends it waits for.
type living struct {
	attending sync.Mutex // guards the following field
	fifos     map[string]*os.File
	awaiting  sync.WaitGroup
}

// checkRID refuses a name that no process can have.
func checkRID(rid string) error {
	if rid == "" || len(rid) > storage.MaxName {
		return fmt.Errorf("the name of a process has %d bytes; 1 to %d are allowed: %w", len(rid), storage.MaxName, storage.ErrInvalid)
	}
	return nil
}

// alivePath returns the path of a process's FIFO.
func (s *Store) alivePath(rid string) string {
	return filepath.Join(s.path, aliveFolder, hashed(rid))
}

// Attend records that the process named rid lives, until Close or the end of all processes that have the files of
// Attending. A name that attends already, or has ended, is an ErrInvalid.
func (s *Store) Attend(ctx context.Context, rid string) error {
	_, leave, err := s.enter(ctx, "attend", checkRID(rid))
	if err != nil {
		return err
	}
	defer leave()
	s.attending.Lock()
	defer s.attending.Unlock()
	if s.fifos[rid] != nil {
		return nil
	}
	fifo, err := s.makeFIFO(rid)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("attend: another process has had the name %q in folder %q; give each process a name of its own: %w", rid, s.path, storage.ErrInvalid)
	}
	if err != nil {
		return s.failed("attend", err)
	}
	if s.fifos == nil {
		s.fifos = map[string]*os.File{}
	}
	s.fifos[rid] = fifo
	return nil
}

// makeFIFO makes a process's FIFO and opens it for writing.
func (s *Store) makeFIFO(rid string) (*os.File, error) {
	folder := filepath.Join(s.path, aliveFolder)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	chance := rand.Text()
	if chance[0]%32 == 0 && chance[1]%(tidyEvery/32) == 0 {
		if err := tidyAlive(folder, mostEnded); err != nil {
			return nil, err
		}
	}
	draft := filepath.Join(folder, draftFIFO+chance)
	if err := unix.Mkfifo(draft, 0o600); err != nil {
		return nil, fmt.Errorf("make a FIFO: %w", err)
	}
	path := s.alivePath(rid)
	fifo, err := openWriting(draft, path)
	if err == nil {
		if err = os.Link(draft, path); err != nil {
			err = errors.Join(err, fifo.Close())
		}
	}
	return fifo, errors.Join(err, os.Remove(draft))
}

// openWriting opens a FIFO for writing without waiting for a reader. Name is the path that it is about to have.
func openWriting(path, name string) (*os.File, error) {
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	number, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(number), name), nil
}

// Attending returns the files by which the handle attends. A process that has inherited all of them attends as well.
// They are valid until Close.
func (s *Store) Attending() []*os.File {
	s.attending.Lock()
	defer s.attending.Unlock()
	var files []*os.File
	for _, fifo := range s.fifos {
		files = append(files, fifo)
	}
	return files
}

// close ends what Attend has begun. The processes have not ended, so their FIFOs are removed: a reader that has one
// open sees its end nevertheless.
func (l *living) close() (err error) {
	l.awaiting.Wait()
	l.attending.Lock()
	defer l.attending.Unlock()
	for _, fifo := range l.fifos {
		err = errors.Join(err, ignoreMissing(os.Remove(fifo.Name())), fifo.Close())
	}
	l.fifos = nil
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Await reports whether the process named rid has ended. If it has not, ended is called once when it has, until ctx or
// the handle ends.
func (s *Store) Await(ctx context.Context, rid string, ended func()) (bool, error) {
	_, leave, err := s.enter(ctx, "await", checkRID(rid))
	if err != nil {
		return false, err
	}
	defer leave()
	fifo, err := os.OpenFile(s.alivePath(rid), os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // it does not attend
	case err != nil:
		return false, s.failed("await", err)
	}
	over, err := hasEnded(fifo)
	if over || err != nil {
		return over, s.failed("await", errors.Join(err, fifo.Close()))
	}
	s.awaiting.Go(func() {
		if s.awaitEnd(ctx, fifo) {
			ended()
		}
		_ = fifo.Close() // nothing was written
	})
	return false, nil
}

// awaitEnd reports that a FIFO has no writer any more, as soon as that is so; or not, when ctx or the handle ends.
func (s *Store) awaitEnd(ctx context.Context, fifo *os.File) bool {
	wake := func() { _ = fifo.SetReadDeadline(time.Now()) } // without deadlines a read ends at readLimit
	defer context.AfterFunc(ctx, wake)()
	defer context.AfterFunc(s.ctx, wake)()
	for {
		err := fifo.SetReadDeadline(time.Now().Add(readLimit))
		if err == nil && ctx.Err() == nil && s.ctx.Err() == nil {
			_, err = fifo.Read(make([]byte, 1))
		}
		switch {
		case ctx.Err() != nil || s.ctx.Err() != nil:
			return false
		case errors.Is(err, io.EOF):
			return true
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return false // the lease of the process's locks still ends them
		}
	}
}

// hasEnded reports whether a FIFO has no writer now.
func hasEnded(fifo *os.File) (over bool, err error) {
	conn, err := fifo.SyscallConn()
	if err != nil {
		return false, err
	}
	var n int
	controlled := conn.Control(func(fd uintptr) {
		err = ignoringEINTR(func() (err error) {
			n, err = unix.Read(int(fd), make([]byte, 1))
			return err
		})
	})
	if errors.Is(err, unix.EAGAIN) {
		return false, controlled
	}
	return n == 0 && err == nil, errors.Join(err, controlled)
}

// tidyAlive removes the FIFOs of processes that have ended, except for the latest.
func tidyAlive(folder string, keep int) error {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= keep {
		return err
	}
	infos := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if err == nil {
			infos = append(infos, info)
		} else if ignoreMissing(err) != nil {
			return err
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(b.ModTime().UnixNano(), a.ModTime().UnixNano()) })
	for _, info := range infos[min(keep, len(infos)):] {
		// A FIFO without its name yet may not be open for writing yet.
		if strings.HasPrefix(info.Name(), draftFIFO) && time.Since(info.ModTime()) < time.Hour {
			continue
		}
		if err := removeEnded(filepath.Join(folder, info.Name())); err != nil {
			return err
		}
	}
	return nil
}

// removeEnded removes a FIFO that no process has open for writing.
func removeEnded(path string) error {
	fifo, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ignoreMissing(err)
	}
	over, err := hasEnded(fifo)
	if over {
		err = ignoreMissing(os.Remove(path))
	}
	return errors.Join(err, fifo.Close())
}
