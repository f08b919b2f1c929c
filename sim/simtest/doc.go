// Package simtest helps an author of a protocol to try it in the simulator.
//
// A protocol that ships takes requests, ends waits and sessions, revokes what is held, and
// hands it over to the next authority. A [Front] does the first three for a protocol that
// is only tried, and makes the last one needless. So such a protocol has about 60 lines:
// docs/simulator.md shows one, and sim/toy_test.go runs it.
//
// No program imports this package.
package simtest
