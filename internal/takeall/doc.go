// Package takeall implements LockAll as a pure machine, without goroutines or clocks. Its [Caller] makes the requests:
// packages client and internal/host block until each outcome, package sim continues when one arrives.
//
// Names are requested in sorted order, so two calls with overlapping names cannot deadlock. Several are tried at the
// same time if the authority writes each decision to its disk, because it can write many at once. Otherwise that gains
// little, and names are requested one by one.
//
// No name after the one being waited for is held: when a try is refused, the names requested after it are released
// first. From then on fewer names are tried together, so locks that others want are seldom taken and given back.
package takeall
