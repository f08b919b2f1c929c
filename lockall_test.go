package holdfast_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestTakeAll: names are asked for in order; those that are refused are waited for one by one; and after a refusal fewer are
// asked for together.
func TestTakeAll(t *testing.T) {
	var names []string
	for i := range 600 {
		names = append(names, fmt.Sprintf("%03d", i))
	}
	wanted, err := holdfast.NewRequests("", names)
	if err != nil {
		t.Fatal(err)
	}
	var requested []string
	var got []string
	take := func(r holdfast.PlacedRequest) { got = append(got, r.Name) }
	together := func(some []holdfast.PlacedRequest) (int, error) {
		requested = append(requested, fmt.Sprintf("%s+%d", some[0].Name, len(some)))
		for i, r := range some {
			if r.Name == "300" {
				return i, nil
			}
			take(r)
		}
		return len(some), nil
	}
	one := func(r holdfast.PlacedRequest) error {
		requested = append(requested, r.Name)
		take(r)
		return nil
	}
	if err := holdfast.TakeAll(wanted, 256, together, one); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, names) {
		t.Errorf("took %d names, want the %d in their order", len(got), len(names))
	}
	want := []string{"000+256", "256+256", "300", "301+2", "303+4", "307+8", "315+16", "331+32", "363+64", "427+128", "555+45"}
	if !slices.Equal(requested, want) {
		t.Errorf("asked %v\nwant  %v", requested, want)
	}
	refused := errors.New("refused")
	err = holdfast.TakeAll(wanted[:2], 256, func([]holdfast.PlacedRequest) (int, error) { return 1, nil }, func(r holdfast.PlacedRequest) error {
		return fmt.Errorf("%s: %w", r.Name, refused)
	})
	if !errors.Is(err, refused) || err.Error() != "001: refused" {
		t.Errorf("a name that is refused for good: %v", err)
	}
}
