// Package redis keeps rows in one Redis, version 6.2 or later, or what speaks like it.
//
//	store, err := redis.Open(ctx, "redis://user:password@cache.example:6379/0?prefix=locks")
//
//	config.go   the URL: its options, and their defaults
//	store.go    requests, each one round trip; swap.go: those of Swap
//	column.go   how a row lies in Redis: columns in order, in one key
//	mutate.lua  what Mutate runs there, swap.lua what Swap does
//	watch.go    who is notified, by the server's invalidations
//	errors.go   what an error says about a request
//
// # The URL
//
// redis:// or, with TLS, rediss://; user and password where the server wants them; one host and
// port (6379); the number of the database as path (0). Options:
//
//	prefix=NAME    of all keys, up to a colon ("holdfast")
//	timeout=TIME   after which a request is given up, and a connection tried no more (5s)
//	retries=N      how often a refused request is tried again, after 20 ms and then twice that
//	               each time (0)
//	ca, cert, key, server_name   with rediss, as package location has them
//
// It must be a primary: a replica is refused, for what it answers is old. A cluster and a
// sentinel are refused, too. A failover has to bring the primary under the same address.
//
// # What it is worth
//
// One primary does one thing after the other, so rows are Consistent. They are not Durable, as
// Features says: Redis answers before its replicas have, and as it ships before its disk has. A
// failover, or a restart, takes back what was answered. Locks that must not be held twice then
// want another store. maxmemory-policy must be noeviction, as it ships: another one forgets rows.
//
// # How a row lies there
//
// A row of Mutate is one sorted set in which all scores are 0, so that Redis keeps its members
// in the order of their bytes, and reads a range in O(log n). A member is
//
//	column, 0x00 as 0x00 0xff | 0x00 0x01 | timestamp, 8 bytes | end, 4 bytes | value
//
// of which the first two parts sort as columns do, and the rest makes what a column has part of
// what is written at once with it. The end is in seconds since 1970 by the server's clock, 0 for
// none. A column that has ended is passed over, and taken away when its row is next written;
// where all columns of a row have an end, the row has it too, and Redis forgets it whole.
// Deletions are not remembered.
//
// A row of Swap is a hash: it is written by nothing but Swap, so it needs no timestamps. Both
// kinds share the keys; a Mutate of a row of Swap is an ErrInvalid, and so is the reverse.
//
// # Requests
//
// Mutate and Swap are scripts (one for all swaps that are there at a time, by package gather, each
// with its own comparison) that the server knows by their hash, and receives again after it
// was restarted or has had SCRIPT FLUSH; requests of many goroutines share connections and are
// sent together. No write is ever sent twice by itself.
//
// # Watching
//
// A connection of its own asks for the rows that are watched, and the server, which remembers
// that (CLIENT TRACKING), says which of them was written, once; then it is asked again, and then
// the watchers are notified. So they hear of every write, of any process, after one more round
// trip. When the connection is lost, all are notified once there is a new one.
package redis
