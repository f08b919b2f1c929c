package mutation

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOneRuleIsOff, or none; all are on until one is switched off.
func TestOneRuleIsOff(t *testing.T) {
	defer Switch("")
	for _, step := range []struct {
		rule       string
		one, other bool
	}{{"", false, false}, {"one", true, false}, {"other", false, true}, {"", false, false}} {
		Switch(step.rule)
		if Off("one") != step.one || Off("other") != step.other {
			t.Errorf("switched to %q: one is off: %t, other is off: %t", step.rule, Off("one"), Off("other"))
		}
	}
}

// TestOffAllocatesNothing, whichever rule is switched off.
func TestOffAllocatesNothing(t *testing.T) {
	defer Switch("")
	for _, rule := range []string{"", "one"} {
		Switch(rule)
		count := 0
		if n := testing.AllocsPerRun(100, func() {
			if Off("one") {
				count++
			}
		}); n != 0 {
			t.Errorf("with %q switched off, asking allocates %v times", rule, n)
		}
		if (count > 0) != (rule == "one") {
			t.Errorf("with %q switched off, it was off %d times", rule, count)
		}
	}
}
