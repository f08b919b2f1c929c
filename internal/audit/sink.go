package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// sink is where the lines go.
type sink interface {
	write(lines []byte) error
	sync() error
	reopen() error
	close() error
}

// stream writes to the standard error stream.
type stream struct{ to io.Writer }

func (s stream) write(lines []byte) error {
	_, err := s.to.Write(lines)
	return err
}

func (stream) sync() error   { return nil }
func (stream) reopen() error { return nil }
func (stream) close() error  { return nil }

// file writes to a file of bounded size.
type file struct {
	path string
	most int64 // bytes
	keep int   // older files

	open *os.File // nil after a failure
	size int64
}

// reopen opens the path, where there may be another file by now.
func (f *file) reopen() error {
	opened, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	if !info.Mode().IsRegular() && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		return errors.Join(fmt.Errorf("%s is not a file", f.path), opened.Close())
	}
	err = f.close()
	f.open, f.size = opened, info.Size()
	return err
}

// write writes whole lines at the end of the file. What a failed write has left is cut off, so that no line is broken.
func (f *file) write(lines []byte) error {
	if f.open == nil {
		if err := f.reopen(); err != nil {
			return err
		}
	}
	if f.size > 0 && f.size+int64(len(lines)) > f.most {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	n, err := f.open.Write(lines)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, f.open.Truncate(f.size))
		}
		return err
	}
	f.size += int64(n)
	return nil
}

// rotate makes room for a new file.
func (f *file) rotate() error {
	if err := f.sync(); err != nil {
		return err
	}
	older := func(i int) string { return f.path + "." + strconv.Itoa(i) }
	for i := f.keep; i > 0; i-- {
		from := f.path
		if i > 1 {
			from = older(i - 1)
		}
		if err := os.Rename(from, older(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.reopen()
}

func (f *file) sync() error {
	if f.open == nil {
		return nil
	}
	if err := f.open.Sync(); err != nil && !errors.Is(err, errNotSynced) {
		return err
	}
	return nil
}

func (f *file) close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}
