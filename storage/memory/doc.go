// Package memory is a key-column-value store in memory: the least that does all of what
// package storage promises, for tests, for demonstrations and to compare others with.
//
//	one := memory.New(memory.Config{})
//	two := one.Share()             // a second process, as it were, on the same rows
//	defer one.Close()
//	defer two.Close()
//
// It ends with its process and nothing of it is ever written down: so it is Durable only as a
// disk is that is thrown away with its machine, and locks kept in it hold between the
// goroutines of one process.
//
// # What it does where stores differ
//
// Of what the contract leaves open it can do either. Columns that were deleted are forgotten
// at once, as in PostgreSQL; with Config.Remember they are remembered that long, as in
// Cassandra, and then an addition under a timestamp that is not higher does not bring them
// back. A deletion under a lower timestamp than the column's changes nothing in both.
//
// Time is that of Config.Now. A test that gives it a clock of its own says when columns are
// forgotten: at the full second after their TTL, not earlier and not later.
//
// A request takes effect while one mutex is held, and none waits for anything else. Watchers
// hear of every change, whether or not the request asks for that.
package memory
