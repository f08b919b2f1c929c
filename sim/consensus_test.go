package sim

import (
	"runtime"
	"testing"
	"time"
)

// TestConsensusOutlasts checks for each fault of disks and clocks, together with crashes, that no promise is broken,
// that the fault has happened, and that its effect on a journal is counted.
func TestConsensusOutlasts(t *testing.T) {
	manySeeds(t)
	t.Parallel()
	const seeds = 25
	for fault, logs := range map[Fault][]mark{
		DiskSlow: {logSlow},
		DiskFail: {logFailed},
		DiskFull: {logFull, logClosed},
		DiskTorn: nil,
		DiskLost: {logLost, logDone, logUnfinished},
		Step:     nil,
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			c := config("consensus")
			c.Faults = Faults(0).With(fault).With(Crash).With(Partition)
			if fault == DiskTorn || fault == DiskLost { // a torn write needs a crash and a slow disk
				c.Faults, c.Bias = c.Faults.With(DiskLost).With(DiskSlow), Bias{AllFaults: true, Often: 4}
			}
			s, err := RunMany(c, 1, seeds, runtime.GOMAXPROCS(0), nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Worst != nil {
				t.Fatalf("seed %d: %v %v\n%s", s.Worst.Seed, s.Worst.Outcome, s.Worst.Violation, s.Worst.Settings)
			}
			if s.counts.faults[fault] == 0 || s.counts.faults[Crash] == 0 || s.Grants() < seeds {
				t.Errorf("in %d runs it has happened %d times, with %d crashes and %d grants", seeds, s.counts.faults[fault], s.counts.faults[Crash], s.Grants())
			}
			for _, what := range logs {
				if s.counts.hits[what] == 0 {
					t.Errorf("in %d runs it has never happened that %s", seeds, what.name)
				}
			}
		})
	}
}

// TestClocksAreSetByHours checks that a step of a wall clock is up to an hour in either direction, and that each run
// has several.
func TestClocksAreSetByHours(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	c := config("consensus")
	c.Faults = Faults(0).With(Step)
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	ahead, behind, sets := time.Duration(0), time.Duration(0), 0
	for seed := uint64(1); seed <= 20; seed++ {
		w := newWorld(&c, seed, nil, newCounts(true))
		if result := w.play(); result.Outcome != OK {
			t.Fatalf("seed %d: %v %v", seed, result.Outcome, result.Violation)
		}
		for _, m := range w.members {
			ahead, behind = max(ahead, m.wall), min(behind, m.wall)
		}
		sets += w.count.faults[Step]
	}
	if ahead < time.Hour || behind > -time.Hour || sets < 20 {
		t.Errorf("in 20 runs clocks were set %d times, and one is %v ahead, another %v", sets, ahead, behind)
	}
}

// TestConsensusSeeds runs seeds that once failed, like `holdfast sim --protocol consensus --faults all`:
//
//	219   an unlock was refused because its owner had limited the grant since
//	1362  a member gave up a client's request, and took away the lock that another member had granted for it meanwhile
//	1517  a session ended with the last lock that one member knew
//	5059  a grant was reported after its hold limit, because its confirmation came late
//	6925  a member answered a cancel that did not reach the leader, and another member granted the request
//	12954 a leader under removal wrote one entry more than the remaining members had, and then refused them its vote
func TestConsensusSeeds(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{219, 1362, 1517, 5059, 6925, 12954} {
		c := config("consensus")
		s, err := RunMany(c, seed, 1, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Worst != nil {
			t.Errorf("seed %d: %v %v", seed, s.Worst.Outcome, s.Worst.Violation)
		}
		t.Logf("seed %d: %d steps", seed, s.Steps)
	}
}
