//go:build unix && !linux

package target

// canPin says whether this system lets a process choose its CPUs.
const canPin = false

// resident is 0: the heap alone is known here.
func resident() int64 { return 0 }

// cpus is a set of CPUs.
type cpus struct{}

func ownCPUs() (cpus, error) { return cpus{}, nil }

func lastOf(set cpus) cpus { return set }

func pin(int, cpus) error { return nil }
