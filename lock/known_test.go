package lock_test

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// TestCheckKnown: what could be granted once still has a name; what never could has none.
func TestCheckKnown(t *testing.T) {
	for name, known := range map[string]bool{
		"a": true, "a\u200bb": true, "\u202e": true, "a\u2028b": true, "\U000e0041": true, strings.Repeat("\u200b", 170): true,
		"": false, "\u200b\n": false, "\u200b\xff": false, strings.Repeat("\u200b", 171): false, "\x00": false,
	} {
		if err := lock.CheckKnown(name); (err == nil) != known {
			t.Errorf("CheckKnown(%q): %v", name, err)
		}
		if err := lock.CheckKnownText("reason", name); (err == nil) != (known || name == "" || len(name) == 513) {
			t.Errorf("CheckKnownText(%q): %v", name, err)
		}
	}
	if holdfast.CheckName("a\u200bb") == nil {
		t.Error("a new name may have a format character")
	}
}
