//go:build !race

package node_test

// raceDetector says that the test binary does not look for data races.
const raceDetector = false
