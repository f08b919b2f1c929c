package draw

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// luminance is the relative luminance of a colour (WCAG 2.1, 1.4.3).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	if err != nil || len(colour) != 7 {
		t.Fatalf("%q is no colour: %v", colour, err)
	}
	part := func(shift uint) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.03928 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast checks that text has a contrast of 4.5 to 1 on each of its backgrounds, and other visible elements 3 to
// 1.
func TestContrast(t *testing.T) {
	for name, p := range map[string]palette{"light": light, "dark": dark} {
		for _, c := range []struct {
			what, colour, ground string
			least                float64
		}{
			{"names", p.ink, p.ground, 7}, {"remarks", p.faint, p.ground, 4.5},
			{"messages", p.sent, p.ground, 4.5}, {"late ones", p.late, p.ground, 4.5}, {"copies", p.copy, p.ground, 4.5}, {"lost ones", p.lost, p.ground, 4.5},
			{"grants", p.held, p.ground, 4.5}, {"marks", p.mark, p.ground, 4.5}, {"faults of many", p.lost, p.cut, 4.5},
			{"the broken promise", p.wrong, p.behind, 4.5}, {"a red bar", p.wrong, p.ground, 3},
			{"a bar's edge", p.held, p.ground, 3}, {"a red edge of a green bar", p.wrong, p.bar, 1.5}, {"lifelines", p.line, p.ground, 3},
			{"who may grant", p.reign, p.ground, 3}, {"words over a bar", p.held, p.bar, 2},
		} {
			if got := contrast(t, c.colour, c.ground); got < c.least {
				t.Errorf("%s: %s has %.2f to 1, want %.1f", name, c.what, got, c.least)
			}
		}
	}
	if got := contrast(t, "#000000", "#ffffff"); math.Abs(got-21) > 0.01 {
		t.Errorf("black on white has %.2f to 1", got)
	}
}

// TestEveryColourIsInBothSchemes checks that the dark rules replace each of the light ones.
func TestEveryColourIsInBothSchemes(t *testing.T) {
	selectors := func(p palette) string {
		var all []string
		for _, rule := range strings.Split(p.rules(), "\n") {
			selector, _, _ := strings.Cut(rule, "{")
			all = append(all, selector)
		}
		return strings.Join(all, "\n")
	}
	if selectors(light) != selectors(dark) {
		t.Error("the schemes have different rules")
	}
	if !strings.Contains(style(), "@media (prefers-color-scheme:dark){\n"+dark.rules()+"}") {
		t.Error("the dark scheme is not asked for")
	}
}
