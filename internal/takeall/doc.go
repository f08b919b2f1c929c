// Package takeall is a LockAll as a pure machine: no goroutine, no clock. The requests are made by its [Caller]: packages client and
// internal/host wait for the outcome of each, package sim goes on when there is one.
//
// Names are asked for in their order, so that two calls whose names overlap cannot wait for each other. Several are tried at the same
// time: an authority that writes each decision to its disk writes many at once. Elsewhere that gains little, and each is waited for.
//
// Nothing is held behind a name that is waited for: when a try is refused, what was asked for behind it is given up first. Then fewer
// names are tried together, so that what others want is seldom taken and given back.
package takeall
