//go:build race

package parallel

// atOnce is the number of tests at the same time where the race detector watches, and each keeps a processor busy several
// times as long: with six, leases of some seconds are kept.
const atOnce, ofPrograms = 6, 6

const raced = true
