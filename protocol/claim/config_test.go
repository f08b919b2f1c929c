package claim

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestDefaults checks that the defaults are the documented ones, and leave a write half of its wait.
func TestDefaults(t *testing.T) {
	o := Options{RID: "a", Group: "g"}
	if err := o.resolveAll(0); err != nil {
		t.Fatal(err)
	}
	if o.Wait != 100*time.Millisecond || o.Expiry != 30*time.Second || o.Skew != o.Wait*5/12 || o.Retries != 3 || o.Unit != Micro {
		t.Errorf("%+v", o)
	}
	if budget := o.writeBudget(0); budget < o.Wait/2 || budget > o.Wait-o.Skew {
		t.Errorf("a write may take %v of %v with a skew of %v", budget, o.Wait, o.Skew)
	}
	if o.Belief() != 12*time.Second {
		t.Errorf("a client may believe for %v", o.Belief())
	}
}

// TestContradictions checks that contradictory options are refused, with the reason and a fix (W4 among them: a wait
// that contradicts the expiry).
func TestContradictions(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		options Options
		says    string // "" if it is allowed
	}{
		{Options{Wait: ms}, ""},
		{Options{Wait: time.Minute}, ""},
		{Options{Skew: 90 * ms}, "skew is 90ms with wait 100ms, which leaves a write 4.987709ms; raise wait to 181ms at least, or bring the clocks closer together and lower skew"},
		{Options{Skew: 84 * ms}, ""},
		{Options{Wait: 2 * ms, Skew: 800 * time.Microsecond, Unit: Milli}, "raise wait to 4ms at least"},
		{Options{Wait: 4 * ms, Skew: 800 * time.Microsecond, Unit: Milli}, ""},
		{Options{Wait: 5 * time.Second, Expiry: 3 * time.Second}, "expiry is 3s with wait 5s, retries 3 and skew 2.083333333s, so a claim could expire while it is written; raise expiry to 48.333333332s at least, or lower wait or retries"},
		{Options{Wait: 5 * time.Second}, ""}, // the default of expiry goes with it
		{Options{RID: strings.Repeat("r", 129)}, "1 to 128 bytes of UTF-8 are allowed"},
		{Options{RID: "\xff"}, "1 to 128 bytes of UTF-8 are allowed"},
		{Options{RID: "a\x00"}, "control characters are not allowed in it"},
		{Options{Group: strings.Repeat("g", 513)}, "1 to 256 bytes are allowed"},
		{Options{CAS: true, StoreClock: true}, "cas is on and clock is the store's"},
		{Options{CAS: true, Cleaner: true}, "cas and cleaner are both on"},
	} {
		o := c.options
		if o.RID == "" {
			o.RID = "a"
		}
		if o.Group == "" {
			o.Group = "g"
		}
		switch err := o.resolveAll(0.05); {
		case c.says == "" && err != nil:
			t.Errorf("%+v: %v", c.options, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%+v: %v; want %q in it", c.options, err, c.says)
		}
	}
	for _, o := range []Options{{Group: "g"}, {RID: "a"}} {
		if err := o.resolveAll(0); err == nil {
			t.Errorf("%+v is allowed", o)
		}
	}
}

// TestStoresThatDoNotDo checks that unsuitable stores are refused, by name.
func TestStoresThatDoNotDo(t *testing.T) {
	full := storage.Features{Name: "s", Consistent: true, Swap: true, Durable: true, Clock: true}
	less := func(change func(*storage.Features)) storage.Features {
		f := full
		change(&f)
		return f
	}
	for _, c := range []struct {
		store storage.Features
		with  Options
		says  string
		class holdfast.Class
	}{
		{full, Options{}, "", holdfast.Advisory},
		{full, Options{CAS: true}, "", holdfast.Fenced},
		{less(func(f *storage.Features) { f.Durable = false }), Options{CAS: true}, "", holdfast.Advisory},
		{less(func(f *storage.Features) { f.Consistent = false }), Options{}, "locks need a store that does", 0},
		{less(func(f *storage.Features) { f.Swap = false }), Options{CAS: true}, "cas is on, and s has no conditional writes; turn cas off, or use another store", 0},
		{less(func(f *storage.Features) { f.Clock = false }), Options{StoreClock: true}, "clock is the store's, and s has no single clock", 0},
	} {
		config := Config{Self: 1, Store: c.store, Options: c.with}
		config.RID, config.Group = "a", "g"
		m, err := New(config)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v with %+v: %v; want %q in it", c.store, c.with, err, c.says)
			}
		case err != nil:
			t.Errorf("%+v with %+v: %v", c.store, c.with, err)
		case m.config.Class(m.config.Store) != c.class:
			t.Errorf("%+v with %+v is %v", c.store, c.with, m.config.Class(m.config.Store))
		}
	}
}

// TestSkewSweep checks W: the slowest write that counts is there before the earliest rival without an older claim
// reads, for all clocks within the skew and the drift, and all roundings of timestamps.
func TestSkewSweep(t *testing.T) {
	const micro = time.Microsecond
	for _, unit := range []Unit{Micro, Milli, Nano} {
		for _, wait := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 5 * time.Second} {
			for share := range time.Duration(7) {
				for _, drift := range []float64{1e-9, 0.01, 0.05} {
					o := Options{Wait: wait, Skew: max(1, wait*share/12), Unit: unit, RID: "a", Group: "g"}
					if err := o.resolveAll(drift); err != nil {
						t.Fatal(err)
					}
					trySweep(t, &o, drift, micro)
				}
			}
		}
	}
}

// trySweep lets P claim at real time 0, and Q, whose wall clock is ahead by the skew, as early as possible without
// having the older claim.
func trySweep(t *testing.T, o *Options, drift float64, micro time.Duration) {
	t.Helper()
	for _, phase := range []time.Duration{0, micro, 500 * micro, 999 * micro} { // of P's wall clock within a millisecond
		p := 1_000_000*time.Hour/micro/1000 + phase/micro // in microseconds
		stamp := o.Unit.of(int64(p))
		early := time.Duration(0)
		for _, back := range []time.Duration{0, micro, 500 * micro, 999 * micro} {
			if o.Unit.of(int64(p-back/micro)) >= stamp {
				early = max(early, back)
			}
		}
		claims := -o.Skew - early
		reads := claims + time.Duration(float64(o.Wait)/(1+drift))
		there := time.Duration(float64(o.writeBudget(drift)) * (1 + drift))
		if there > reads {
			t.Errorf("wait=%v skew=%v unit=%v drift=%v: a claim is there after %v, and a rival has read after %v", o.Wait, o.Skew, o.Unit, drift, there, reads)
			return
		}
	}
}
