package journal

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database's own log is what is synced all the time. A file system that syncs a file which has grown, or in which blocks
// are written for the first time, writes down that, too, in a log of its own that all its files share; what was written
// before and is written again costs only itself. So there are always zeros in front of what is written, up to
// [Options].Ahead bytes: one sync of many finds a larger file. A log that is used again has them already. To the
// database zeros are the end of what was written.
type logFile struct {
	file
	at   int64 // where the next write goes
	room int64 // what the file has already
}

// Write writes behind what is there, and zeros behind that, where the file ends.
func (f *logFile) Write(p []byte) (n int, err error) {
	n, err = f.file.Write(p)
	f.at += int64(n)
	if err != nil || f.at <= f.room {
		return n, err
	}
	f.room = (f.at/f.disk.ahead + 1) * f.disk.ahead
	_, err = f.WriteAt(make([]byte, f.room-f.at), f.at)
	f.disk.newest.Store(&logSize{f.disk.PathBase(f.name), f.room})
	return n, err
}

// openLog makes of a file that the database's log is to be written to, from its beginning on, one that has zeros ahead.
func (d *disk) openLog(opened vfs.File, name string) (vfs.File, error) {
	f := &logFile{file: file{File: opened, disk: d, name: name}}
	if d.silent() {
		return f, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, d.read("look at", name, err)
	}
	f.room = info.Size()
	d.begun(name, f.room)
	return f, nil
}

// isLog reports whether a file is one of the database's log.
func (d *disk) isLog(name string) bool { return d.ahead > 0 && strings.HasSuffix(name, logSuffix) }
