//go:build !linux

package peer

import "github.com/holdfast-locks/holdfast/internal/load"

// familyOf is the process alone: this system is not asked for others.
func familyOf(process int) ([]int, error) { return []int{process}, nil }

// usageOf is not known.
func usageOf(int, bool) (load.Usage, error) { return load.Usage{}, nil }
