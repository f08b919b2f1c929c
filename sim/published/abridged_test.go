package published

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// The lengths of a long transcript in a file: its beginning and its end are enough for a person, as the middle repeats
// itself.
const (
	abridgeAbove = 500 // lines
	abridgeFirst = 250
	abridgeLast  = 200
)

// abridged omits the middle of a long text. The line in its place has a checksum of the omitted part, so that every
// change of it shows.
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

// TestAbridged checks that a short text is unchanged, and that a long one shows a change of any line.
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
