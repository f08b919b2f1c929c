package token

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
)

// newMode is the mode of a new file.
const newMode = 0o600

// Add adds a token, whose times are cut to the second. It is in effect when Add returns. The error is an ErrTaken if
// the name is in use, even by an expired token.
func (f *File) Add(r Record) error {
	r.Created, r.Expires = r.Created.UTC().Truncate(time.Second), r.Expires.UTC().Truncate(time.Second)
	if err := CheckName(r.Name); err != nil {
		return err
	}
	switch {
	case !isWritable(r.Created):
		return fmt.Errorf("add the token %q: its time of creation %v is not between the years 1 and 9999", r.Name, r.Created)
	case !r.Expires.IsZero() && !isWritable(r.Expires):
		return fmt.Errorf("add the token %q: it expires at %v; give a time before the year 10000", r.Name, r.Expires)
	}
	return f.change(func(records []Record) ([]Record, error) {
		for _, known := range records {
			switch {
			case known.Name == r.Name:
				return nil, fmt.Errorf("add the token %q: %w by the token that was created at %s; choose another name, or revoke that token first",
					r.Name, ErrTaken, known.Created.Format(time.RFC3339))
			case known.Sum == r.Sum:
				return nil, fmt.Errorf("add the token %q: the token %q has the same secret; create a new secret", r.Name, known.Name)
			}
		}
		if len(records) >= MostRecords {
			return nil, fmt.Errorf("add the token %q: the file has %d tokens already; revoke some", r.Name, len(records))
		}
		return append(records, r), nil
	})
}

// Revoke removes a token. It is no longer in effect when Revoke returns. The error is an ErrUnknown if there is none
// with that name.
func (f *File) Revoke(name string) error {
	return f.change(func(records []Record) ([]Record, error) {
		at := slices.IndexFunc(records, func(r Record) bool { return r.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("revoke the token %q: %w; list the names with 'holdfast token list'", name, ErrUnknown)
		}
		return slices.Delete(records, at, at+1), nil
	})
}

// change replaces the file by one with other records. Other processes and goroutines do so before or after it.
// Meanwhile tokens are looked up, and changes by others are followed.
func (f *File) change(to func([]Record) ([]Record, error)) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	path := f.path
	switch target, err := filepath.EvalSymlinks(path); { // a link stays a link
	case err == nil:
		path = target
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("change the tokens in %q: %w", f.path, follow.Plain(err))
	}
	lock, err := exclude(path + ".lock")
	if err != nil {
		return fmt.Errorf("change the tokens in %q: %w", f.path, err)
	}
	err = f.changeAlone(path, to)
	return errors.Join(err, lock.Close())
}

// changeAlone is change with the lock of writers, for a path without symbolic links.
func (f *File) changeAlone(path string, to func([]Record) ([]Record, error)) error {
	data, stamp, err := follow.Read(path, mostBytes, f.accept, f.now())
	var records []Record
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		records, err = Parse(data)
	}
	if err != nil {
		return fmt.Errorf("read %s in %q: %w", what, f.path, err)
	}
	if records, err = to(records); err != nil {
		return err
	}
	if err := replace(path, stamp.Info(), Format(records)); err != nil {
		return fmt.Errorf("write %s to %q: %w", what, f.path, err)
	}
	return f.followed.Reread()
}

// replace writes a file under another name, and renames it, so that it survives a crash as a whole. The mode and the
// owner are those of the previous file, if any.
func replace(path string, previous fs.FileInfo, data []byte) error {
	folder := filepath.Dir(path)
	made, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = adopt(made, previous)
	if err == nil {
		_, err = made.Write(data)
	}
	if err == nil {
		err = made.Sync()
	}
	err = errors.Join(err, made.Close())
	if err == nil {
		err = os.Rename(made.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made.Name()))
	}
	return syncFolder(folder)
}

// adopt gives a file the mode and the owner of the previous one.
func adopt(made *os.File, previous fs.FileInfo) error {
	if previous == nil {
		return made.Chmod(newMode)
	}
	own, err := made.Stat()
	if err != nil {
		return err
	}
	before, is := previous.Sys().(*syscall.Stat_t)
	now, also := own.Sys().(*syscall.Stat_t)
	if is && also && (before.Uid != now.Uid || before.Gid != now.Gid) {
		if err := made.Chown(int(before.Uid), int(before.Gid)); err != nil {
			return fmt.Errorf("keep its owner, user %d of group %d: %w; run this as that user", before.Uid, before.Gid, follow.Plain(err))
		}
	}
	return made.Chmod(previous.Mode().Perm())
}

// syncFolder makes a renamed file survive a crash.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
