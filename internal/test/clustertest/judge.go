package clustertest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Verdict is the result of comparing the workers' reports with the promises.
type Verdict struct {
	Grants, Handoffs int
	Gap              time.Duration // the longest standstill after a fault
	Stale            int           // writes that the register refused
	Lost             int           // locks that their holders found lost
	Violations       []string
}

// place identifies a current stay: one worker has one of each lock at a time.
type place struct {
	worker int
	name   string
}

// stint is the provable time of a worker with a lock.
type stint struct {
	worker   int
	name     string
	token    holdfast.Token
	from, to time.Duration
}

// judge checks the promises against a history. Writes is the register's own count.
func judge(history []Event, writes uint64) Verdict {
	var v Verdict
	stints := v.read(history)
	byName := map[string][]stint{}
	for _, s := range stints {
		byName[s.name] = append(byName[s.name], s)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		of := byName[name]
		slices.SortStableFunc(of, func(a, b stint) int { return cmp.Compare(a.from, b.from) })
		v.Handoffs += handoffs(of)
		room := 1
		if name == PoolName {
			room = PoolCapacity / PoolUnits
		}
		v.Violations = append(v.Violations, crowded(name, of, room)...)
		if name == RegisterName {
			v.Violations = append(v.Violations, fallen(of)...)
		}
	}
	v.Grants = len(stints)
	v.Gap = LongestGap(history)
	v.count(history, writes)
	return v
}

// read extracts the stints of a history, and records its errors. A stay without an end counts at least at the instant
// of its beginning.
func (v *Verdict) read(history []Event) (stints []stint) {
	open := map[place]int{}
	for _, e := range history {
		at := place{e.Worker, e.Name}
		switch e.Kind {
		case Entered:
			open[at] = len(stints)
			stints = append(stints, stint{worker: e.Worker, name: e.Name, token: e.Token, from: e.At, to: e.At})
		case Left, Lost:
			if i, found := open[at]; found {
				stints[i].to = e.At
				delete(open, at)
			}
		case Gone:
			if e.Why != "" {
				v.Violations = append(v.Violations, fmt.Sprintf("worker %d ended by itself: %s", e.Worker, e.Why))
			}
		case Failed:
			v.Violations = append(v.Violations, fmt.Sprintf("worker %d: %s", e.Worker, e.Why))
		}
	}
	return stints
}

// count compares the register's count with the reports.
func (v *Verdict) count(history []Event, writes uint64) {
	var wrote, killed uint64
	for _, e := range history {
		switch e.Kind {
		case Wrote:
			wrote++
		case Refused:
			v.Stale++
		case Lost:
			v.Lost++
		case Killed:
			killed++
		}
	}
	// A worker killed between its write and its report has one more write than reports.
	if writes < wrote || writes > wrote+killed {
		v.Violations = append(v.Violations, fmt.Sprintf("the register has taken %d writes, the workers tell of %d", writes, wrote))
	}
}

// handoffs counts the changes of the holder.
func handoffs(stints []stint) (n int) {
	for i := 1; i < len(stints); i++ {
		if stints[i].worker != stints[i-1].worker {
			n++
		}
	}
	return n
}

// crowded finds instants with more workers inside than there is room.
func crowded(name string, stints []stint, room int) (violations []string) {
	var in []stint
	for _, s := range stints {
		in = slices.DeleteFunc(in, func(other stint) bool { return other.to < s.from })
		in = append(in, s)
		if len(in) > room {
			violations = append(violations, fmt.Sprintf("%s: worker %d entered under token %v while %s", name, s.worker, s.token, others(in[:len(in)-1])))
		}
	}
	return violations
}

func others(in []stint) string {
	text := ""
	for i, s := range in {
		if i > 0 {
			text += " and "
		}
		text += fmt.Sprintf("worker %d was in under %v", s.worker, s.token)
	}
	return text
}

// fallen finds tokens that did not rise.
func fallen(stints []stint) (violations []string) {
	for i := 1; i < len(stints); i++ {
		if stints[i].token <= stints[i-1].token {
			violations = append(violations, fmt.Sprintf("token %v followed token %v", stints[i].token, stints[i-1].token))
		}
	}
	return violations
}

// LongestGap returns the longest time without a grant that began, or continued, after a fault and before the next calm.
func LongestGap(history []Event) (longest time.Duration) {
	grants := make([]time.Duration, 0, len(history))
	for _, e := range history {
		if e.Kind == Entered {
			grants = append(grants, e.At)
		}
	}
	slices.Sort(grants)
	for i, e := range history {
		if e.Kind != Fault && e.Kind != Killed {
			continue
		}
		until := time.Duration(1<<63 - 1)
		if next := slices.IndexFunc(history[i:], func(e Event) bool { return e.Kind == Calm }); next >= 0 {
			until = history[i+next].At
		}
		last := e.At
		for _, at := range grants {
			if at > until {
				break
			}
			if at > e.At {
				longest = max(longest, at-last)
				last = at
			}
		}
	}
	return longest
}
