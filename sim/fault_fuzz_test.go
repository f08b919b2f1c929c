package sim

import (
	"strings"
	"testing"
)

// FuzzParseFaults: a list of faults that is accepted is written so that it is read the
// same again, and an error names what is unknown.
func FuzzParseFaults(f *testing.F) {
	for _, seed := range append([]string{"", "all", "beyond", "none", "none,none", "all,beyond", ",", "all,", "x"}, strings.Join(faultNames[:], ","), faultNames[0]) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		set, err := ParseFaults(list)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fault ") {
				t.Errorf("%q: %v", list, err)
			}
			return
		}
		if again, err := ParseFaults(set.String()); err != nil || again != set {
			t.Errorf("%q is %v, which is read as %v: %v", list, set, again, err)
		}
	})
}
