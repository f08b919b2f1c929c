// Package open makes a store of a URL: whatever driver its scheme names.
//
//	store, err := open.Open(ctx, "redis://cache.example/0")
//
//	memory://                       in this process, gone with it, and nobody else's (package memory)
//	pebble:///FOLDER                in a folder of this machine (package pebble)
//	postgres://, postgresql://      in a table of PostgreSQL (package postgres)
//	redis://, rediss://             in Redis (package redis)
//	etcd://, etcds://               in etcd (package etcd)
//	cassandra://                    in Cassandra (package cassandra)
//
// What stands behind the scheme, and which options there are, each driver's own page says.
//
// Whoever imports this package links all drivers. Who knows which one he needs imports that.
//
// # Passwords
//
// A URL may have a password. No error of this package shows it, whatever the driver's says; for
// logs there is [Redacted].
package open
