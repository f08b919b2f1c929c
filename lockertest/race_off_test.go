//go:build !race

package lockertest

// raceDetector says that the test binary does not report data races.
const raceDetector = false
