package holdfast_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func TestNewRequestResolvesOptions(t *testing.T) {
	called := -1
	r, err := holdfast.NewRequest("orders/42", holdfast.Slots(2, 5), holdfast.Wait(time.Second), holdfast.Hold(time.Minute),
		holdfast.Owner("job-7"), holdfast.Reason("nightly"), holdfast.Require(holdfast.Fenced),
		holdfast.OnQueued(func(position int) { called = position }))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "orders/42" || r.Mode != holdfast.ModeSlots || r.Units != 2 || r.Capacity != 5 || r.Try ||
		r.Wait != time.Second || r.Hold != time.Minute || r.Owner != "job-7" || r.Reason != "nightly" || r.Require != holdfast.Fenced {
		t.Errorf("got %+v", r)
	}
	if r.Queued(3); called != 3 {
		t.Errorf("OnQueued was called with %d, want 3", called)
	}
	plain, err := holdfast.NewRequest("a")
	if err != nil || plain.Mode != holdfast.ModeExclusive || plain.Wait != 0 || plain.Hold != 0 || plain.Queued != nil || plain.Require != holdfast.Advisory {
		t.Errorf("a request without options: %+v, %v", plain, err)
	}
	shared, err := holdfast.NewRequest("a", holdfast.Shared(), holdfast.Shared())
	if err != nil || shared.Mode != holdfast.ModeShared {
		t.Errorf("a shared request: %+v, %v", shared, err)
	}
	limit, err := holdfast.NewRequest("a", holdfast.Slots(holdfast.MaxCapacity, holdfast.MaxCapacity))
	if err != nil || limit.Units != holdfast.MaxCapacity {
		t.Errorf("all of the largest capacity: %+v, %v", limit, err)
	}
}

// TestNewRequestRefuses wants errors that name the field, the value and what is allowed.
func TestNewRequestRefuses(t *testing.T) {
	for _, tt := range []struct {
		option holdfast.Option
		kind   error
		says   string
	}{
		{holdfast.Slots(0, 3), holdfast.ErrConflict, "slots 0/3: want 1 ≤ units ≤ capacity ≤ 2147483647"},
		{holdfast.Slots(4, 3), holdfast.ErrConflict, "slots 4/3"},
		{holdfast.Slots(-1, 3), holdfast.ErrConflict, "slots -1/3"},
		{holdfast.Slots(1, holdfast.MaxCapacity+1), holdfast.ErrConflict, "slots 1/2147483648"},
		{holdfast.Wait(0), holdfast.ErrConflict, "wait limit 0s: want more than 0"},
		{holdfast.Wait(-time.Second), holdfast.ErrConflict, "wait limit -1s"},
		{holdfast.Hold(0), holdfast.ErrConflict, "hold limit 0s: want more than 0"},
		{holdfast.Hold(-time.Second), holdfast.ErrConflict, "hold limit -1s"},
		{holdfast.Owner("a\n"), holdfast.ErrName, "owner: "},
		{holdfast.Owner(strings.Repeat("x", holdfast.MaxText+1)), holdfast.ErrName, "owner has 1025 bytes"},
		{holdfast.Reason("\xff"), holdfast.ErrName, "reason: "},
		{func(r *holdfast.Request) { r.Units = 1 }, holdfast.ErrConflict, "units 1, capacity 0: they go with mode slots only"},
		{func(r *holdfast.Request) { r.Wait = -1 }, holdfast.ErrConflict, "neither may be negative"},
		{func(r *holdfast.Request) { r.Hold = -1 }, holdfast.ErrConflict, "neither may be negative"},
		{func(r *holdfast.Request) { r.Mode = 7 }, holdfast.ErrConflict, "mode(7): want exclusive, shared or slots"},
		{holdfast.Require(7), holdfast.ErrConflict, "class(7): want fenced, available or advisory"},
	} {
		_, err := holdfast.NewRequest("a", tt.option)
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("got %v, want %v saying %q", err, tt.kind, tt.says)
		}
	}
	_, err := holdfast.NewRequest("a", holdfast.Shared(), holdfast.Slots(1, 2))
	if !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), "modes shared and slots in one request") {
		t.Errorf("two modes: %v", err)
	}
	if _, err := holdfast.NewRequest("", holdfast.Shared()); !errors.Is(err, holdfast.ErrName) {
		t.Errorf("no name: %v", err)
	}
	if _, err := holdfast.NewRequest("a", holdfast.Wait(-1), holdfast.Wait(time.Second)); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a bad option before a good one: %v", err)
	}
}

func TestNewRequests(t *testing.T) {
	all, err := holdfast.NewRequests("billing", []string{"b", "c", "a"}, holdfast.Shared())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a2", "b0", "c1"} {
		if got := fmt.Sprint(all[i].Name, all[i].Place); got != want || all[i].Mode != holdfast.ModeShared {
			t.Errorf("request %d is %s %v, want %s", i, got, all[i].Mode, want)
		}
	}
	if all, err := holdfast.NewRequests("", nil); len(all) != 0 || err != nil {
		t.Errorf("no names: %v %v", all, err)
	}
	for _, tt := range []struct {
		names []string
		want  error
		text  string
	}{
		{[]string{"a", "b", "a"}, holdfast.ErrConflict, `lock "a" in space "billing": conflict: the name is listed twice`},
		{[]string{"a", ""}, holdfast.ErrName, `lock in space "billing": bad name`},
	} {
		if _, err := holdfast.NewRequests("billing", tt.names); !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), tt.text) {
			t.Errorf("%q: %v, want %s", tt.names, err, tt.text)
		}
	}
}
