package journal

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// seen is the content of a folder.
type seen struct {
	*verifier
	identity []byte
	floor    floor
}

// Check verifies the whole content of a folder, and changes nothing. It returns the faults, a *CorruptError each. The
// error says why the check could not be made: ErrNone, ErrInUse, *FormatError, or the disk's error. Zero for fs means
// the machine's file system.
func Check(fs vfs.FS, folder string) ([]*CorruptError, error) {
	if fs == nil {
		fs = vfs.Default
	}
	if _, err := fs.Stat(fs.PathJoin(folder, journalName)); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("check folder %q: %w", folder, ErrNone)
	}
	lock, err := lockFolder(&disk{FS: fs}, folder)
	if err != nil {
		return nil, fmt.Errorf("check a journal: %w", err)
	}
	s, err := examine(fs, folder)
	if e := lock.Close(); e != nil {
		return nil, errors.Join(err, fmt.Errorf("unlock folder %q: %w", folder, e))
	}
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) {
		return []*CorruptError{corrupt}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check a journal: %w", err)
	}
	return s.wrong, nil
}

// examine reads the whole content of a folder, and writes nothing.
func examine(fs vfs.FS, folder string) (*seen, error) {
	at := fs.PathJoin(folder, journalName)
	identity, err := readIdentity(fs, folder, at)
	if err != nil {
		return nil, err
	}
	floor, err := readFloor(fs, folder, at)
	if err != nil {
		return nil, err
	}
	if err := floor.checkLog(fs, folder, at); err != nil {
		return nil, err
	}
	disk := onlyReading(fs)
	db, err := openDatabase(disk, folder, at, nil)
	if err != nil {
		return nil, err
	}
	v := verify(folder, db)
	if err := db.Close(); err != nil {
		v.blame(partDatabase, 0, 0, "close it: %w", err)
	}
	if v.root != nil {
		if v.root.batches < floor.batches {
			v.blame(partDatabase, 0, 0, "it has %d batches, and there were %d at least: what came last is lost", v.root.batches, floor.batches)
		}
		if v.root.identity != identitySum(identity) {
			v.blame(partDatabase, 0, 0, "it is not that of %q, whose identity is next to it", identity)
		}
	}
	if v.root != nil {
		if err := v.lookBehind(disk, at, identitySum(identity)); err != nil {
			return nil, err
		}
	}
	if err := disk.broken(); err != nil {
		return nil, fmt.Errorf("read folder %q: %w", folder, err)
	}
	return &seen{v, identity, floor}, nil
}
