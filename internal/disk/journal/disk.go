package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is a file system that stops all writes after the first error: from then on writes succeed without effect. So the
// folder stays as a crash at that moment would have left it, and the database, which knows of no error, neither ends
// the process nor retries, and can be closed. The journal checks broken before it believes that anything was written.
type disk struct {
	vfs.FS
	first  atomic.Pointer[error]
	failed func(error) // called once, by the goroutine that found it
	locked bool        // the folder is already locked
	sealed bool        // nothing is written from the start
	ahead  int64       // number of zeros written ahead in the database's log: see logFile

	patience *patience // nil means that opening a file is not retried

	newest  atomic.Pointer[logSize] // the database's newest log, with its current size, synced or not
	floorAt string                  // where the floor is written; empty while a journal is created
	floor   floor                   // used only by the writer
}

// onlyReading returns a read-only disk.
func onlyReading(fs vfs.FS) *disk {
	return &disk{FS: fs, failed: func(error) {}, locked: true, sealed: true}
}

// silent reports whether writes have no effect.
func (d *disk) silent() bool { return d.sealed || d.first.Load() != nil }

// broken returns the first error.
func (d *disk) broken() error {
	if first := d.first.Load(); first != nil {
		return *first
	}
	return nil
}

func (d *disk) fail(err error) {
	if d.first.CompareAndSwap(nil, &err) {
		d.failed(err)
	}
}

// write performs a change of the folder.
func (d *disk) write(what, name string, do func() error) error {
	if d.silent() {
		return nil
	}
	if err := do(); err != nil {
		d.fail(fmt.Errorf("%s %s: %w", what, name, err))
	}
	return nil
}

// open opens a file for writing.
func (d *disk) open(what, name string, do func() (vfs.File, error)) (vfs.File, error) {
	var made vfs.File
	if err := d.write(what, name, func() (err error) { made, err = d.patiently(name, do); return err }); err != nil {
		return nil, err
	}
	if made == nil {
		made = vfs.NewMemFile(nil)
	}
	if d.isLog(name) {
		return d.openLog(made, name)
	}
	return &file{File: made, disk: d, name: name}, nil
}

// read handles a read error: only a missing file, or the end of one, is not an error.
func (d *disk) read(what, name string, err error) error {
	if err == nil || errors.Is(err, os.ErrNotExist) || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	err = fmt.Errorf("%s %s: %w", what, name, err)
	d.fail(err)
	return err
}

// markerPrefix is the prefix of files whose presence identifies the database's current files.
const markerPrefix = "marker."

// before syncs the folder before a marker is added or removed. The database syncs the folder only after it has made a
// file, a marker that names it, and removed the previous marker: a file system may keep some of that and not the rest,
// and would leave a marker of a missing file, or none.
func (d *disk) before(name string) error {
	if !strings.HasPrefix(d.PathBase(name), markerPrefix) {
		return nil
	}
	return d.syncFolder(d.PathDir(name))
}

// Create and the like open files for writing.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.before(name); err != nil {
		return nil, err
	}
	return d.open("create", name, func() (vfs.File, error) {
		made, err := d.FS.Create(name, category)
		if err != nil || !d.isLog(name) {
			return made, err
		}
		// Only a file opened for reading as well can be written at any position.
		if err := made.Close(); err != nil {
			return nil, err
		}
		return d.FS.OpenReadWrite(name, category)
	})
}

// OpenReadWrite opens a file for writing.
func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.open("open", name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

// ReuseForWrite makes a file of another.
func (d *disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("reuse as", to, func() (vfs.File, error) { return d.FS.ReuseForWrite(from, to, category) })
}

// Open opens a file for reading.
func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	opened, err := d.patiently(name, func() (vfs.File, error) { return d.FS.Open(name) })
	if err != nil {
		return nil, d.read("open", name, err)
	}
	f := &file{File: opened, disk: d, name: name}
	for _, option := range opts {
		option.Apply(f)
	}
	return f, nil
}

// List lists a folder.
func (d *disk) List(name string) (names []string, err error) {
	err = d.patience.have(name, func() (err error) { names, err = d.FS.List(name); return err })
	return names, err
}

// OpenDir opens a folder, to sync it.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	opened, err := d.patiently(name, func() (vfs.File, error) { return d.FS.OpenDir(name) })
	if err != nil {
		return nil, d.read("open", name, err)
	}
	return &file{File: opened, disk: d, name: name}, nil
}

// Remove removes a file. The caller handles a missing one.
func (d *disk) Remove(name string) (missing error) {
	if err := d.before(name); err != nil {
		return err
	}
	err := d.write("remove", name, func() error {
		err := d.FS.Remove(name)
		if errors.Is(err, os.ErrNotExist) {
			missing, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return missing
}

// RemoveAll removes a folder.
func (d *disk) RemoveAll(name string) error {
	return d.write("remove", name, func() error { return d.FS.RemoveAll(name) })
}

// Link links a file.
func (d *disk) Link(from, to string) error {
	return d.write("link", to, func() error { return d.FS.Link(from, to) })
}

// Rename renames a file.
func (d *disk) Rename(from, to string) error {
	return d.write("rename to", to, func() error { return d.FS.Rename(from, to) })
}

// MkdirAll makes a folder.
func (d *disk) MkdirAll(name string, mode os.FileMode) error {
	return d.write("make folder", name, func() error { return d.FS.MkdirAll(name, mode) })
}

// Lock does nothing: the journal has already locked the folder.
func (d *disk) Lock(name string) (io.Closer, error) {
	if d.locked {
		return io.NopCloser(nil), nil
	}
	return d.FS.Lock(name)
}

// Unwrap returns the file system below.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// replace writes a file atomically: a crash leaves the old one or the new one.
func (d *disk) replace(folder, name string, data []byte) error {
	at, made := d.PathJoin(folder, name), d.PathJoin(folder, name+".new")
	f, err := d.Create(made, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close(), d.Rename(made, at), d.syncFolder(folder)); err != nil {
		return err
	}
	return d.broken()
}

func (d *disk) syncFolder(name string) error {
	folder, err := d.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// makeFolder makes a folder and its parents, so that they survive a crash: each new one is synced into its parent.
func (d *disk) makeFolder(name string) error {
	found, err := d.Stat(name)
	if err == nil && !found.IsDir() {
		return fmt.Errorf("%s is a file; name a folder", name)
	}
	above := d.PathDir(name)
	if err == nil || above == name {
		return err
	}
	if err := d.makeFolder(above); err != nil {
		return err
	}
	if err := errors.Join(d.MkdirAll(name, 0o700), d.syncFolder(above)); err != nil {
		return err
	}
	return d.broken()
}

// file is a file of a disk.
type file struct {
	vfs.File
	disk *disk
	name string
}

func (f *file) Write(p []byte) (int, error) {
	return len(p), f.disk.write("write", f.name, func() error { _, err := f.File.Write(p); return err })
}

func (f *file) WriteAt(p []byte, at int64) (int, error) {
	return len(p), f.disk.write("write", f.name, func() error { _, err := f.File.WriteAt(p, at); return err })
}

func (f *file) Sync() error     { return f.disk.write("sync", f.name, f.File.Sync) }
func (f *file) SyncData() error { return f.disk.write("sync", f.name, f.File.SyncData) }

func (f *file) SyncTo(length int64) (full bool, err error) {
	err = f.disk.write("sync", f.name, func() error { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Preallocate reserves disk space for a log file ahead of its writes. Not every file system can, and a full one reports
// it at the write.
func (f *file) Preallocate(at, length int64) error {
	if f.disk.silent() {
		return nil
	}
	return f.File.Preallocate(at, length)
}

// Close closes the file; a file system may report a failed write only here.
func (f *file) Close() error {
	if err := f.File.Close(); err != nil {
		f.disk.fail(fmt.Errorf("close %s: %w", f.name, err))
	}
	return nil
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	return n, f.disk.read("read", f.name, err)
}

func (f *file) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	return n, f.disk.read("read", f.name, err)
}
