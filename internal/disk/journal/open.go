package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The names in a folder.
const (
	lockName     = "lock"
	journalName  = "journal"
	recordsName  = "records"
	identityName = "identity"
	floorName    = "floor"
	reachedName  = "reached"
	newSuffix    = ".new"
)

// Open opens a folder, and creates it and its journal if necessary. It reads and verifies everything before it writes
// anything. Of its errors, ErrInUse, ErrNone, *IdentityError, *FormatError and *CorruptError name their cause; the
// others come from the disk.
func Open(folder string, options Options) (*Journal, error) {
	j, err := open(folder, options)
	if err != nil {
		return nil, fmt.Errorf("open a journal: %w", err)
	}
	return j, nil
}

func open(folder string, options Options) (*Journal, error) {
	options, err := options.check()
	if err != nil {
		return nil, err
	}
	j := &Journal{
		folder: folder, logger: options.Logger, failed: make(chan struct{}), over: make(chan struct{}),
		writes:  newQueue(options.MaxRequests, options.MaxBytes),
		fetches: newQueue(options.MaxRequests, math.MaxInt),
	}
	j.disk = &disk{FS: options.FS, failed: j.fail, ahead: int64(options.Ahead), patience: &patience{folder: folder, logger: options.Logger, over: j.over}}
	j.disk.newest.Store(&logSize{})
	if err := j.disk.makeFolder(folder); err != nil {
		return nil, fmt.Errorf("make folder %q: %w", folder, err)
	}
	if j.lock, err = lockFolder(j.disk, folder); err != nil {
		return nil, err
	}
	if err := j.begin(options.Identity); err != nil {
		// Other faults follow from the failed disk operation.
		if broken := j.disk.broken(); broken != nil {
			err = fmt.Errorf("open folder %q: %w", folder, broken)
		}
		return nil, errors.Join(err, j.closeDatabase(), j.lock.Close())
	}
	j.disk.patience.open.Store(true)
	j.writer.Add(1)
	go j.write()
	j.reader.Add(1)
	go j.read()
	return j, nil
}

func (o Options) check() (Options, error) {
	switch {
	case o.MaxRequests < 0:
		return o, fmt.Errorf("MaxRequests is %d; 1 or more is allowed, and 0 for 4096", o.MaxRequests)
	case o.MaxBytes < 0:
		return o, fmt.Errorf("MaxBytes is %d; 1 or more is allowed, and 0 for 64 MiB", o.MaxBytes)
	case o.Ahead < 0:
		return o, fmt.Errorf("the option Ahead is %d; 1 or more is allowed, and 0 for 512 KiB", o.Ahead)
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = 4096
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Ahead == 0 {
		o.Ahead = 512 << 10
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o, nil
}

// lockFolder locks a folder, and informs the disk.
func lockFolder(d *disk, folder string) (io.Closer, error) {
	lock, err := d.FS.Lock(d.PathJoin(folder, lockName))
	switch {
	case err == nil:
		d.locked = true
		return lock, nil
	case errors.Is(err, syscall.EAGAIN), strings.Contains(err.Error(), "lock held by current process"):
		return nil, fmt.Errorf("lock folder %q: %w", folder, ErrInUse)
	}
	return nil, fmt.Errorf("lock folder %q: %w", folder, err)
}

// begin examines the folder, and opens its database.
func (j *Journal) begin(identity []byte) error {
	at := j.disk.PathJoin(j.folder, journalName)
	if _, err := j.disk.Stat(at); errors.Is(err, os.ErrNotExist) {
		if err := j.create(identity); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("look into folder %q: %w", j.folder, err)
	}
	seen, err := examine(j.disk.FS, j.folder)
	switch {
	case err != nil:
		return err
	case identity != nil && !bytes.Equal(identity, seen.identity):
		return &IdentityError{j.folder, seen.identity, identity}
	case len(seen.wrong) > 0:
		return seen.wrong[0]
	}
	j.identity, j.logs, j.root, j.synced = seen.identity, seen.logs, *seen.root, seen.root.batches
	// Data not synced in its former life is synced once the database is open, and not before.
	j.disk.floor = seen.floor
	if err := j.reach(at); err != nil {
		return err
	}
	if j.db, err = openDatabase(j.disk, j.folder, at, &pebble.EventListener{
		BackgroundError: func(err error) { j.disk.fail(j.unreadable(partDatabase, 0, 0, err)) },
		DataCorruption:  func(info pebble.DataCorruptionInfo) { j.disk.fail(j.corrupt(partDatabase, 0, 0, info.Details)) },
		FlushEnd:        func(pebble.FlushInfo) { j.flushed.Store(true) },
	}); err != nil {
		return err
	}
	if err := j.tidy(seen.unfinished); err != nil {
		return err
	}
	j.flushed.Store(false) // by opening it; the floor knows that
	j.raiseFloor()
	if err := j.disk.broken(); err != nil {
		return fmt.Errorf("open folder %q: %w", j.folder, err)
	}
	return nil
}

// reach opens the file that is written with every batch, and enables the floor. It names no log until the database has
// begun one.
func (j *Journal) reach(at string) error {
	if err := j.disk.replace(at, reachedName, encodeReached(j.disk.floor.batches)); err != nil {
		return err
	}
	reached, err := j.disk.OpenReadWrite(j.disk.PathJoin(at, reachedName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	j.reached, j.disk.floorAt = reached, at
	// While the database opens it removes the previously newest log, perhaps before it has the next: none is named
	// until then.
	j.disk.floor.log, j.disk.floor.size = "", 0
	return j.disk.raise(at)
}

// tidy removes the chunks of unfinished snapshots.
func (j *Journal) tidy(unfinished bool) error {
	if !unfinished {
		return nil
	}
	b := &batch{Batch: j.db.NewBatch(), sync: true}
	at := uint64(0)
	for log := range inOrder(j.logs) {
		if l := j.logs[log]; l.installed != 0 {
			if err := removeChunks(b, key(chunkKind, at), key(chunkKind, log, l.installed)); err != nil {
				return err
			}
			if err := removeChunks(b, key(chunkKind, log, l.installed+1), key(chunkKind, log, math.MaxUint64)); err != nil {
				return err
			}
			at = log + 1
		}
	}
	if err := removeChunks(b, key(chunkKind, at), []byte{endKind}); err != nil {
		return err
	}
	return errors.Join(j.apply(b, nil), b.Close())
}

func removeChunks(b *batch, from, to []byte) error {
	if bytes.Compare(from, to) >= 0 {
		return nil
	}
	if err := b.DeleteRange(from, to, nil); err != nil {
		return fmt.Errorf("remove an unfinished snapshot: %w", err)
	}
	return nil
}

// create makes a new journal in a folder without one. It is made under a temporary name and renamed when complete, so a
// crash leaves it whole or not at all.
func (j *Journal) create(identity []byte) error {
	names, err := j.disk.List(j.folder)
	if err != nil {
		return fmt.Errorf("look into folder %q: %w", j.folder, err)
	}
	for _, name := range names {
		if name != lockName && name != journalName+newSuffix {
			return fmt.Errorf("folder %q has %q and no journal; give the journal a folder of its own", j.folder, name)
		}
	}
	if identity == nil {
		return fmt.Errorf("open folder %q: %w", j.folder, ErrNone)
	}
	made := j.disk.PathJoin(j.folder, journalName+newSuffix)
	if err := errors.Join(j.disk.RemoveAll(made), j.disk.MkdirAll(j.disk.PathJoin(made, recordsName), 0o700)); err != nil {
		return err
	}
	j.root = root{identity: identitySum(identity)}
	db, err := pebble.Open(j.disk.PathJoin(made, recordsName), databaseOptions(j.disk, j.folder, nil))
	if err != nil {
		return fmt.Errorf("make a database in folder %q: %w", j.folder, err)
	}
	value, _ := sealed(0, key(rootKind), j.root.encode())
	if err := errors.Join(db.Set(key(rootKind), value, pebble.Sync), db.Close()); err != nil {
		return fmt.Errorf("make a database in folder %q: %w", j.folder, err)
	}
	log := j.disk.newest.Load()
	if err := errors.Join(
		j.disk.replace(made, reachedName, encodeReached(0)),
		j.disk.replace(made, floorName, floor{log: log.name, size: log.size}.encode()),
		j.disk.replace(made, identityName, encodeIdentity(identity)),
		j.disk.syncFolder(made),
		j.disk.Rename(made, j.disk.PathJoin(j.folder, journalName)),
		j.disk.syncFolder(j.folder),
		j.disk.broken(),
	); err != nil {
		return fmt.Errorf("make a journal in folder %q: %w", j.folder, err)
	}
	return nil
}
