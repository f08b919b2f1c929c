// Package simtest helps the author of a protocol to try it in the simulator.
//
// A production protocol takes requests, ends waits and sessions, revokes holds, and hands them over to the next
// authority. A [Front] does the first three for an experimental protocol, and makes the last one unnecessary. So such a
// protocol has about 60 lines: docs/simulator.md shows one, and sim/toy_test.go runs it.
//
// No program imports this package.
package simtest
