package peer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// tick is the unit of time in /proc, the same on all of Go's platforms.
const tick = 10 * time.Millisecond

// gone reports whether a process has ended while it was examined.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

func proc(process int, file string) string {
	return filepath.Join("/proc", strconv.Itoa(process), file)
}

// usageOf returns the resource usage of a process and its descendants, including ended ones; memory only if requested,
// because it is slow.
func usageOf(process int, memory bool) (sum load.Usage, err error) {
	family, err := recipe.Family(process)
	if err != nil {
		return sum, err
	}
	for _, member := range family {
		used, err := usageOfOne(member, memory)
		switch {
		case gone(err) && member != process: // its usage is counted in its parent
		case err != nil:
			return sum, err
		default:
			sum = sum.Plus(used)
		}
	}
	return sum, nil
}

// Positions of the times in /proc/…/stat, after the name: user, system, and the same of ended children.
const (
	firstTime = 11
	lastTime  = 14
)

func usageOfOne(process int, memory bool) (used load.Usage, err error) {
	text, err := os.ReadFile(proc(process, "stat"))
	if err != nil {
		return used, fmt.Errorf("read what process %d has used: %w", process, err)
	}
	// The name, in parentheses, may contain any characters.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= lastTime {
		return used, fmt.Errorf("read what process %d has used: %q", process, text)
	}
	for _, field := range fields[firstTime : lastTime+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return used, fmt.Errorf("read what process %d has used: %w", process, err)
		}
		used.CPU += time.Duration(ticks) * tick
	}
	exact, err := threadsOf(process)
	if err != nil {
		return used, err
	}
	used.CPU = max(used.CPU, exact)
	if memory {
		used.Resident, err = resident(process)
	}
	return used, err
}

// threadsOf returns the exact CPU time of a process's live threads: the other times are rounded down, for many
// processes that each use little to nothing.
func threadsOf(process int) (sum time.Duration, err error) {
	files, err := filepath.Glob(proc(process, "task/*/schedstat"))
	if err != nil {
		return 0, fmt.Errorf("list the threads of process %d: %w", process, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if gone(err) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read what process %d has used: %w", process, err)
		}
		var nanoseconds int64
		if _, err := fmt.Sscan(string(text), &nanoseconds); err != nil {
			return 0, fmt.Errorf("read what process %d has used: %q: %w", process, text, err)
		}
		sum += time.Duration(nanoseconds)
	}
	return sum, nil
}

// resident returns a process's proportional share of memory: a shared page counts for each with its part (PSS).
func resident(process int) (int64, error) {
	text, err := os.ReadFile(proc(process, "smaps_rollup"))
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", process, err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if i := slices.Index(words, "Pss:"); i == 0 && len(words) == 3 {
			kilobytes, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the memory of process %d: %w", process, err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("read the memory of process %d: the system does not tell it", process)
}
