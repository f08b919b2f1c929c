//go:build !race

package parallel

// atOnce is the minimum number of tests of a package that run at the same time, if -parallel does not say otherwise.
// Tests of a cluster wait for nine tenths of their time: with 16, two processors are half busy, and leases of some
// seconds are kept. Tests that start programs load a machine more.
const atOnce, ofPrograms = 16, 10

const raced = false
