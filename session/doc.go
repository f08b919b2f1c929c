// Package session is the clients' presence: who may hold through this member, and
// until when they may believe it.
//
// A [Desk] wraps a member's stack of machines. Every wish of a client comes through
// it and every decision leaves through it, so that no protocol needs to know what a
// heartbeat, a secret or a broken stream is.
//
// # A session
//
// A session belongs to the member (and its tenure) that opened it. It has a public
// id, which is never used again, and a secret, which only the answer that opened it
// carries. There are three sorts ([Sort]):
//
//   - Local: inside the member's process. It has no TTL, because it ends with it.
//   - Stream: a connected program. It is attached to a sink of the driver, beats for
//     all its locks at once, and survives a broken stream until its TTL is over.
//   - OneShot: a script or curl. It is renewed by requests, and ends with the
//     release of its last lock.
//
// # Deadlines
//
// Both sides count from what they know (membership.md §6). A client believes from
// the moment it *sent* its last acknowledged request, for the ttl in the answer.
// The member counts from that request's arrival, and waits (1+drift) times as long
// before it takes the session for expired. So the client has stopped believing, by
// its own clock, before the member acts.
//
// The ttl answered never exceeds what the member may promise: its remaining lease,
// and beyond it the confirmed [protocol.Horizon], divided by 1+drift. A wish for
// more asks the membership to raise the horizon, and the answer waits for that. A
// request that itself waited (a queued acquire over HTTP) is answered with a ttl
// that includes the time waited, because it counts from the request's sending.
//
// A one-shot session does not expire while a request of it waits: its connection is
// its presence.
//
// # What is told
//
// Decisions of the spaces are addressed to sessions. The desk sends them to the
// call that waits for them, or to the sink that the session is attached to. A
// session that is attached to nothing is told at its next renewal.
//
// A [lock.Revoked] grant is released when its client says that it has stopped, and
// otherwise at the deadline that the session had when the revocation was told:
// nothing that the client has heard by then lets it believe longer.
package session
