package folder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A record of a row's file:
//
//	4 bytes magic | 4 bytes length of the contents | 8 bytes number | 8 bytes CRC-64 of all other bytes | contents
//
// all big-endian. Records begin at multiples of recordAlign. Of the valid ones that with the highest number counts.
const (
	recordMagic = 0x68667231 // "hfr1"
	recordHead  = 4 + 4 + 8 + 8
	recordAlign = 512
	mostContent = 16 << 20
)

var recordTable = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(crc64.ECMA) })

// record is the valid record of a file. The zero record is that of a new file.
type record struct {
	number     uint64 // from 1 on
	begin, end int
	content    []byte
}

// parseRecord finds the record that counts.
func parseRecord(file []byte) (r record) {
	for at := 0; at+recordHead <= len(file); at += recordAlign {
		head := file[at:]
		length, number := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint64(head[8:])
		if binary.BigEndian.Uint32(head) != recordMagic || length > mostContent || int(length) > len(head)-recordHead || number <= r.number {
			continue
		}
		end := recordHead + int(length)
		if checksum(head[:end]) == binary.BigEndian.Uint64(head[16:]) {
			r = record{number, at, at + end, head[recordHead:end]}
		}
	}
	return r
}

// checksum returns that of a record, without the place where it stands.
func checksum(record []byte) uint64 {
	sum := crc64.Update(0, recordTable(), record[:16])
	return crc64.Update(sum, recordTable(), record[recordHead:])
}

// next returns the next record with a content, and its offset: before this one if there is room, or behind it.
func (r *record) next(content []byte) (encoded []byte, at int) {
	encoded = make([]byte, recordHead, recordHead+len(content))
	binary.BigEndian.PutUint32(encoded, recordMagic)
	binary.BigEndian.PutUint32(encoded[4:], uint32(len(content)))
	binary.BigEndian.PutUint64(encoded[8:], r.number+1)
	encoded = append(encoded, content...)
	binary.BigEndian.PutUint64(encoded[16:], checksum(encoded))
	if r.number > 0 && len(encoded) > r.begin {
		at = (r.end + recordAlign - 1) / recordAlign * recordAlign
	}
	return encoded, at
}

// hashed returns the name of the file for a key or a process.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// rowPath returns the path of a row's file.
func (s *Store) rowPath(name string) string { return filepath.Join(s.path, rowsFolder, name[:2], name) }

// file is the open and locked file of a row.
type file struct {
	*os.File
	path string
	record
}

// openRow opens and locks the file of a row, and reads it. It returns nil if there is none; with create it makes one.
func (s *Store) openRow(ctx context.Context, key string, lock int, create bool) (*file, error) {
	path := s.rowPath(hashed(key))
	for {
		flags := os.O_RDONLY
		if lock == unix.LOCK_EX {
			flags = os.O_RDWR
		}
		if create {
			flags |= os.O_CREATE
		}
		opened, err := os.OpenFile(path, flags, 0o600)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !create:
			return nil, nil
		case errors.Is(err, fs.ErrNotExist):
			if err := s.makeFolders(filepath.Dir(path)); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		f := &file{File: opened, path: path}
		current, err := f.lockCurrent(ctx, lock)
		if err == nil && current {
			err = f.read()
		}
		if err == nil && current {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// makeFolders makes the folder of a row's file, and its parent, and syncs them.
func (s *Store) makeFolders(folder string) error {
	for _, path := range []string{filepath.Dir(folder), folder} {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncFolder(filepath.Dir(path), s.config.NoSync); err != nil {
			return err
		}
	}
	return nil
}

// lockCurrent locks the file, and reports whether it is still the one at its path: it may have been removed meanwhile.
// If ctx ends first, the lock is given back as soon as the kernel grants it.
func (f *file) lockCurrent(ctx context.Context, how int) (current bool, err error) {
	err = flock(f.File, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = f.awaitLock(ctx, how)
	}
	if err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

// awaitLock waits for the lock, on a descriptor of its own: a blocked call cannot be cancelled.
func (f *file) awaitLock(ctx context.Context, how int) error {
	number, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	waiting := os.NewFile(uintptr(number), f.path)
	done := make(chan error, 1)
	go func() {
		err := flock(waiting, how)
		// The lock belongs to the open file, which has another descriptor unless the caller has given up.
		done <- errors.Join(err, waiting.Close())
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flock locks a file.
func flock(f *os.File, how int) error {
	return ignoringEINTR(func() error { return unix.Flock(int(f.Fd()), how) })
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// read reads the file's record.
func (f *file) read() error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 4*mostContent {
		return fmt.Errorf("it has %d bytes; up to %d are possible, so the folder is damaged", info.Size(), 4*mostContent)
	}
	all := make([]byte, info.Size())
	n, err := f.ReadAt(all, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	f.record = parseRecord(all[:n])
	return nil
}

// isUnknown marks an error after which the write may be there.
type isUnknown struct{ error }

func (e isUnknown) Unwrap() error { return e.error }

// write writes the next record. If the error is an isUnknown the write may be there.
func (f *file) write(content []byte, noSync bool) error {
	if len(content) > mostContent {
		return fmt.Errorf("the row would have %d bytes; up to %d are allowed", len(content), mostContent)
	}
	if f.number == 0 {
		// A record in a file that a crash can remove would be lost with it.
		if err := syncFolder(filepath.Dir(f.path), noSync); err != nil {
			return err
		}
	}
	encoded, at := f.next(content)
	if _, err := f.WriteAt(encoded, int64(at)); err != nil {
		return err // it is incomplete, so it does not count
	}
	if err := syncFile(f.File, noSync); err != nil {
		return isUnknown{err}
	}
	return nil
}

// remove removes the file of a row without columns.
func (f *file) remove(noSync bool) error {
	if err := os.Remove(f.path); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(f.path), noSync); err != nil {
		return isUnknown{err}
	}
	return nil
}

// syncFile returns when the contents of the file are on disk.
func syncFile(f *os.File, noSync bool) error {
	if noSync {
		return nil
	}
	return syncData(f)
}

// syncFolder returns when the entries of a folder are on disk.
func syncFolder(path string, noSync bool) error {
	if noSync {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
