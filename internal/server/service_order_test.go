package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// TestDigestsStay: what a request with an id asks for has the sum that logs have kept of it, and another one has another.
func TestDigestsStay(t *testing.T) {
	whole := func() acquireInput {
		return acquireInput{
			Space: "jobs", Names: []string{"a", "b"},
			Attributes: holdfast.Attributes{
				Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 3}, Owner: "o", Reason: "r", Hold: 1<<53 + 1,
			},
			TTL: time.Minute, Session: "s.x", Require: holdfast.Fenced, Request: "id",
		}
	}
	for want, in := range map[string]acquireInput{
		"b4b186c36a39cf6b": whole(),
		"7fa8a760c0be244a": {Space: "jobs", Names: []string{"a"}, Request: "id"},
	} {
		if sum, err := digestOf(in); err != nil || fmt.Sprintf("%x", sum[:8]) != want {
			t.Errorf("%+v has the sum %x, want %s (%v)", in, sum[:8], want, err)
		}
	}
	sumOf := func(change func(*acquireInput)) string {
		in := whole()
		change(&in)
		sum, err := digestOf(in)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sum)
	}
	first := sumOf(func(*acquireInput) {})
	for what, change := range map[string]func(*acquireInput){
		"space": func(in *acquireInput) { in.Space = "other" }, "names": func(in *acquireInput) { in.Names = in.Names[:1] },
		"mode": func(in *acquireInput) { in.Mode = holdfast.ModeShared }, "units": func(in *acquireInput) { in.Units = 0 },
		"capacity": func(in *acquireInput) { in.Capacity++ }, "owner": func(in *acquireInput) { in.Owner = "" },
		"reason": func(in *acquireInput) { in.Reason = "other" }, "hold": func(in *acquireInput) { in.Hold-- },
		"whether it waits": func(in *acquireInput) { in.Wait = time.Second }, "ttl": func(in *acquireInput) { in.TTL = 0 },
		"session": func(in *acquireInput) { in.Session = "t.x" }, "class": func(in *acquireInput) { in.Require = holdfast.Available },
		"id": func(in *acquireInput) { in.Request = "other" },
	} {
		if sumOf(change) == first {
			t.Errorf("another %s has the same sum", what)
		}
	}
	if sumOf(func(in *acquireInput) { in.Client, in.Arrived = "web-2", 7 }) != first {
		t.Error("the caller or the time is a part of the sum")
	}
	waits := sumOf(func(in *acquireInput) { in.Wait = time.Second })
	if sumOf(func(in *acquireInput) { in.Wait = time.Hour }) != waits {
		t.Error("how long a request waits is a part of the sum")
	}
}
