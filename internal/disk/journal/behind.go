package journal

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The database treats the first incomplete batch as the end of its log. It cannot always distinguish one cut off by a
// crash from one that has rotted, and would lose everything after it. But the journal writes a batch only when the
// previous one is synced, and records that in its root. So if a root anywhere in the logs counts more synced batches
// than the database has, some have rotted.

// The form of the database's logs, as far as it matters: blocks, each with a header, which may be in the middle of a
// root.
const (
	logSuffix = ".log"
	blockSize = 32 << 10
	blockHead = 19
)

// lookBehind reports corruption of the database if one of its logs has a later root.
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

// latestSynced returns the highest count of synced batches in any root in data.
func latestSynced(data []byte, identity uint32) (latest uint64) {
	const size = sumSize + rootSize
	look := func(b []byte) {
		for i := 0; i+size <= len(b); i++ {
			// Few places pass this, so few sums are computed.
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
