//go:build !race

package host_test

// raceDetector says that the test binary does not look for data races.
const raceDetector = false
