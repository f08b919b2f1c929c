package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a kind of fault in a run. The names are the same in all formats.
type Fault uint8

// The faults. Those from DriftBeyond on leave the bounds within which the promises
// hold.
const (
	Delay Fault = iota
	Loss
	Duplicate
	Reorder
	Partition
	OneWay
	Crash
	Amnesia
	Pause
	Drift
	Skew
	Step
	Suspicion
	Join
	Leave
	Operator
	DiskSlow
	DiskFail
	DiskFull
	DiskTorn
	DiskLost
	StoreSlow // requests to the store take long, some longer than any member's timeout
	StoreFail // the store answers with an error, whether or not it has executed the request
	Any       // the space is in partition mode any: every side of a partition continues
	Preempt   // the member with the highest id leads, as published
	Misfit    // one member's configuration differs from that of the others
	Force     // a quorum is lost permanently, and an operator forces a view of the remaining members
	Drain     // a member accepts nothing new, and leaves once nothing is held through it
	Shutdown  // a member's process gets the signal to end
	DriftBeyond
	SkewBeyond
	PauseBeyond
	faultCount
)

var faultNames = [faultCount]string{
	"delay", "loss", "duplicate", "reorder", "partition", "one-way", "crash", "amnesia", "pause", "drift",
	"skew", "step", "suspicion", "join", "leave", "operator", "disk-slow", "disk-fail", "disk-full",
	"disk-torn", "disk-lost", "store-slow", "store-fail", "any", "preempt", "misfit", "force", "drain", "shutdown",
	"drift-beyond", "skew-beyond", "pause-beyond",
}

// String returns the name.
func (f Fault) String() string { return faultNames[f] }

// Faults is a set of faults.
type Faults uint64

// Within has all faults within the promised bounds, and Beyond those outside them. Later has the faults with a separate
// source of chance: half of the runs have none of them, and equal the runs before these faults existed.
const (
	Within Faults = 1<<DriftBeyond - 1
	Beyond Faults = 1<<faultCount - 1 - Within
	Later  Faults = Within + 1 - 1<<Any

	// ofStores has the faults of a shared store.
	ofStores Faults = 1<<StoreSlow | 1<<StoreFail
)

// Has reports whether f is in the set.
func (s Faults) Has(f Fault) bool { return s&(1<<f) != 0 }

// With returns the set and f.
func (s Faults) With(f Fault) Faults { return s | 1<<f }

// Without returns the set without f.
func (s Faults) Without(f Fault) Faults { return s &^ (1 << f) }

// All yields the faults of the set in the order of the formats.
func (s Faults) All() []Fault {
	var all []Fault
	for f := range faultCount {
		if s.Has(f) {
			all = append(all, f)
		}
	}
	return all
}

// String lists the names, as ParseFaults reads them.
func (s Faults) String() string {
	switch s {
	case 0:
		return "none"
	case Within:
		return "all"
	case Beyond:
		return "beyond"
	}
	return s.list(",")
}

// list lists the names.
func (s Faults) list(between string) string {
	var names []string
	for _, f := range s.All() {
		names = append(names, f.String())
	}
	return strings.Join(names, between)
}

// ParseFaults reads a comma-separated list of fault names, all (those within the promised bounds), beyond (those
// outside them) and none. The error names the unknown fault and the allowed ones.
func ParseFaults(list string) (Faults, error) {
	var set Faults
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "all":
			set |= Within
		case "beyond":
			set |= Beyond
		case "none":
			if list != name {
				return 0, fmt.Errorf("fault %q must be alone; %q names others with it", name, list)
			}
		default:
			f := slices.Index(faultNames[:], name)
			if f < 0 {
				return 0, fmt.Errorf("fault %q is unknown; all, beyond, none and %s are allowed", name, strings.Join(faultNames[:], ", "))
			}
			set = set.With(Fault(f))
		}
	}
	return set, nil
}
