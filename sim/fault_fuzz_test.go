package sim

import (
	"strings"
	"testing"
)

// FuzzParseFaults checks that an accepted list of faults reads the same again after formatting, and that an error has
// the unknown name.
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
