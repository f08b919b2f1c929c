package parallel

import "testing"

// Brief reports whether tests that start members, programs or databases, or repeat what others test once, are left out: with
// -short, for the time between two edits. Under the race detector they are not: its run with -short, in .ci/run, has one of
// each kind of them.
func Brief() bool { return testing.Short() && !raced }

// SkipBrief leaves a test out where Brief says so.
func SkipBrief(t testing.TB) {
	t.Helper()
	if Brief() {
		t.Skip("it takes long, or starts programs; run without -short")
	}
}
