//go:build !race

package parallel

// atOnce is how many tests of a package run at the same time at least, if -parallel does not say otherwise. Those of a
// cluster wait for nine tenths of their time: with 16, two processors are half busy, and leases of some seconds are kept.
// Tests that start programs load a machine more.
const atOnce, ofPrograms = 16, 10

const raced = false
