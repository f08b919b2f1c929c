package permission_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

const (
	schedules = 200 // for each number of members and of entries
	wanted    = 40  // locks in each schedule
)

func exclusive(*schedule) lock.Request {
	return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}}
}

// TestExclusiveCosts checks that each lock costs 2(n−1) messages, regardless of contention between members and among
// the clients of one member.
func TestExclusiveCosts(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 9} {
		for _, clients := range []int{1, 3} {
			waited := 0
			each(t, schedules, func(t testing.TB, seed uint64) {
				s := newSchedule(t, seed, n, clients, permission.Config{})
				s.requests, s.left = exclusive, wanted
				s.run()
				if len(s.tokens) != wanted || len(s.entries) != wanted && n > 1 {
					t.Errorf("n=%d: %d grants and %d requests of %d", n, len(s.tokens), len(s.entries), wanted)
				}
				for e, about := range s.entries {
					if *about != (entered{requests: n - 1, replies: n - 1}) {
						t.Errorf("n=%d: request %d of member %d: %v", n, e.number, e.member, about)
					}
				}
				waited += s.waited
			})
			if waited == 0 && n > 1 {
				t.Errorf("n=%d: no client ever waited", n)
			}
		}
	}
}

// TestDeferCosts checks that with defer each peer that does not reply at once says so, at most once.
func TestDeferCosts(t *testing.T) {
	const n = 4
	defers := 0
	each(t, schedules, func(t testing.TB, seed uint64) {
		s := newSchedule(t, seed, n, 2, permission.Config{Options: permission.Options{Defer: true}})
		s.requests, s.left = exclusive, wanted
		s.run()
		for e, about := range s.entries {
			if about.requests != n-1 || about.replies != n-1 || about.defers > n-1 || about.frees != 0 {
				t.Errorf("request %d of member %d: %v", e.number, e.member, about)
			}
			defers += about.defers
		}
	})
	if defers == 0 {
		t.Error("no request was ever deferred")
	}
}

// TestRetainCosts checks that a lock of a name that no other member has wanted since is free, and that none costs more
// than 2(n−1). A request returns a kept permission to an older one that comes, and asks only its giver for it again; no
// request asks a peer twice, since a peer that has replied to it asks with younger stamps.
func TestRetainCosts(t *testing.T) {
	const n = 4
	free, some, full := 0, 0, 0
	each(t, schedules, func(t testing.TB, seed uint64) {
		s := newSchedule(t, seed, n, 2, permission.Config{Options: permission.Options{Retain: true}})
		s.requests, s.left = exclusive, wanted
		s.run()
		if len(s.tokens) != wanted {
			t.Errorf("%d grants of %d", len(s.tokens), wanted)
		}
		for e, about := range s.entries {
			if about.requests > n-1 || about.replies != about.requests || about.frees+about.defers != 0 {
				t.Errorf("request %d of member %d: %v", e.number, e.member, about)
			}
			if about.requests == n-1 {
				full++
			} else {
				some++
			}
		}
		free += wanted - len(s.entries)
	})
	if free == 0 || some == 0 || full == 0 {
		t.Errorf("of %d locks %d cost nothing, %d less than 2(n−1), and %d as much", schedules*wanted, free, some, full)
	}
}

// TestEntriesCost checks that with K entries a lock costs n−1 requests, and n−K replies before it enters. Late replies
// to one peer are merged into one, which settles all deferred requests; so the total is between 2n−K−1 and 2(n−1) for
// each lock.
func TestEntriesCost(t *testing.T) {
	for _, n := range []int{2, 3, 5, 8} {
		for k := 1; k <= n+1; k++ {
			most, merged := 0, 0
			each(t, schedules, func(t testing.TB, seed uint64) {
				s := newSchedule(t, seed, n, 2, permission.Config{Options: permission.Options{Capacity: k}})
				s.requests = func(*schedule) lock.Request {
					return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1, Capacity: k}}}
				}
				s.left = wanted
				s.run()
				if len(s.entries) != wanted {
					t.Errorf("n=%d K=%d: %d requests of %d", n, k, len(s.entries), wanted)
				}
				for e, about := range s.entries {
					if about.requests != n-1 || about.replies < n-k || about.replies > n-1 || about.frees+about.defers != 0 {
						t.Errorf("n=%d K=%d: request %d of member %d: %v", n, k, e.number, e.member, about)
					}
					merged += n - 1 - about.replies
				}
				if s.settled != wanted*(n-1) {
					t.Errorf("n=%d K=%d: replies settle %d requests, and %d were sent", n, k, s.settled, wanted*(n-1))
				}
				most = max(most, s.most)
			})
			if most != min(k, n) {
				t.Errorf("n=%d K=%d: %d were inside at once at most", n, k, most)
			}
			if (merged > 0) != (k > 1) {
				t.Errorf("n=%d K=%d: %d replies were merged with others", n, k, merged)
			}
		}
	}
}

// TestUnitsCost checks that a lock of several units costs n−1 requests, one answer of each peer before it enters, and
// another one of those that used some at first: 2(n−1) to 3(n−1), as long as a member has one request at a time.
func TestUnitsCost(t *testing.T) {
	const capacity = 4
	for _, n := range []int{2, 3, 5, 8} {
		most, frees := 0, 0
		each(t, schedules, func(t testing.TB, seed uint64) {
			s := newSchedule(t, seed, n, 1, permission.Config{})
			s.requests = func(s *schedule) lock.Request {
				return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1 + s.rand.IntN(capacity), Capacity: capacity}}}
			}
			s.left = wanted
			s.run()
			for e, about := range s.entries {
				if about.requests != n-1 || about.replies+about.frees < n-1 || about.replies > n-1 || about.frees > n-1 || about.defers != 0 {
					t.Errorf("n=%d: request %d of member %d: %v", n, e.number, e.member, about)
				}
				frees += about.frees
			}
			if s.settled != wanted*(n-1) {
				t.Errorf("n=%d: replies settle %d requests, and %d were sent", n, s.settled, wanted*(n-1))
			}
			most = max(most, s.most)
		})
		if most != min(n, capacity) || frees == 0 {
			t.Errorf("n=%d: %d were inside at once at most, and %d messages said what is used", n, most, frees)
		}
	}
}

// TestModesTogether checks that when several clients of every mode at each member want one name, the holders are
// compatible, and no client is left waiting.
func TestModesTogether(t *testing.T) {
	const capacity = 3
	for _, config := range []permission.Options{{}, {Defer: true}, {Retain: true}, {Defer: true, Retain: true}} {
		shared := 0
		each(t, schedules, func(t testing.TB, seed uint64) {
			s := newSchedule(t, seed, 4, 3, permission.Config{Options: config})
			s.requests = func(s *schedule) lock.Request {
				switch s.rand.IntN(3) {
				case 0:
					return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}}
				case 1:
					return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}}}
				}
				return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1 + s.rand.IntN(capacity), Capacity: capacity}}}
			}
			s.left = wanted
			s.run()
			if s.most > 1 {
				shared++
			}
		})
		if shared == 0 {
			t.Errorf("%+v: there were never two clients inside", config)
		}
	}
}
