package target

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// FuzzOrder: an order is obeyed or refused, and its answer can be read.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{"", orderUsage, orderSettle, orderUsage + " 1", orderProcs, orderProcs + " 0", orderProcs + " -1", orderProcs + " 9223372036854775808", orderProcs + " 1000000000", orderProcs + " 2", "usage\x00", orderSample, orderFinish} {
		f.Add(seed)
	}
	procs := runtime.GOMAXPROCS(0)
	f.Fuzz(func(t *testing.T, order string) {
		verb, _, _ := strings.Cut(order, " ")
		if verb == orderProfile || verb == orderMemory {
			return // they write to any place that they name
		}
		defer runtime.GOMAXPROCS(procs)
		var s servant
		a := s.obey(order)
		known := slices.Contains([]string{orderProcs, orderUsage, orderSettle, orderSample, orderFinish}, verb)
		if !known && a.Error == "" || a.Event != "done" {
			t.Errorf("%q is answered %+v", order, a)
		}
		var again answer
		written, err := json.Marshal(a)
		if err != nil || json.Unmarshal(written, &again) != nil {
			t.Errorf("%q is answered %s (%v)", order, written, err)
		}
	})
}
