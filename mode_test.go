package holdfast_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

func TestModesAndClassesByName(t *testing.T) {
	modes := map[holdfast.Mode]string{
		holdfast.ModeExclusive: "exclusive", holdfast.ModeShared: "shared", holdfast.ModeSlots: "slots",
	}
	for mode, name := range modes {
		var back holdfast.Mode
		text, err := json.Marshal(mode)
		if err != nil || string(text) != `"`+name+`"` || json.Unmarshal(text, &back) != nil || back != mode {
			t.Errorf("mode %v: JSON %s, %v, and back %v", mode, text, err, back)
		}
	}
	classes := map[holdfast.Class]string{
		holdfast.Advisory: "advisory", holdfast.Available: "available", holdfast.Fenced: "fenced",
	}
	for class, name := range classes {
		var back holdfast.Class
		text, err := json.Marshal(class)
		if err != nil || string(text) != `"`+name+`"` || json.Unmarshal(text, &back) != nil || back != class {
			t.Errorf("class %v: JSON %s, %v, and back %v", class, text, err, back)
		}
	}
	if mode, err := holdfast.ParseMode(""); mode != holdfast.ModeExclusive || err != nil {
		t.Errorf("the empty mode: %v, %v", mode, err)
	}
	if class, err := holdfast.ParseClass(""); class != holdfast.Advisory || err != nil {
		t.Errorf("the empty class: %v, %v", class, err)
	}
	for _, bad := range []string{"Exclusive", "x", "exclusive ", "mode(3)"} {
		if mode, err := holdfast.ParseMode(bad); err == nil || !strings.Contains(err.Error(), "want exclusive, shared or slots") {
			t.Errorf("ParseMode(%q) = %v, %v", bad, mode, err)
		}
		if class, err := holdfast.ParseClass(bad); err == nil || !strings.Contains(err.Error(), "want fenced, available or advisory") {
			t.Errorf("ParseClass(%q) = %v, %v", bad, class, err)
		}
	}
	if got := holdfast.Mode(9).String() + " " + holdfast.Class(9).String(); got != "mode(9) class(9)" {
		t.Errorf("values that are none print as %s", got)
	}
	if !(holdfast.Advisory < holdfast.Available && holdfast.Available < holdfast.Fenced) {
		t.Error("the classes are not ordered weakest first")
	}
}
