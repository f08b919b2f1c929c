//go:build race

package lockertest

// raceDetector says that the test binary reports data races, as which it would count
// what a mutant without exclusion does to the suite's plain counters.
const raceDetector = true
