//go:build unix && !linux

package folder

import (
	"os"
	"time"
)

// syncData returns when the contents of the file are on disk.
func syncData(f *os.File) error { return f.Sync() }

// readLimit is how long a read of a FIFO takes before it is repeated: some systems do not wake a reader when the last
// writer ends.
const readLimit = 100 * time.Millisecond
