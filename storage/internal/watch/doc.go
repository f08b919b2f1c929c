// Package watch keeps the watchers of rows, for drivers of package storage: the part of [storage.Store.Watch] that is
// the same in all of them.
//
// A driver has one [Hub] for each Store that it has opened. Its Watch calls the Hub's. If it learns that a row has
// changed, from itself or from a server, it calls Notify; if it may have missed something, for example after a lost
// connection, NotifyAll. Neither ever waits for a watcher: each watcher has its own goroutine, which calls back once
// for all notices in the meantime. A row that changes a thousand times while its watcher is busy costs one call, and
// nothing grows.
//
// A Hub has only the watchers of its own process. The driver must carry notices of changes from other processes.
package watch
