// Package memory is a key-column-value store in memory: the simplest one with all the guarantees of package storage,
// for tests, for demonstrations and as a reference for others.
//
//	one := memory.New(memory.Config{})
//	two := one.Share()             // acts as a second process, on the same rows
//	defer one.Close()
//	defer two.Close()
//
// Its contents end with the process and are never written to disk. It is therefore Durable only in the sense of a disk
// that is discarded with its machine, and its locks hold between the goroutines of one process.
//
// # Where stores differ
//
// It can behave in either way that the contract allows. By default it forgets deleted columns at once, like PostgreSQL.
// With Config.Remember it remembers them for that long, like Cassandra, and then an addition under a timestamp that is
// not higher does not restore them. A deletion under a lower timestamp than the column's changes nothing in both.
//
// Time is that of Config.Now. A test that supplies a clock controls when columns expire: at the full second after their
// TTL, not earlier and not later.
//
// A request takes effect while one mutex is held, and waits for nothing else. Watchers are notified of every change,
// whether or not the request asks for that.
package memory
