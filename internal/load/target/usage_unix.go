//go:build unix

package target

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// ownCPU returns this process's CPU time, user and system; 0 if the system does not report it.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// ownUsage returns this process's usage; its memory only if requested, because reading that stops it for a moment.
func ownUsage(memory bool) load.Usage {
	used := load.Usage{CPU: ownCPU()}
	if memory {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		used.Heap, used.Resident = int64(stats.HeapAlloc), resident()
	}
	return used
}

// ownFiles returns the number of this process's open file descriptors; 0 if the system does not report it.
func ownFiles() int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 0
	}
	return max(len(entries)-1, 0) // one is that of the listing itself
}
