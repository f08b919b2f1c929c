package demo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// judge holds the promises against what the workers tell.
type judge struct {
	capacity int // of the pool

	stays    []stay
	open     map[place]int // index of the stay that has not ended
	wrote    uint64
	stale    int
	failures []string
	kills    []kill
}

// place is where a stay is going on: one worker has one of each lock at a time.
type place struct {
	worker int
	name   string
}

// stay is a worker's time with a lock: from is the latest at which it began, to the
// earliest at which it had ended.
type stay struct {
	worker   int
	name     string
	token    holdfast.Token
	from, to time.Duration
}

// kill is a holder's death.
type kill struct {
	worker int
	at     time.Duration
}

func newJudge(capacity int) *judge {
	return &judge{capacity: capacity, open: map[place]int{}}
}

// hear takes what a worker told.
func (j *judge) hear(e event) {
	at := place{e.worker, e.Name}
	switch e.Kind {
	case entered:
		j.open[at] = len(j.stays)
		j.stays = append(j.stays, stay{worker: e.worker, name: e.Name, token: e.Token, from: e.At, to: -1})
	case left, lost:
		if i, ok := j.open[at]; ok {
			j.stays[i].to = e.At
			delete(j.open, at)
		}
	case wrote:
		j.wrote++
	case refused:
		j.stale++
	case gone:
		if e.Why != "" {
			j.failures = append(j.failures, fmt.Sprintf("worker %d ended by itself: %s", e.worker, e.Why))
		}
	case failed:
		j.failures = append(j.failures, fmt.Sprintf("worker %d: %s", e.worker, e.Why))
	}
}

// killed notes a death: whatever the worker had, it does not use any more.
func (j *judge) killed(worker int, at time.Duration) {
	j.kills = append(j.kills, kill{worker, at})
	for p, i := range j.open {
		if p.worker == worker {
			j.stays[i].to = at
			delete(j.open, p)
		}
	}
}

// verdict is what the demo says in its last line.
type verdict struct {
	grants, handoffs int
	gap              time.Duration // the longest from a holder's death to the next holder
	stale            int
	violations       []string
	missing          []string // what should have happened and did not
}

// judge returns the verdict. Writes is what the register itself has counted.
func (j *judge) verdict(writes uint64) verdict {
	v := verdict{grants: len(j.stays), stale: j.stale}
	byName := map[string][]stay{}
	for _, s := range j.stays {
		byName[s.name] = append(byName[s.name], s)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		stays := byName[name]
		slices.SortFunc(stays, func(a, b stay) int { return int(a.from - b.from) })
		v.handoffs += handoffs(stays)
		room := 1
		if name == poolName {
			room = j.capacity / poolUnits
		}
		v.violations = append(v.violations, crowded(name, stays, room)...)
		if name == registerName {
			v.violations = append(v.violations, fallen(stays)...)
			v.gap = j.longestGap(stays)
		}
	}
	v.violations = append(v.violations, j.failures...)
	// A worker that is killed or stopped between its write and its word has written
	// once more than it told.
	if writes < j.wrote || writes > j.wrote+uint64(len(j.kills)) {
		v.violations = append(v.violations, fmt.Sprintf("the register has taken %d writes, the workers tell of %d", writes, j.wrote))
	}
	if v.handoffs == 0 {
		v.missing = append(v.missing, "no lock changed hands")
	}
	if v.stale == 0 {
		v.missing = append(v.missing, "no stale write was refused")
	}
	if len(j.kills) == 0 {
		v.missing = append(v.missing, "no holder was killed")
	}
	return v
}

// handoffs counts how often the holder changed.
func handoffs(stays []stay) (n int) {
	for i := 1; i < len(stays); i++ {
		if stays[i].worker != stays[i-1].worker {
			n++
		}
	}
	return n
}

// crowded finds the instants at which more were in than there is room.
func crowded(name string, stays []stay, room int) (violations []string) {
	var in []stay
	for _, s := range stays {
		in = slices.DeleteFunc(in, func(other stay) bool { return other.to >= 0 && other.to <= s.from })
		in = append(in, s)
		if len(in) > room {
			violations = append(violations, fmt.Sprintf("%s: worker %d entered under token %v while %s", name, s.worker, s.token, others(in[:len(in)-1])))
		}
	}
	return violations
}

func others(in []stay) string {
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
func fallen(stays []stay) (violations []string) {
	for i := 1; i < len(stays); i++ {
		if stays[i].token <= stays[i-1].token {
			violations = append(violations, fmt.Sprintf("token %v followed token %v", stays[i].token, stays[i-1].token))
		}
	}
	return violations
}

// longestGap returns how long the register stood still after a holder's death.
func (j *judge) longestGap(stays []stay) (longest time.Duration) {
	for _, k := range j.kills {
		i := slices.IndexFunc(stays, func(s stay) bool { return s.from > k.at })
		if i >= 0 {
			longest = max(longest, stays[i].from-k.at)
		}
	}
	return longest
}

// String is the last line of the demo's output.
func (v verdict) String() string {
	word := "ok"
	if len(v.violations) > 0 || len(v.missing) > 0 {
		word = "FAILED"
	}
	return fmt.Sprintf("demo: %s grants=%d handoffs=%d failover_gap=%.2fs stale_refused=%d violations=%d",
		word, v.grants, v.handoffs, v.gap.Seconds(), v.stale, len(v.violations))
}

// good reports whether all went as promised.
func (v verdict) good() bool { return len(v.violations) == 0 && len(v.missing) == 0 }
