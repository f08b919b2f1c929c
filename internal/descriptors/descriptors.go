package descriptors

import (
	"errors"

	"golang.org/x/sys/unix"
)

// most is the largest limit that Limit returns.
const most = 1 << 30

// reserve is what is left for files, and for connections to others, where there is enough.
const reserve = 256

// Limit returns how many descriptors this process may have: its limit of open files (RLIMIT_NOFILE). The Go runtime has
// raised that to the hard limit when the program started.
func Limit() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur > most {
		return most
	}
	return int(files.Cur)
}

// ForConnections returns how many of limit descriptors the connections may have that this process accepts: all but 256,
// or half, if that is more.
func ForConnections(limit int) int { return limit - min(reserve, limit/2) }

// ForTables returns how many tables a database keeps open under a limit: up to 64, and fewer where there are few descriptors.
func ForTables(limit int) int { return min(max(limit/16, 4), 64) }

// Exhausted reports whether err says that this process or the system has no descriptor left. That says nothing about
// the disk or the network, and goes by.
func Exhausted(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }
