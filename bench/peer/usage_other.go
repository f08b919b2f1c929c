//go:build !linux

package peer

import "github.com/holdfast-locks/holdfast/internal/load"

// usageOf is not supported.
func usageOf(int, bool) (load.Usage, error) { return load.Usage{}, nil }
