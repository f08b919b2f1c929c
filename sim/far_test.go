package sim

import (
	"testing"
	"time"
)

// TestSomeMembersAreFar checks that an eighth of the runs with delays have distant members, half of them to the end;
// that the distance is within the members' promised bounds; and that runs that count messages, and those of one member,
// have none.
func TestSomeMembersAreFar(t *testing.T) {
	const seeds = 800
	for _, name := range []string{"central", "consensus"} {
		c := config(name)
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		far, part := 0, 0
		for seed := uint64(1); seed <= seeds; seed++ {
			s := drawn(&c, seed)
			f := &s.far
			if f.way == 0 {
				continue
			}
			far++
			if f.until > 0 {
				part++
			}
			if f.way < leastFar || f.way+s.weather.latency > s.lease/10+time.Millisecond || s.members == 1 || f.until > 0 && (f.until <= f.from || f.until > s.duration+time.Millisecond) {
				t.Errorf("seed %d of %s: %+v with %v between %d members", seed, name, *f, s.weather.latency, s.members)
			}
			for _, ttl := range s.ttl {
				if c.Protocol.Logs && ttl > 0 && ttl < 10*2*f.way {
					t.Errorf("seed %d of %s: a ttl of %v, and %v one way", seed, name, ttl, f.way)
				}
			}
		}
		if far < seeds/12 || far > seeds/6 || part < far/3 || part > far*2/3 {
			t.Errorf("%d of %d runs of %s are far, %d of them in a part", far, seeds, name, part)
		}
	}
	c := config("central")
	c.Faults = 0
	for seed := uint64(1); seed <= 100; seed++ {
		if f := drawn(&c, seed).far; f.way > 0 {
			t.Errorf("seed %d without faults: %+v", seed, f)
		}
	}
}

// TestFarByBias checks that with the bias each run of several members has the maximum distance, from beginning to end.
func TestFarByBias(t *testing.T) {
	for _, name := range []string{"election", "consensus"} {
		c := config(name)
		c.Bias = Bias{Far: true}
		for seed := uint64(1); seed <= 50; seed++ {
			s := drawn(&c, seed)
			far := s.far.way + s.weather.latency - s.lease/10
			if s.members > 1 && (s.far.from != 0 || s.far.until != 0 || far > time.Millisecond || far < -time.Millisecond) {
				t.Errorf("seed %d of %s: %+v with %v between %d members", seed, name, s.far, s.weather.latency, s.members)
			}
		}
	}
}

// TestAMessageTakesLonger checks that a message takes longer between distant members, and only while they are distant.
func TestAMessageTakesLonger(t *testing.T) {
	w := still(t, 3, 0)
	near := w.network.arrival(0, 1) - w.now
	begins := time.Duration(w.now) + time.Second
	w.settings.far = afar{way: 300 * time.Millisecond, from: begins, until: begins + time.Second}
	for _, at := range []struct {
		after time.Duration
		far   bool
	}{{0, false}, {time.Second, true}, {time.Second - 1, true}, {time.Second, false}} {
		w.run(w.now + at.after)
		if got := w.network.arrival(2, 1) - w.now; (got >= 300*time.Millisecond) != at.far || got > near+400*time.Millisecond {
			t.Errorf("at %v a message takes %v", w.now, got)
		}
	}
}
