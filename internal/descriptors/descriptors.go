package descriptors

import (
	"errors"

	"golang.org/x/sys/unix"
)

// most is the upper bound of Limit.
const most = 1 << 30

// reserve is the number of descriptors reserved for files and outgoing connections, if there are enough.
const reserve = 256

// Limit returns the maximum number of descriptors of this process: its limit of open files (RLIMIT_NOFILE), which the
// Go runtime has raised to the hard limit at the start.
func Limit() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur > most {
		return most
	}
	return int(files.Cur)
}

// ForConnections returns how many of limit descriptors are available for accepted connections: all but 256, or half, if
// that is more.
func ForConnections(limit int) int { return limit - min(reserve, limit/2) }

// ForTables returns how many tables a database keeps open under a limit: up to 64, and fewer if descriptors are scarce.
func ForTables(limit int) int { return min(max(limit/16, 4), 64) }

// Exhausted reports whether err means that this process or the system has no descriptor left. That is no fault of the
// disk or the network, and temporary.
func Exhausted(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }
