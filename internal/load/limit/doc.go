// Package limit is a minimal lock service over TCP, made as fast as possible: the yardstick for a real one.
//
// It has exclusive locks, queues in the order of arrival, and locks that are freed when their connection breaks. It has
// no sessions that outlive a connection, no tokens, no time limits, no second member, no disk, and no encryption other
// than its listener's. The distance of a real lock service to these figures is the price of its features. Only the
// bench runs it.
//
// # Protocol
//
// A request is a length of 16 bits (of what follows it), an operation of 8 bits, an id of 32 bits, and with acquire and
// announce the name, of 1 to [MaxName] bytes. All numbers are big-endian. An answer is an operation of 8 bits and an id
// of 32 bits.
//
//	client → server   acquire(id, name)   announce(id, name)   release(id)
//	server → client   granted(id)   queued(id)   released(id)
//
// The client picks ids, below [MaxRequests], one for each request that it has under way or holds. Announce is an
// acquire that is answered with queued if it has to wait. A release ends the hold or wait of its id, and is answered;
// until then the id is not free. So each side always knows the state of an id: a release of a wait and a grant of it
// may cross, and then both are answered, in this order: granted, released.
//
// Anything that breaks these rules (an unknown operation, a wrong length, an id that is taken or unknown) ends the
// connection, and with it its locks and waits.
//
// # What makes it fast
//
//   - The server reads all pending input at once and executes it under the lock of its one table; the answers leave in
//     one write. Only answers to other connections go to another goroutine.
//   - In the client, many workers share a connection. The first that finds no other writing writes for all, after
//     yielding so that other runnable workers can add theirs.
//   - A release and the next grant are one step.
//
// [Client.Lock] waits for its grant and [Hold.Unlock] for its acknowledgement. With [Queued] an Unlock returns once its
// release is sent, as Holdfast's does: then a cycle of one worker is one round trip instead of two.
package limit
