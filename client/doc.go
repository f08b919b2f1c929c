// Package client takes locks over the network: its Client is a holdfast.Locker.
//
// [Dial] connects to a daemon and returns a [Client]. A Client is one session: one stream, one heartbeat regardless of
// the number of its locks, and one deadline.
//
// # The deadline
//
// A Client's locks last until its session's deadline: the time at which it sent the latest acknowledged heartbeat, plus
// the ttl in the answer, on a clock that runs while the machine sleeps. The arrival time of the answer does not count.
// A heartbeat is sent a third of the ttl after the previous one, or up to a ninth of the ttl sooner. The first one
// comes sooner still, at a random time for each connection, so that processes that connect together do not send
// heartbeats together. Each answer carries the id of its heartbeat. A lock's Context ends at the deadline by itself,
// before another client can be granted the name. A passed deadline is final: a later answer revives nothing, even if
// the clock has not been read yet, and the session is never used again.
//
// # A broken stream
//
// The Client reopens a broken stream, first at the address that answered last and then at the others in turn, with
// pauses from 10 ms to 1 s. It does not wait for a silent address: after 250 ms it tries the next one as well, and the
// first to welcome the Client serves it. The Client drops the others, and ends any session that one of them has opened
// in the meantime. If no session waits, an address gets 30 s: a member busy with thousands of clients then need not
// start over for one of them. The Client resumes the session by its id and secret, and resends each unanswered
// operation under its id, in the order of the ids; the authority acts on it once. If no heartbeat has been acknowledged
// for half of the ttl, the Client opens another stream, regardless of the TCP state of the current one. It serves the
// current stream until the new one is welcomed: an answer that arrives late, or that a stalled process reads late,
// counts if it arrives before the deadline. A process that reads the clock 50 ms late or more, because it did not run
// or is overloaded, first waits for the answer to the heartbeat that it sends then: a sixth of the ttl, at most 1 s,
// and never into the last quarter of the ttl.
//
// If the deadline passes first, or the member no longer knows the session, every lock is lost. Waiting requests are
// not: the Client makes them again in a new session, and callers notice only a new position in the queue. The Client
// keeps working.
//
// If another Client takes over the session ([Resume]), this one ends permanently. Each Client draws a random number, by
// which members distinguish a returning Client from another one.
//
// # Many Clients in one process
//
// Clients of one process that use the same address with the same certificates share its connections, up to 500 to each.
// A session remains its Client's own. The heartbeats on a connection are sent at the same moments, in one packet, so
// that an idle session costs its member a few microseconds of CPU per second. A connection gets no further Client after
// it breaks, after a heartbeat on it is late, or while it has been silent for a second. Each Client leaves its
// connection when it doubts the connection itself. (Go's net/http shares HTTP/2 connections in the same way.)
//
// A process makes at most 64 connections at a time. Further ones wait until one of those has been answered, has failed,
// or has taken 250 ms: first those of Clients that have a session, then the others, each in request order. A Client
// that doubts its stream, and hears on it while it waits, makes no connection.
//
// # A cluster
//
// Each member lists the addresses of all members that serve clients, so one address is enough to start. The Client
// tries listed addresses after the given ones, and trusts them only if they belong to the same cluster as the first: an
// address of another network may be another program's here. If the list contains none of the given addresses, the
// Client reaches its member by another route, such as a proxy. It bypasses that route only if the member itself says
// that it does not serve, or with option [Direct]. A session belongs to the member that opened it, and to that member's
// tenure. The Client accepts no other member's answer about it, unless all say they do not know it. When a member loses
// its place, restarts or leaves, it notifies its clients, and they repeat their waiting requests at another member. In
// spaces of protocol consensus locks and sessions outlast their member: the stream ends like a broken one, and the
// session continues at another member, or at the same one if it is back before the deadline.
//
// If a member cannot renew a session for a while, because its coordinator is being replaced, it does not answer the
// heartbeats. The deadline does not move.
//
// # Waiting, cancelling, releasing
//
// A wait limit is one moment: the call returns within half a second of it, even if the connection or the authority is
// lost in the meantime. A call whose context is cancelled returns at once. A call whose deadline passes waits up to 250
// ms for the authority's answer, so that its error names the holder. The Client cancels the request, and repeats the
// cancel until it is acknowledged; if a grant crosses the cancel, the server releases it. Unlock returns when the
// release is acknowledged. UnlockAsync queues it and returns; [Client.Settle] waits until the releases are acknowledged
// and reports whether one was refused.
//
// # Observing a name
//
// [Client.Observe] needs no session. It has one stream at a time, at the first address that serves. When the stream
// breaks, or has been silent for 15 s, it goes on elsewhere; a member sends a word every few seconds. The member of a
// broken stream is asked first for what has followed the last state. Another member shows its present state: if that
// differs, it comes with Missed. Observations have connections of their own; up to 500 in a process share one.
//
// # Inside
//
// A pure machine, [github.com/holdfast-locks/holdfast/internal/client/session], makes all decisions about a session:
// its deadline, which messages to send, resend and give up, and which address to try next. This package drives it
// (drive.go): it passes in callers' requests, received frames and the time, and carries out the effects. The machine
// keeps requests by id until they are settled, with a state each; the states determine what to resend after a break.
//
// One mutex guards everything. Three goroutines serve a Client. One per address being tried opens the stream, and reads
// it one frame at a time if it is the one served. One writes everything queued in one frame, without waiting for it to
// fill. One keeps the time, with a single timer for all alarms. link.go has the connections, and shared.go those of
// observations. While a second stream is being opened there are more goroutines; only the latest welcomed stream is read
// and has the queue.
package client
