package target

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

// StartProfile starts a CPU profile of this process in a file.
func StartProfile(path string) (*os.File, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write a CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("write a CPU profile: %w", err), file.Close())
	}
	return file, nil
}

// FinishProfile finishes a profile of StartProfile; nil has no effect.
func FinishProfile(file *os.File) error {
	if file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	if err := file.Close(); err != nil {
		return fmt.Errorf("write a CPU profile: %w", err)
	}
	return nil
}

// WriteMemoryProfile writes a profile of this process's allocations since its start, and of its live memory.
func WriteMemoryProfile(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a memory profile: %w", err)
	}
	runtime.GC() // the profile is of the latest collection
	if err := errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close()); err != nil {
		return fmt.Errorf("write a memory profile: %w", err)
	}
	return nil
}
