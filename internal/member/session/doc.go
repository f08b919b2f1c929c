// Package session keeps the clients' sessions: which clients may hold through this member, and
// until when they may believe it.
//
// A [Machine] wraps a member's stack of machines. Every wish of a client comes through
// it and every decision leaves through it, so that no protocol needs to know what a
// heartbeat, a secret or a broken stream is.
//
// # A session
//
// A session belongs to the member that opened it, and to its tenure: when that ends, so
// do its clients' sessions, once the clients have learned what they have lost. For sessions that outlast it, see below. A session has a
// public id, which is never used again, and a secret, which only the answer that opened
// it carries. There are three kinds ([Kind]):
//
//   - Local: inside the member's process. It has no TTL, because it ends with it, and
//     it outlives a tenure, though nothing that it holds does.
//   - Stream: a connected program. It is attached to a sink of the driver, beats for
//     all its locks at once, and survives a broken stream until its TTL is over.
//   - OneShot: a script or curl. It is renewed by requests, and ends with the
//     release of its last lock; one that was opened with a number outlasts its locks, for those to come.
//
// # Deadlines
//
// Both sides count from what they know (docs/design/membership.md §6). A client believes from
// the moment it *sent* its last acknowledged request, for the ttl in the answer.
// The member counts from that request's arrival, and waits (1+drift) times as long
// before it takes the session for expired. So the client has stopped believing, by
// its own clock, before the member acts.
//
// The ttl answered never exceeds what the member may promise: its remaining lease,
// and beyond it the confirmed [protocol.Horizon], divided by 1+drift. A request for
// more asks the membership to raise the horizon, and the answer waits for that. A
// request that itself waited (a queued acquire over HTTP) is answered with a ttl
// that includes the time waited, because it counts from the request's sending.
//
// A request for no longer than the lease costs no horizon, and is answered with what the
// lease alone allows, regardless of the horizon that others have asked for. Without a
// lease nothing is promised: a new session is refused as unavailable, and one that is
// there goes on to the deadline that it has. So a member whose coordinator is being
// replaced ends no session.
//
// What is promised counts until its deadline, even when the session has ended before:
// the horizon does not sink below it, and the member does not say that nothing is
// promised.
//
// That a session has expired is judged in a Tick and in no other step: a heartbeat that is heard before it counts, since it
// may have arrived in time and waited while the member was busy. Nothing else is served to a session whose time has passed.
//
// A one-shot session does not expire while a request of it waits: its connection is
// its presence.
//
// # Sessions that outlast their member
//
// A space may keep its locks and sessions where the loss of a member ends none of them (protocol consensus; Config.Lasting).
// Such a space learns of a session by these facts (protocol.Enroll and its neighbours):
//
//	first request there ──► Enroll     who it is, for which ttl, and the hash of its secret
//	a renewal           ──► Beat    ──► Beaten, from all lasting spaces ──► the answer
//	a session that is not here ──► Adopt ──► Adopted, from all of them ──► it is, and the call goes on
//	this member serves it no longer ──► Dismiss    its client ends it ──► EndSession
//
// Where all spaces last, the lease of this member bounds nothing: a member that has lost its place in the view promises as
// before, until its lease is over and it sends its clients elsewhere. They have all of their ttl then to go there.
//
// # Spaces of both sorts
//
// A member may have spaces in memory, which end with it, as well as lasting ones. A session has one deadline for all that it has.
// When the member is lost, other members withhold its names in memory until its clients believe in none of them any more: for the
// lease, and for the horizon beyond it. So the rule is
//
//	while a session has something in a space that ends with this member, its deadline is within the lease and the confirmed
//	horizon, and the horizon does not sink below that before the deadline
//
// and a session that has something in lasting spaces alone is promised its ttl, which may be longer than the lease, and counts for no horizon: a
// lost member that has promised only such sessions costs the names in memory nothing beyond the lease.
//
//	asks for its first thing in memory ──► waits, unless its deadline is within lease and horizon
//	           the horizon is confirmed, or the deadline has come near enough ──► counted until the deadline; goes on
//	a renewal, while it waits or has something in memory ──► bound by lease and horizon, and counted
//	a renewal, when no space in memory has anything of it ──► its ttl; what was counted counts until its own deadline
//
// It is safe. A client believes in a name in memory from the grant on at most. The request was passed on after all earlier promises
// were within lease and horizon, and counted. A promise between that and the end of the hold is bound, because the spaces say
// that they have something of the session. One after the end tells the client nothing about that name: it has given the name up
// before, its own clock has ended the hold, or it hears of the loss before the answer or in it. What it was promised before and may
// believe still, not having heard, stays counted. The lease itself only grows until it lapses; then the session ends, and
// what is counted becomes a belief.
//
// Where the horizon cannot be had, as while a voter is missing that has to record a longer one than ever before, renewals of a session
// that waits are cut to what there is, and say so (CutByHorizon). Its request goes on when the longer promise has passed. One that
// does not want to wait for that is refused, with the reason and how long it lasts. To its client a request that waits here looks
// like one that waits in its space: it ends with its session, at its wait limit and by a Cancel. One that came over a stream which
// is gone is forgotten, since its client asks again.
//
// What its client is promised is never more than the ttl that it is enrolled for, from when the Beat was stepped, which is no
// earlier than the client's sending: that is what the space keeps, regardless of what becomes of this member. A beat goes to
// every lasting space, also where this member has not enrolled the session, because another one may have. An answer to it counts
// for all earlier beats. While no member is in charge of a space there is none, and the renewal waits, until the deadline that
// the session has here; there are bounds to how many wait, and at them it is unavailable. What one session has under way is one
// heartbeat: a space that cannot confirm it holds up the session's other spaces, too. The connection of a one-shot session that
// waits is its beat: the session machine repeats it every third of the ttl.
//
// When a space reports that the session has ended, it ends, and this member sends its client Expired. What it holds in spaces
// that end with this member stays its own until the deadline that its client may believe in.
//
// A reason of this member's ends its part only. A lapse, an expiry, a drain end what the session has in memory; in lasting spaces
// it is dismissed, and lives for its ttl, for the member that adopts it. So a member that leaves revokes nothing there. Where
// sessions are taken over ([Config].TakesOver), a client gets [Dismissed] instead of [Expired] after a lapse, and when its member
// leaves. It keeps its session, and goes on with it at another member, or at this one when that serves again. Anything it sends
// on the stream after that is not answered; the client repeats it there. A request that waits by a single call is taken back, because no
// client asks for it again under its number. A local session's holds there go on through a lapse. With its last lock a one-shot
// session ends where that was released, unless it has another one there by then, which may have come through another member: the
// space finds that out (protocol.EndSession, Idle). Other lasting spaces let it expire.
//
// A caller that names a session that is not here waits until all lasting spaces have answered whether they have it. Its secret is
// compared by its hash, and its client's identity as here. A call that is not its client's leaves it where it was; a space that
// cannot answer makes it unavailable; it is unknown only if no space has it. A Resume makes it a Stream: first this member sends
// what the client must stop using, then the answer, with what it has lost. Any other call makes it a OneShot, or a Stream that is
// attached to nothing where a stream has asked for what it has. If a Resume comes later, the spaces are asked again, because
// only it says what its client may not have heard. Renewed.Taken marks each answer about such a session: it keeps nothing of
// what the session held in the memory of another member.
//
// Several members may serve one session at a time without knowing it. Each is right in what it promises. A revoked
// grant there is released only by a member that has renewed the session since it sent the revocation: another one does
// not know that its client has heard. And it is released a ttl after that, though this member has promised its client less:
// another one may have renewed the session just before.
//
// # One client after another
//
// A session is used over a stream by one client at a time, which it is attached to (lock.Attachments). A client draws a
// number at random when it opens a session, or resumes one that another process has opened, and sends it in each hello. The
// first client has generation 1. The answer to a hello carries the client's generation, and its next hello repeats that:
//
//	number, no generation   the client that the session is attached to: its answer was lost, it gets the same again
//	                        a client before it: refused
//	                        any other: it takes the session over, in the next generation
//	number and generation   that of the session: its stream has broken
//	                        an earlier one: refused
//	                        a later one: this member had not heard of it yet
//	no number               an older program: it goes on as the client that the session is attached to
//
// What the session holds goes on without a gap when it is taken over, and is granted to no other session; what the earlier
// client has waited for ends. That client gets [TakenOver] at once, and is at its end: what it says on its stream has
// no effect, its beats are not renewed, and its Resume is refused ([ErrTakenOver]) for as long as the session lives. If it
// cannot be reached, it ends at the deadline that it has. Until that has passed, the names that the later client has inherited go
// to no other session: a release of one is done, and answered, at that deadline, and so is the end of its request; another hold limit
// ends no sooner. An End by the later client is answered at once: what that client was granted itself is free then, the session is
// renewed no more, and it ends with what was inherited at that deadline. A client that hands its session over can leave at any time:
// its End does not affect a session that is a later client's.
//
// A lasting space keeps the attachments with the session, so all members know them: the beats of a stream name its client
// (protocol.Beat), the first one of a later client records that before it is answered, and every member
// that serves the session gets protocol.Attached. A session is not taken over before its lasting spaces have confirmed it: the
// Resume waits, as a beat does. Two clients that take it over at the same time, through two members, have the same
// generation; then the higher number is the later one. A call that comes over no stream has no number, and changes nothing.
//
// # Where decisions go
//
// Decisions of the spaces are addressed to sessions. The session machine sends them to the
// call that waits for them, or to the sink that the session is attached to. A
// session that is attached to nothing gets them with its next renewal.
//
// A stream may break with a loss on its way. Until the deadline that the session had at
// the loss, a client that returns gets it again; a client that is alive later has
// had an answer that came behind it.
//
// A client that returns lists the requests that it has not settled, and asks again for
// those that it waits for. Anything else that the session has was granted to requests
// that have been settled since, and is given up. A repetition that crosses the decision on
// its own request asks for nothing again. See [Resume].
//
// A request that the list names may be granted later. A client cancels one that another member has refused before the welcome, which
// this member does not hear of otherwise. Lasting spaces are asked about a session with the list, and are asked again where
// a later hello has another one: they give back what is granted to a request that was left out.
//
// A [lock.Revoked] grant is released when its client confirms that it has stopped, and
// otherwise at the deadline that the session had when the revocation was sent:
// nothing that the client has heard by then lets it believe longer.
//
// Another client that has a session's credentials may release what its client uses over a stream, or end the session. That
// client's grants are revoked, as when a lock is broken, and end as those do; the call is answered then. Until a
// session has ended so it is not renewed and takes nothing new. Anything that was asked for by single calls ends at once.
//
// # Leaving in good order
//
// On a [membership.Leave] this member sends every client a Revoked decision for each
// of its holds. It takes nothing new, and waiting requests go
// elsewhere: a stream ends, and its client asks again at another member. When nothing is
// held any more, or the last deadline has passed, the membership gets the order to leave,
// empty. [Drain] comes to the same without revoking anything: it waits until the clients
// have released. [LeaveNow] waits for no client that holds something. One that holds something
// in lasting spaces alone is not waited for either, and is dismissed.
//
// Meanwhile the spaces whose authority is here hand it over ([protocol.StepDown]), so that no member need recover. The
// membership gets its order when they have, or half a lease after the leaving began: then the others recover, as after a crash.
// Sessions are dismissed when they have, or a quarter of a lease after that: so they are taken over at once, and still before
// the member is gone. Those of single calls stay a tenth of a second at least, in which an order that was refused takes back
// what it was granted.
package session
