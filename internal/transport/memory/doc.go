// Package memory is a network of members within one test.
//
// Nothing here runs by itself: what is sent lies in the [Network] until the test
// delivers it, in the order in which it was sent, on the test's own goroutine. A
// [Script] may lose, duplicate or delay each message. So a run is the same every
// time, and the race detector sees every step of it.
//
// Messages are passed on as they are, not encoded.
//
// Only tests import this package: those of package run and of package node.
package memory
