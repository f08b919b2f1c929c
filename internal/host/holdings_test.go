package host

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestHoldingsAreAMap compares the table with a map, for any numbers of requests.
func TestHoldingsAreAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var table holdings
		model := map[uint64]protocol.Port{}
		numbers := rapid.Uint64Range(1, rapid.SampledFrom([]uint64{20, 200, 1 << 62}).Draw(rt, "range"))
		for range rapid.IntRange(1, 400).Draw(rt, "steps") {
			request := numbers.Draw(rt, "request")
			if rapid.Bool().Draw(rt, "put") {
				port := protocol.Port(rapid.Uint16().Draw(rt, "port"))
				table.put(request, holding{port: port})
				model[request] = port
			} else {
				h, ok := table.remove(request)
				want, known := model[request]
				delete(model, request)
				if ok != known || h.port != want {
					rt.Fatalf("remove(%d) is %v %v, want %v %v", request, h.port, ok, want, known)
				}
			}
			if table.used != len(model) || 2*table.used > len(table.slots) {
				rt.Fatalf("%d are used of %d slots, want %d", table.used, len(table.slots), len(model))
			}
		}
		seen := 0
		for request, h := range table.all() {
			if got, ok := table.get(request); !ok || got != h || model[request] != h.port {
				rt.Fatalf("request %d has %v, want %v", request, h.port, model[request])
			}
			seen++
		}
		if seen != len(model) {
			rt.Fatalf("all yields %d, want %d", seen, len(model))
		}
	})
}
