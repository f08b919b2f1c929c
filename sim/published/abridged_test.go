package published

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// How much of a long run a file has: a person reads its beginning and its end, and what lies between repeats itself.
const (
	abridgeAbove = 500 // lines
	abridgeFirst = 250
	abridgeLast  = 200
)

// abridged leaves the middle of a long text out. The line in its place has the sum of what is left out, so that no change of it
// goes unseen.
func abridged(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= abridgeAbove {
		return text
	}
	end := len(lines) - abridgeLast
	middle := strings.Join(lines[abridgeFirst:end], "")
	return fmt.Sprintf("%s… %d lines more, with the sum %x: `holdfast sim replay FILE --trace OUT` has them\n%s",
		strings.Join(lines[:abridgeFirst], ""), end-abridgeFirst, sha256.Sum256([]byte(middle)), strings.Join(lines[end:], ""))
}

// TestAbridged: a text that is short stays as it is, and a long one shows a change of any line.
func TestAbridged(t *testing.T) {
	long := strings.Repeat("a line\n", abridgeAbove+100)
	if short := long[:7*abridgeAbove-7]; abridged(short) != short {
		t.Error("a short text is abridged")
	}
	was := abridged(long)
	if n := strings.Count(was, "\n"); n > abridgeAbove {
		t.Errorf("it has %d lines", n)
	}
	for _, line := range []int{0, abridgeFirst, abridgeFirst + 50, abridgeAbove + 99} {
		changed := []byte(long)
		changed[7*line] = 'b'
		if abridged(string(changed)) == was {
			t.Errorf("a change of line %d is not seen", line)
		}
	}
}
