package target

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// canPin reports whether this system can pin processes to CPUs.
const canPin = true

// resident returns this process's resident memory, in bytes; 0 if it cannot be read.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// cpus is a set of CPUs.
type cpus = unix.CPUSet

// ownCPUs returns the CPUs that this process may use.
func ownCPUs() (cpus, error) {
	var set cpus
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return set, fmt.Errorf("read the CPUs of this process: %w", err)
	}
	return set, nil
}

// lastOf returns just the last CPU of a set: the first has most of the machine's interrupts.
func lastOf(set cpus) (last cpus) {
	for cpu := len(set)*64 - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			last.Set(cpu)
			return last
		}
	}
	return set
}

// pin pins a process to these CPUs. That is a property of each thread, inherited by new ones: so it is repeated until
// there is no new thread.
func pin(process int, to cpus) error {
	folder := "/proc/" + strconv.Itoa(process) + "/task"
	done := map[int]bool{}
	for fresh := true; fresh; {
		fresh = false
		threads, err := os.ReadDir(folder)
		if err != nil {
			return fmt.Errorf("list the threads of process %d: %w", process, err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil || done[id] {
				continue
			}
			if err := unix.SchedSetaffinity(id, &to); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("choose the CPUs of process %d: %w", process, err)
			}
			done[id], fresh = true, true
		}
	}
	return nil
}
