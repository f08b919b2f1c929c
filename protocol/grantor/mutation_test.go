package grantor_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestABreakIsRememberedBeyondTheView: a break whose answer is lost is executed once, though the
// grantor has had a view without the member that asked, and twice with the rule off.
func TestABreakIsRememberedBeyondTheView(t *testing.T) {
	defer mutation.Switch("")
	with, without := protocoltest.New(t, grantor.Descriptor()), protocoltest.New(t, grantor.Descriptor())
	datadriven.RunTest(t, "testdata/remembered.txt", func(t *testing.T, d *datadriven.TestData) string {
		for _, line := range protocoltest.Lines(d) {
			mutation.Switch("")
			with.Say(line)
			mutation.Switch("a break is forgotten with its view")
			without.Say(line)
		}
		said := with.Said()
		const executed = `: broke "X"`
		if n, off := strings.Count(said, executed), strings.Count(without.Said(), executed); n != 1 || off != 2 {
			t.Errorf("the break is executed %d times, and %d times with the rule off; want 1 and 2", n, off)
		}
		return said
	})
}
