// Package open opens a store from a URL, with the driver of its scheme.
//
//	store, err := open.Open(ctx, "redis://cache.example/0")
//
//	memory://                       in this process, gone with it, and for it alone (package memory)
//	folder:///FOLDER, or /FOLDER    in a folder, for all processes of this machine (package folder)
//	pebble:///FOLDER                in a Pebble database in a folder, for one process (package pebble)
//	postgres://, postgresql://      in a table of PostgreSQL (package postgres)
//	redis://, rediss://             in Redis (package redis)
//	etcd://, etcds://               in etcd (package etcd)
//	cassandra://                    in Cassandra (package cassandra)
//
// Each driver's documentation describes the rest of its URL and its options.
//
// A program that imports this package links all drivers. One that needs a single driver imports that driver.
//
// # Passwords
//
// A URL may contain a password. No error of this package shows it, even if the driver's does; for logs use [Redacted].
package open
