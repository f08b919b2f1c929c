// Package limit is the least that a lock service over TCP can be, made as fast as we
// know how: the standard to measure a real one against.
//
// It has exclusive locks, queues in the order of arrival, and locks that are freed when
// their connection breaks. It has no sessions that outlive a connection, no tokens, no
// time limits, no second member, no disk, and no encryption but for what its listener may
// bring with it: all that a lock service is worth beyond this has its price in the distance
// to these figures. It is a measuring stick
// and is served by nothing but the bench.
//
// # Protocol
//
// A request is a length of 16 bits (of what follows it), an operation of 8 bits, an id of
// 32 bits, and with acquire and announce the name, of 1 to [MaxName] bytes. All numbers
// are big-endian. An answer is an operation of 8 bits and an id of 32 bits.
//
//	client → server   acquire(id, name)   announce(id, name)   release(id)
//	server → client   granted(id)   queued(id)   released(id)
//
// The client picks ids, below [MaxRequests], one for each request that it has under way
// or holds. Announce is acquire that is answered with queued where it has to wait. A
// release ends what its id stands for, a hold or a wait, and is answered; until then the
// id is not free. So each side always knows the state of an id: a release of a wait and
// a grant of it may cross, and then both are answered, in this order: granted, released.
//
// Anything that breaks these rules (an unknown operation, a length that does not fit, an id
// that is taken or stands for nothing) ends the connection, and with it its locks and
// waits.
//
// # What makes it fast
//
//   - The server reads what has come in one piece and executes all of it under one lock of
//     the one table; the answers leave in one write. Nothing is handed to another
//     goroutine, but for answers to other connections.
//   - In the client, many workers share a connection. The first that finds no other writing
//     writes for all, after it has let others that can run add theirs.
//   - A release and the next grant are one step.
//
// [Client.Lock] waits for its grant and [Hold.Unlock] for its acknowledgement. With
// [Queued] an Unlock returns when its release is on its way, as Holdfast's does: then a
// cycle of one worker is one round trip instead of two.
package limit
