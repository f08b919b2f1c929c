package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A line of acquire can be split at its spaces, whatever the name.
func TestAcquireQuoteName(t *testing.T) {
	for name, want := range map[string]string{
		"orders/42": "orders/42", "a b": `"a b"`, `"`: `"\""`, `a"b`: `a"b`, "<&>": "<&>", "a\u2003<b": "\"a\u2003<b\"",
	} {
		got := quoteName(name)
		if got != want {
			t.Errorf("quoteName(%q) = %s, want %s", name, got, want)
		}
		if !strings.HasPrefix(got, `"`) {
			continue
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != name {
			t.Errorf("%s is %q in JSON: %v", got, back, err)
		}
	}
}

func TestAcquireSlots(t *testing.T) {
	for _, text := range []string{"", "1", "/", "1/", "/2", "a/b", "1/2/3", "1.5/2", "99999999999999999999/1"} {
		if units, capacity, err := parseSlots(text); err == nil {
			t.Errorf("parseSlots(%q) = %d, %d", text, units, capacity)
		}
	}
	if units, capacity, err := parseSlots("2/5"); units != 2 || capacity != 5 || err != nil {
		t.Errorf("parseSlots(2/5) = %d, %d, %v", units, capacity, err)
	}
}
