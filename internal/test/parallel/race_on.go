//go:build race

package parallel

// atOnce is the number of concurrent tests with the race detector, under which each keeps a processor busy several
// times as long: with six, leases of some seconds are kept.
const atOnce, ofPrograms = 6, 6

const raced = true
