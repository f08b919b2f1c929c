package storagetest

import (
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

func clockChecks() []check {
	return []check{{"clock", needClock, clock}}
}

// clock checks that all handles have one clock, that it advances, and that it is not far off that of the tests'
// machine, or of a server whose clock is set.
func clock(s *stage) {
	const far, jitter = 10 * time.Minute, 50 * time.Millisecond
	stores := s.several(3)
	read := func(store storage.Store) time.Time {
		at, err := store.Clock(s.ctx)
		if err != nil {
			s.Fatalf("Clock: %v", err)
		}
		return time.UnixMicro(at)
	}
	first := time.Time{}
	last := first
	for i := range 30 {
		before := time.Now()
		at := read(stores[i%3])
		if after := time.Now(); at.Before(before.Add(-far)) || at.After(after.Add(far)) {
			s.Fatalf("Clock says %v, where %v to %v was expected, and %v more on either side is allowed", at, before, after, far)
		}
		if i == 0 {
			first = at
		} else if at.Before(last.Add(-jitter)) {
			s.Fatalf("Clock says %v, and has said %v before", at, last)
		}
		last = at
	}
	for last.Equal(first) {
		if err := s.ctx.Err(); err != nil {
			s.Fatalf("Clock stands at %v: %v", first, err)
		}
		last = read(s)
	}
}
