// Package open makes a store of a URL: with the driver that its scheme names.
//
//	store, err := open.Open(ctx, "redis://cache.example/0")
//
//	memory://                       in this process, gone with it, and for it alone (package memory)
//	pebble:///FOLDER                in a folder of this machine (package pebble)
//	postgres://, postgresql://      in a table of PostgreSQL (package postgres)
//	redis://, rediss://             in Redis (package redis)
//	etcd://, etcds://               in etcd (package etcd)
//	cassandra://                    in Cassandra (package cassandra)
//
// What stands behind the scheme, and which options there are, each driver's own page says.
//
// A program that imports this package links all drivers. One that needs a single driver imports
// that.
//
// # Passwords
//
// A URL may have a password. No error of this package shows it, even if the driver's does; for
// logs there is [Redacted].
package open
