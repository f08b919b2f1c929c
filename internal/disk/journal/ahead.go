package journal

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database's own log is synced all the time. A file system that syncs a file that has grown, or whose blocks are
// written for the first time, also writes that to its own journal, which all files share; overwriting existing blocks
// costs only the data. So the log always has zeros after its end, up to [Options].Ahead bytes: only one sync of many
// finds a larger file. A recycled log has them already. The database reads zeros as the end of the log.
type logFile struct {
	file
	at   int64 // position of the next write
	room int64 // current size of the file
}

// Write writes at the end of the data, followed by zeros at the end of the file.
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

// openLog wraps a new file of the database's log as one with zeros ahead.
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

// isLog reports whether a file belongs to the database's log.
func (d *disk) isLog(name string) bool { return d.ahead > 0 && strings.HasSuffix(name, logSuffix) }
