package follow

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// tick is how recent a change may be for another one to have the same time.
const tick = 2 * time.Second

// Stamp identifies the contents of a file. The zero Stamp fits no other one.
type Stamp struct {
	info   fs.FileInfo // nil without a file, or if it could not be examined
	absent bool
	young  bool // it may change again without another stamp
}

// Stat returns the stamp of the file at path, at the time now.
func Stat(path string, now time.Time) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return without(err)
	}
	return stampOf(info, now)
}

// without returns the stamp of what could not be examined.
func without(err error) Stamp { return Stamp{absent: errors.Is(err, fs.ErrNotExist)} }

func stampOf(info fs.FileInfo, now time.Time) Stamp {
	return Stamp{info: info, young: now.Sub(info.ModTime()) < tick}
}

// Fits reports whether a file with this stamp has the same contents as one with a later stamp of the same path.
func (s Stamp) Fits(later Stamp) bool {
	switch {
	case s.info == nil || later.info == nil:
		return s.absent && later.absent
	case s.young:
		return false
	}
	return s.info.ModTime().Equal(later.info.ModTime()) && s.info.Size() == later.info.Size() &&
		s.info.Mode() == later.info.Mode() && os.SameFile(s.info, later.info)
}

// Info returns what the system knows of the file; nil without a file.
func (s Stamp) Info() fs.FileInfo { return s.info }
