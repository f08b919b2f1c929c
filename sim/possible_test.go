package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/simtest"
)

// TestWhatCannotHappenIsNotRun checks that a named fault must be possible in the protocol, and that the set of all
// means the possible ones.
func TestWhatCannotHappenIsNotRun(t *testing.T) {
	central, election := config("central").Protocol, electionProtocol()
	likeCentral := func(name string, stores bool) Protocol {
		d := simtest.Describe(name, func(s *protocol.Setup) protocol.Machine {
			m, err := central.Options().New(s)
			if err != nil {
				panic(err)
			}
			return m
		})
		d.Stores = stores
		return Of(d)
	}
	plain, stored, odd := likeCentral("plain", false), likeCentral("stored", true), likeCentral("odd", false)
	odd.Faults = 1 << StoreFail
	for _, c := range []struct {
		protocol Protocol
		faults   Faults
		says     string // empty if it is run
	}{
		{central, Within, ""},
		{central, Beyond, ""},
		{central, Within | Beyond, ""},
		{central, 0, ""},
		{central, Within &^ ofStores, ""},
		{central, 1 << StoreSlow, `fault "store-slow" cannot happen to protocol central; all, beyond, none and delay, `},
		{central, 1<<Crash | 1<<StoreFail | 1<<PauseBeyond, `fault "store-fail" cannot happen to protocol central; `},
		{central, Within.Without(Crash), `fault "store-slow" cannot happen to protocol central; `},
		{election, 1 << Operator, `fault "operator" cannot happen to protocol election; `},
		{election, 1<<Any | 1<<DriftBeyond, ""},
		{plain, 1 << Any, `fault "any" cannot happen to protocol plain; `},
		{plain, 1 << StoreSlow, `fault "store-slow" cannot happen to protocol plain; `},
		{stored, ofStores | 1<<Crash, ""},
		{stored, stored.Faults.Without(StoreSlow), ""},
		{odd, 0, `Protocol odd has the fault "store-fail" and no Stores; `},
	} {
		c.protocol.Fewest, c.protocol.Most = 3, 3
		config := Config{Protocol: c.protocol, Faults: c.faults, Duration: time.Second}
		_, err := Run(config, 1, nil)
		_, many := RunMany(config, 1, 1, 1, nil)
		_, _, recorded := Record(config, 1, nil)
		for _, err := range []error{err, many, recorded} {
			switch {
			case c.says == "" && err != nil:
				t.Errorf("%s with %v: %v", c.protocol.Name, c.faults, err)
			case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), "sim: ") || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s with %v: %v; want %q in it", c.protocol.Name, c.faults, err, c.says)
			}
		}
		script := usualScript()
		script.Protocol, script.Founders, script.Names = c.protocol.Name, script.Members, []Name{{Name: "n0"}}
		script.Faults, script.Duration = c.faults, time.Second
		if !c.protocol.Locks {
			script.Names = nil
		}
		if _, err := Play(&script, Stage{Protocol: c.protocol}); (err != nil) != (c.says != "" && c.faults != 0) {
			t.Errorf("a script of %s with %v: %v", c.protocol.Name, c.faults, err)
		}
	}
}

// TestAllIsCutDown checks that the set of all faults is reduced to the possible ones, and that runs have no others.
func TestAllIsCutDown(t *testing.T) {
	for _, p := range Protocols() {
		if never := p.Faults & ofStores; never != 0 && !p.Stores {
			t.Errorf("%v can happen to %s, which asks no store", never, p.Name)
		}
		for seed := range uint64(50) {
			w := newWorld(&Config{Protocol: p, Members: 3, Faults: Within, Duration: time.Second}, seed, nil, newCounts(false))
			if more := w.settings.faults &^ p.Faults; more != 0 {
				t.Fatalf("seed %d of %s has %v", seed, p.Name, more)
			}
		}
	}
}
