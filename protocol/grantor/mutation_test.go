package grantor_test

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestABreakIsRememberedBeyondTheView checks that a break whose answer is lost is executed once, though the grantor has
// had a view without the asking member, and twice with the rule disabled.
func TestABreakIsRememberedBeyondTheView(t *testing.T) {
	defer mutation.Switch("")
	with, without := protocoltest.New(t, grantor.Descriptor()), protocoltest.New(t, grantor.Descriptor())
	const executed = `: broke "X"`
	n, off := 0, 0
	golden.PlayFile(t, "testdata/remembered.txt", func(l *golden.Line) string {
		text := l.Text()
		mutation.Switch("")
		said := with.Play(l)
		mutation.Switch("a break is forgotten with its view")
		n, off = n+strings.Count(said, executed), off+strings.Count(without.Say(text), executed)
		return said
	})
	if n != 1 || off != 2 {
		t.Errorf("the break is executed %d times, and %d times with the rule off; want 1 and 2", n, off)
	}
}
