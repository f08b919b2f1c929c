package parallel

import "testing"

// Brief reports whether to skip tests that start members, programs or databases, or repeat what others test once: with
// -short, for the time between two edits. Under the race detector they are not skipped: its run with -short, in
// .ci/run, has one of each kind.
func Brief() bool { return testing.Short() && !raced }

// SkipBrief skips a test if Brief is true.
func SkipBrief(t testing.TB) {
	t.Helper()
	if Brief() {
		t.Skip("it takes long, or starts programs; run without -short")
	}
}
