package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// floor is the minimum content of a folder: it is stored next to the database, which cannot distinguish a log of its
// own that is gone, or shorter than it was, from one that was never written.
//
// The file "floor" is synced. It names the database's newest log from its creation on, and the size that the file has
// reached: a log grows by [Options].Ahead bytes at once, so few batches have to write that. The file "reached" is
// written with every batch, and never synced: it has everything that a process had synced before it was killed, and
// after a power cut what the kernel had written back by then.
type floor struct {
	batches uint64 // number of synced batches
	log     string // the database's newest log; empty in a folder of a version that did not record it
	size    int64  // its size at its last sync
}

const floorSize = 8

func (f floor) encode() []byte {
	content := binary.BigEndian.AppendUint64(nil, f.batches)
	if f.log != "" {
		content = append(binary.BigEndian.AppendUint64(content, uint64(f.size)), f.log...)
	}
	value, _ := sealed(0, []byte(floorName), content)
	return value
}

func decodeFloor(data []byte) (f floor, err error) {
	content, _, err := unseal(0, []byte(floorName), data)
	switch {
	case err != nil:
		return f, err
	case len(content) == floorSize:
		return floor{batches: binary.BigEndian.Uint64(content)}, nil
	case len(content) <= 2*floorSize:
		return f, fmt.Errorf("it has %d bytes; there must be %d, or more than %d", len(data), sumSize+floorSize, sumSize+2*floorSize)
	}
	return floor{binary.BigEndian.Uint64(content), string(content[2*floorSize:]), int64(binary.BigEndian.Uint64(content[floorSize:]))}, nil
}

// raise writes the floor.
func (d *disk) raise(at string) error { return d.replace(at, floorName, d.floor.encode()) }

// begun records that the database has a new log. The file survives a crash before the floor names it, and the floor
// names it before anything is written to it.
func (d *disk) begun(name string, size int64) {
	d.newest.Store(&logSize{d.PathBase(name), size})
	if d.floorAt == "" {
		return
	}
	if err := d.syncFolder(d.PathDir(name)); err != nil {
		d.fail(err)
	}
	d.floor.log, d.floor.size = d.PathBase(name), size
	if err := d.raise(d.floorAt); err != nil {
		d.fail(err)
	}
}

// logSize is a log of the database, with its size.
type logSize struct {
	name string
	size int64
}

// encodeReached encodes the content of the file "reached".
func encodeReached(batches uint64) []byte {
	value, _ := sealed(0, []byte(reachedName), binary.BigEndian.AppendUint64(nil, batches))
	return value
}

// readFloor returns the minimum content of a folder, from both files.
func readFloor(fs vfs.FS, folder, at string) (floor, error) {
	data, err := readFile(fs, fs.PathJoin(at, floorName))
	if err != nil {
		return floor{}, missingOr(err, folder, partFloor)
	}
	f, err := decodeFloor(data)
	if err != nil {
		return floor{}, &CorruptError{folder, partFloor, 0, 0, err}
	}
	if f.log == "" {
		return f, nil
	}
	if data, err = readFile(fs, fs.PathJoin(at, reachedName)); err != nil {
		return floor{}, missingOr(err, folder, partReached)
	}
	content, _, err := unseal(0, []byte(reachedName), data)
	if err == nil && len(content) != floorSize {
		err = fmt.Errorf("it has %d bytes; there must be %d", len(data), sumSize+floorSize)
	}
	if err != nil {
		return floor{}, &CorruptError{folder, partReached, 0, 0, err}
	}
	f.batches = max(f.batches, binary.BigEndian.Uint64(content))
	return f, nil
}

// checkLog compares the database's newest log with the floor.
func (f floor) checkLog(fs vfs.FS, folder, at string) error {
	if f.log == "" {
		return nil
	}
	info, err := fs.Stat(fs.PathJoin(at, recordsName, f.log))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &CorruptError{folder, partDatabase, 0, 0, fmt.Errorf("its newest log, %s, is missing: the latest records are lost", f.log)}
	case err != nil:
		return fmt.Errorf("look at the newest log of folder %q: %w", folder, err)
	case info.Size() < f.size:
		return &CorruptError{folder, partDatabase, 0, 0, fmt.Errorf("its newest log, %s, has %d of %d bytes: it was cut, and the latest records may be lost", f.log, info.Size(), f.size)}
	}
	return nil
}
