//go:build unix && !linux

package target

// canPin reports whether this system can pin processes to CPUs.
const canPin = false

// resident returns 0: only the heap is known here.
func resident() int64 { return 0 }

// cpus is a set of CPUs.
type cpus struct{}

func ownCPUs() (cpus, error) { return cpus{}, nil }

func lastOf(set cpus) cpus { return set }

func pin(int, cpus) error { return nil }
