package journal

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database's own log ends, for the database, at the first batch that is not whole. It cannot
// always tell one that a crash has cut off from one that has rotted, and would lose with that
// all that comes behind. But the journal writes a batch only when the one before is synced, and
// says so in its root. So where a root is anywhere in the logs that knows of more synced batches
// than the database has, some have rotted.

// The form of the database's logs, as far as it matters: blocks, at whose beginning a header may
// stand in the middle of a root.
const (
	logSuffix = ".log"
	blockSize = 32 << 10
	blockHead = 19
)

// lookBehind blames the database if one of its logs has a root of a later time.
func (v *verifier) lookBehind(fs vfs.FS, at string, identity uint32) error {
	folder := fs.PathJoin(at, recordsName)
	names, err := fs.List(folder)
	if err != nil {
		return fmt.Errorf("look into folder %q: %w", folder, err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, logSuffix) {
			continue
		}
		data, err := readFile(fs, fs.PathJoin(folder, name))
		if err != nil {
			return fmt.Errorf("read folder %q: %w", folder, err)
		}
		if synced := latestSynced(data, identity); synced > v.root.batches {
			v.blame(partDatabase, 0, 0, "it ends at batch %d, and %s knows of %d that were synced: what comes behind is damaged or lost", v.root.batches, name, synced)
		}
	}
	return nil
}

// latestSynced returns the most synced batches that a root in data knows of.
func latestSynced(data []byte, identity uint32) (latest uint64) {
	const size = sumSize + rootSize
	look := func(b []byte) {
		for i := 0; i+size <= len(b); i++ {
			// Few places pass this, so that few sums are made.
			if binary.BigEndian.Uint32(b[i+size-4:]) != identity {
				continue
			}
			content, _, err := unseal(0, key(rootKind), b[i:i+size])
			if err != nil {
				continue
			}
			if r, err := decodeRoot(content); err == nil {
				latest = max(latest, r.synced)
			}
		}
	}
	look(data)
	for i := blockSize; i+blockHead+size <= len(data); i += blockSize {
		look(append(append([]byte{}, data[i-size:i]...), data[i+blockHead:i+blockHead+size]...))
	}
	return latest
}
