// Package watch is who watches which row, for drivers of package storage: the part of
// [storage.Store.Watch] that is the same in all of them.
//
// A driver has one [Hub] for each Store that it has opened. Its Watch calls the Hub's; where it
// learns that a row has changed, from itself or from a server, it calls Notify; and where it may
// have missed something, as after a connection was lost, NotifyAll. Neither of them ever waits
// for a watcher: each has a goroutine of its own, which calls back once for all that came
// meanwhile. So a row that changes a thousand times while its watcher is busy costs one call,
// and nothing grows.
//
// A Hub knows only the watchers of its own process. How word of a change comes from another
// one is the driver's affair.
package watch
