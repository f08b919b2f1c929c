// Package client locks over the network: its Client is a holdfast.Locker.
//
// [Dial] connects to a daemon and returns a [Client]. It is one session: one stream,
// one heartbeat regardless of the number of its locks, and one deadline.
//
// # The deadline
//
// What the client holds, it holds until its session's deadline: the time at which
// it sent the latest heartbeat that was acknowledged, plus the ttl in the answer,
// on a clock that runs while the machine sleeps. When the answer came decides
// nothing. A heartbeat is sent a third of the ttl after the one before, or up to a ninth of
// that sooner; the first one comes sooner still, as drawn for each connection, so that
// processes that have connected together do not beat together. Each answer is
// matched to its own heartbeat by its id. A lock's Context ends at the deadline by itself,
// before another client can be granted the name. A deadline that has passed has passed: an
// answer that comes later revives nothing, not even where the clock has not been read yet,
// and the session is never used again.
//
// # A broken stream
//
// A stream that breaks is opened again, at the address that has answered last and
// then at the others in turn, with pauses from 10 ms to 1 s. An address that does not
// answer is not waited for: after 250 ms the next one is asked as well, and the first that
// welcomes the Client serves it. The others are let go; a session that one of them has
// opened meanwhile is ended. Where no session waits, an address is given 30 s: what a member with thousands
// of others to serve has begun for a client is not thrown away and made again. The session is resumed
// by its id and secret, and each operation whose answer has not been seen is sent
// again under its id, in the order of the ids; the authority acts on it once. When
// no heartbeat has been acknowledged for half of the ttl another stream is opened,
// regardless of the state of this one in TCP. Until that is welcomed this one is served
// as before: an answer that comes late, or that a stalled process reads late, counts as
// long as it comes before the deadline. A process that looks at the time 50 ms late or more,
// because it did not run or has too much to do, first waits for the answer to the heartbeat
// that it sends then: a sixth of the ttl, 1 s at most, and not into the last quarter of the ttl.
//
// If the deadline passes first, or the member does not know the session any more,
// every lock is lost. Requests that still wait are not: they are made again in a
// new session, and the callers notice nothing but their new place in the queue. The
// Client goes on working.
//
// If another Client takes the session over ([Resume]), this one ends for good. Each Client draws
// a number at random, by which members tell a Client that comes back from another one.
//
// # Many Clients in one process
//
// Clients of one process that go to the same address with the same certificates share its
// connections, up to 500 to each. A session stays its Client's own; their heartbeats are sent at
// the same moments, in one packet, so that an idle session costs its member a few microseconds
// of a processor a second. A connection that breaks, or on which a heartbeat is late, gets no
// further Client, and one that has been silent for a second gets none either; each Client that
// it carries leaves it when it doubts it itself. (Go's net/http shares connections of
// HTTP/2 in the same way.)
//
// A process makes at most 64 connections at a time. Further ones wait until one of those has
// been answered, has failed, or has taken 250 ms: first those of Clients that have a session,
// then the others, each in the order in which they were asked for. A Client that doubts its
// stream, and hears on it while it waits, makes none.
//
// # A cluster
//
// Each member lists the addresses of all that serve clients, so one of them is enough
// to begin with. Listed ones are tried after the given ones, and
// believed only if they belong to the cluster of the first: an address of another
// network may be another program's here. A client that was given none of them reaches its
// member in a way of its own, as through a proxy. It goes past that only if the member
// itself says that it does not serve, or with option [Direct]. A session belongs to the member that opened it,
// and to that member's tenure: no other member's word about it is taken, except that
// all say they do not know it. When a member loses its place, restarts or leaves, it
// tells its clients, and the requests that wait are made again at another. Where locks outlast their member
// (spaces of protocol consensus) so do sessions: the stream ends as one that breaks, and all goes on at another
// member, or at the same one when it is back before the deadline.
//
// A member that cannot renew a session for a while, because its coordinator is being
// replaced, does not answer its heartbeats. The deadline stays where it was.
//
// # Waiting, cancelling, releasing
//
// A wait limit is one moment: the call returns within half a second of it, even if the
// connection or the authority is lost meanwhile. A call whose context is cancelled
// returns at once; one whose deadline passes waits up to 250 ms for the word of the
// authority, so that its error names the holder. Its request is cancelled, and the cancel
// is repeated until it is acknowledged; a grant that crosses it is released by that, at
// the server. Unlock returns when the release is acknowledged. UnlockAsync queues it and
// returns; [Client.Settle] waits until the releases are acknowledged and tells whether
// one was refused.
//
// # Inside
//
// A pure machine, [github.com/holdfast-locks/holdfast/internal/client/session], decides all about a session: its deadline, which
// messages to send, send again and give up, and which address to ask next. This package drives it (drive.go): it passes it the
// wishes of callers, what has arrived and the time, and carries out the effects. Requests are kept there by id until they are
// settled, with a state each, so that what has to be sent after a break is read off the
// states.
//
// One mutex guards everything. Three goroutines serve a Client: one for each address that is asked, which reads the stream when that is
// the one that serves, a frame at a time; one writes, all that is queued in one frame, without
// waiting for it to fill; one keeps the time, with one timer for all that is due;
// link.go has the connections. While a second stream is opened there are more; only the stream that
// was welcomed last is heard and has the queue.
package client
