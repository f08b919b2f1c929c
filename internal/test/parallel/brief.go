package parallel

import "testing"

// Brief reports whether to skip tests that start members, programs or databases, or that repeat a test many times: with
// -short, for the time between two edits. The race detector does not skip them: its run with -short, in .ci/run, has
// one of each kind.
func Brief() bool { return testing.Short() && !raced }

// SkipBrief skips a test if Brief does.
func SkipBrief(t testing.TB) {
	t.Helper()
	if Brief() {
		t.Skip("it takes long, or starts programs; run without -short")
	}
}
