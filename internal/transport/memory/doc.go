// Package memory is a network of members within one test.
//
// Nothing here runs by itself: sent messages stay in the [Network] until the test delivers them, in sending order, on
// the test's own goroutine. A [Script] may lose, duplicate or delay each message. So every run is the same, and the
// race detector sees every step.
//
// Messages are passed as values, not encoded.
//
// Only tests import this package: those of package run and of package node.
package memory
