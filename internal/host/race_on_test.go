//go:build race

package host_test

// raceDetector says that the test binary looks for data races, and allocates for that.
const raceDetector = true
