//go:build unix

package target

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// ownCPU is what this process has used, user and system; 0 where the system does not tell.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// ownUsage is what this process has used; its memory only where it is asked for, for
// looking at that stops it for a moment.
func ownUsage(memory bool) load.Usage {
	used := load.Usage{CPU: ownCPU()}
	if memory {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		used.Heap, used.Resident = int64(stats.HeapAlloc), resident()
	}
	return used
}

// ownFiles is how many file descriptors this process has open; 0 where the system does not
// tell.
func ownFiles() int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 0
	}
	return max(len(entries)-1, 0) // one is that of the look itself
}
