// Package redis is a driver of package storage over one Redis server, version 6.2 or later, or a compatible one.
//
//	store, err := redis.Open(ctx, "redis://user:password@cache.example:6379/0?prefix=locks")
//
//	config.go   the URL: its options, and their defaults
//	store.go    requests, each one round trip; swap.go: those of Swap
//	column.go   how a row is stored in Redis: columns in order, in one key
//	mutate.lua  the script of Mutate; swap.lua that of Swap
//	watch.go    who is notified, by the server's invalidations
//	errors.go   what an error says about a request
//
// # The URL
//
// redis:// or, with TLS, rediss://; user and password, if the server requires them; one host and port (6379); the
// number of the database as path (0). Options:
//
//	prefix=NAME    of all keys, up to a colon ("holdfast")
//	timeout=TIME   time limit of a request, and of an attempt to connect (5s)
//	retries=N      maximum number of retries of a refused request, after 20 ms and then twice that
//	               each time (0)
//	ca, cert, key, server_name   with rediss, as in package location
//
// The server must be a primary: a replica is refused, because its answers are old. A cluster and a sentinel are
// refused, too. A failover must keep the primary's address.
//
// # Guarantees
//
// One primary handles requests one after the other, so rows are Consistent. They are not Durable, as Features reports:
// Redis answers before its replicas have a write, and by default before its disk has it. A failover, or a restart, can
// undo an answered write. Locks that must never be held twice need another store. maxmemory-policy must be noeviction,
// the default: any other one loses rows.
//
// # How a row is stored
//
// A row of Mutate is one sorted set in which all scores are 0, so that Redis keeps its members in the order of their
// bytes, and reads a range in O(log n). A member is
//
//	column, 0x00 as 0x00 0xff | 0x00 0x01 | timestamp, 8 bytes | end, 4 bytes | value
//
// The first two parts sort as columns do; the rest keeps all of a column's data in one atomic write. The end is in
// seconds since 1970 by the server's clock, 0 for none. A column that has ended is skipped, and removed by the next
// write to its row; if all columns of a row have an end, the row has it too, and Redis deletes the whole row. Deletions
// are not remembered.
//
// A row of Swap is a hash: only Swap writes it, so it needs no timestamps. Both kinds share the keys; a Mutate of a row
// of Swap is an ErrInvalid, and so is the reverse.
//
// # Requests
//
// Mutate and Swap are scripts (one for all waiting swaps, by package gather, each with its own comparison) that the
// server knows by their hash. The driver sends them again after a restart or a SCRIPT FLUSH. Requests of many
// goroutines share connections and are sent together. The driver never sends a write twice.
//
// # Watching
//
// A separate connection registers the watched rows with the server, which remembers them (CLIENT TRACKING) and reports
// the first write to each. The driver then registers the row again, and then notifies the watchers. They are therefore
// notified of every write, of any process, after one more round trip. After a lost connection is replaced, all watchers
// are notified.
package redis
