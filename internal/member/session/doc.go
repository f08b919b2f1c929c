// Package session keeps the clients' sessions: which clients may hold locks through this member, and until when they
// may believe it.
//
// A [Machine] wraps a member's stack of machines. All client requests pass through it on the way in and all decisions
// on the way out, so no protocol needs to know about heartbeats, secrets or broken streams.
//
// # A session
//
// A session belongs to the member that opened it, and to its tenure: when the tenure ends, so do its sessions, once the
// clients have learned what they have lost. For sessions that outlast it, see below. A session has a public id, which
// is never reused, and a secret, which only the answer that opened it carries. It is of one of three kinds ([Kind]):
//
//   - Local: inside the member's process. It has no TTL, because it ends with the process. It outlives a tenure, but
//     its holds do not.
//   - Stream: a connected program. It is attached to a sink of the driver, sends one heartbeat for all its locks, and
//     survives a broken stream until its TTL is over.
//   - OneShot: a script or curl. It is renewed by requests, and ends with the release of its last lock; one that was
//     opened with a number stays for further locks.
//
// # Deadlines
//
// Each side counts from its own events (docs/design/membership.md §6). A client believes from the moment it *sent* its
// last acknowledged request, for the ttl in the answer. The member counts from that request's arrival, and waits
// (1+drift) times as long before it considers the session expired. So the client has stopped believing, by its own
// clock, before the member acts.
//
// The ttl in an answer never exceeds what the member may promise: its remaining lease plus the confirmed
// [protocol.Horizon], divided by 1+drift. A request for more asks the membership to raise the horizon, and the answer
// waits for that. The answer to a request that waited (a queued acquire over HTTP) has a ttl that includes the time
// waited, because it counts from when the client sent the request.
//
// A request for no longer than the lease uses no horizon; its answer has what the lease alone allows, regardless of the
// horizon that others have requested. Without a lease the member promises nothing: it refuses a new session as
// unavailable, and an existing one keeps its deadline. So replacing the coordinator ends no session.
//
// A promise counts until its deadline, even if the session ends earlier: the horizon does not drop below it, and the
// member does not report that it owes nothing.
//
// The promise of a client that has ended its session itself is void. A member that is alone in its view keeps it all the
// same, for the next session: the cell is then not written once when the last session of a quiet member ends, and once,
// before the answer, when the next one is opened. It is kept until it would have ended if its client had been killed
// instead, for the default ttl at most, and no longer a reach than that of the default ttl. To keep more than what is
// promised is always safe. What it costs is a wait after a crash of the member within that time: as long as with one
// session of the default ttl, and no longer. A member that drains, leaves or has lost its tenure keeps nothing, and one
// with others in its view keeps nothing either: they would wait, too.
//
// Only a Tick expires a session: a heartbeat handled before that Tick counts, since it may have arrived in time and
// waited while the member was busy. The member serves nothing else to a session past its deadline.
//
// A one-shot session does not expire while a request of it waits: its connection is its presence.
//
// # Sessions that outlast their member
//
// A space may store its locks and sessions so that they survive the loss of a member (protocol consensus;
// Config.Lasting). Such a space learns of a session by these facts (protocol.Enroll and its neighbours):
//
//	first request there ──► Enroll     who it is, for which ttl, and the hash of its secret
//	a renewal           ──► Beat    ──► Beaten, from all lasting spaces ──► the answer
//	a session that is not here ──► Adopt ──► Adopted, from all of them ──► it is, and the call goes on
//	this member serves it no longer ──► Dismiss    its client ends it ──► EndSession
//
// If all spaces are lasting, this member's lease bounds no promise: a member that has lost its place in the view
// promises as before until its lease is over. Then it sends its clients elsewhere, and they have their full ttl to get
// there.
//
// # Lasting spaces and spaces in memory
//
// A member may have both lasting spaces and spaces in memory, which end with it. A session has one deadline for all its
// locks. When the member is lost, other members withhold its names in memory until its clients no longer believe in any
// of them: for the lease, and the horizon beyond it. So the rule is
//
//	while a session has something in a space that ends with this member, its deadline is within the lease and the confirmed
//	horizon, and the horizon does not sink below that before the deadline
//
// A session with locks in lasting spaces alone gets its ttl, which may be longer than the lease, and does not count for
// the horizon: if a lost member had only such sessions, the names in memory are withheld no longer than the lease.
//
//	asks for its first thing in memory ──► waits, unless its deadline is within lease and horizon
//	           the horizon is confirmed, or the deadline has come near enough ──► counted until the deadline; goes on
//	a renewal, while it waits or has something in memory ──► bound by lease and horizon, and counted
//	a renewal, when no space in memory has anything of it ──► its ttl; what was counted counts until its own deadline
//
// This is safe. A client believes in a name in memory at the earliest from the grant. Its request was passed on only
// after all earlier promises were within lease and horizon, and counted. A promise between that and the end of the hold
// is bounded, because the spaces report that they have something of the session. A promise after the end gives the
// client nothing for that name: the client released it earlier, its own clock ended the hold, or it learns of the loss
// before or in the answer. Earlier promises that it may still believe, not having heard, stay counted. The lease only
// grows until it lapses; then the session ends, and the counted promises become a belief.
//
// If the horizon cannot be raised, for example while a voter that must record a new maximum is missing, renewals of a
// waiting session are cut to what is available, and marked as such (CutByHorizon). Its request proceeds when the longer
// promise has passed. A request that may not wait that long is refused, with the reason and the time left. To the
// client a request that waits here looks like one that waits in its space: it ends with its session, at its wait limit
// and by a Cancel. A request from a broken stream is forgotten, since its client asks again.
//
// A client's promise never exceeds the ttl it is enrolled for, counted from the step of the Beat, which is no earlier
// than the client's sending: the space keeps the session that long, even if this member is lost. A beat goes to every
// lasting space, even if this member has not enrolled the session there, because another member may have. An answer
// counts for all earlier beats. While a space has no leader it does not answer, and the renewal waits, up to the
// session's deadline here; the number of waiting renewals is bounded, and beyond it they are unavailable. A session has
// one heartbeat under way at a time: a space that cannot confirm it holds up the session's other spaces, too. The
// connection of a waiting one-shot session serves as its heartbeat: the session machine repeats the beat every third of
// the ttl.
//
// When a space reports that the session has ended, it ends here too, and this member sends its client Expired. Its
// holds in spaces in memory stay its own until the deadline that its client may believe in.
//
// A cause local to this member ends only the local part. A lapse, an expiry or a drain ends the session's holds in
// memory; in lasting spaces the session is dismissed, and lives for its ttl, until another member adopts it. So a
// member that leaves revokes nothing there. The client of a session that is not tied (see below) gets [Dismissed]
// instead of [Expired] after a lapse, and when its member leaves. It keeps its session, and continues at another
// member, or at this one when it serves again. Anything it sends on the stream after that gets no answer; the client
// repeats it there. A request that waits by a single call is withdrawn, because no client asks for it again
// under its number. A local session's holds in lasting spaces survive a lapse. A one-shot session ends in the space
// where its last lock was released, unless it has acquired another one there, perhaps through another member: the space
// detects that (protocol.EndSession, Idle). Other lasting spaces let it expire.
//
// A caller that names a session unknown to this member waits until all lasting spaces have answered whether they have
// it. The secret is compared by its hash, and the client's identity as for local sessions. A call by another client
// leaves the session where it was; a space that cannot answer makes it unavailable; it is unknown only if no space has
// it. A Resume makes it a Stream: first this member sends what the client must stop using, then the answer, with what
// it has lost. Any other call makes it a OneShot, or an unattached Stream if a stream has asked for what it has. If a
// Resume comes later, the spaces are asked again, because only it says what its client may not have heard.
//
// No member adopts a session that has used a space in memory of another one: it could not tell the client what has
// ended there. So such a session is tied to its member, for as long as it lives, and the lasting spaces that have it
// know that before the first request in memory is passed on:
//
//	memory first ──► tied at once, and enrolled as such
//	lasting first ──► Beat{Tied} to all lasting spaces ──► Beaten, from all of them ──► tied, and the request goes on
//
// Each lasting space records the first member that asks, and refuses the others. So when a client moves while a request
// of its former stream is under way, one member at most uses memory for the session. An end at another member leaves
// alone what the session has there.
//
// Several members may serve one session at a time without knowing it, and each one's promises are correct. A revoked
// grant in a lasting space is released only by a member that has renewed the session since it sent the revocation:
// another member does not know that the client has heard. The release comes a full ttl after that, even if this member
// has promised less: another one may have renewed the session just before.
//
// # One client after another
//
// Over streams one client at a time uses a session: the client it is attached to (lock.Attachments). A client draws a
// number at random when it opens a session, or resumes one that another process has opened, and sends it in each hello.
// The first client has generation 1. The answer to a hello carries the client's generation, and its next hello repeats
// that:
//
//	number, no generation   the client that the session is attached to: its answer was lost, it gets the same again
//	                        a client before it: refused
//	                        any other: it takes the session over, in the next generation
//	number and generation   that of the session: its stream has broken
//	                        an earlier one: refused
//	                        a later one: this member had not heard of it yet
//	no number               an older program: it goes on as the client that the session is attached to
//
// When a session is taken over, its holds continue without a gap, and no other session is granted them; the earlier
// client's waiting requests end. That client gets [TakenOver] at once, and is finished: its messages have no effect,
// its heartbeats renew nothing, and its Resume is refused ([ErrTakenOver]) for as long as the session lives. If it
// cannot be reached, it ends at the deadline that it has. Until then, no other session gets the names that the later
// client has inherited: a release of one takes effect, and is answered, at that deadline, and so does the end of its
// request; a new hold limit ends no sooner. An End by the later client is answered at once: its own grants are free
// then, the session is not renewed again, and it ends, with the inherited names, at that deadline. A client that hands
// its session over can leave at any time: its End does not affect a session that belongs to a later client.
//
// A lasting space keeps the attachments with the session, so all members know them: the beats of a stream name its
// client (protocol.Beat), the first one of a later client records that before it is answered, and every member that
// serves the session gets protocol.Attached. A session is not taken over before its lasting spaces have confirmed it:
// the Resume waits, as a beat does. Two clients that take it over at the same time, through two members, have the same
// generation; then the higher number wins. A call outside a stream has no number, and changes no attachment.
//
// # Quotas
//
// A session is charged to an [Owner], the subject or the address of its client, with each request that holds or waits.
// A request counts as a wait from its arrival, because a space may take long to decide. What the owner's quota does not
// allow is refused ([OverQuota]); repetitions, releases, cancels and renewals are not. The count follows the decisions
// that pass through. In lasting spaces requests may also end through another member: at the bound a session's requests
// are asked for again, at most every 10 s, and whenever a member adopts it.
//
// # Where decisions go
//
// Spaces address their decisions to sessions. The session machine passes them to the waiting call, or to the sink that
// the session is attached to. An unattached session gets them with its next renewal.
//
// A stream may break while a loss is in transit. A client that returns before the deadline that the session had at the
// loss gets it again; a client that is alive later has had an answer that was sent after it.
//
// A client that returns lists its unsettled requests, and repeats those that it waits for. All other grants of the
// session belong to requests that have been settled since, and are given up. A repeated request that crosses the
// decision on the original has no effect. See [Resume].
//
// A request that the list names may be granted later. If another member refused one before the welcome, the client
// cancels it, since this member does not hear of that otherwise. Lasting spaces get the list with the question about a
// session, and again if a later hello has a different list: they release the grant of a request that is not on it.
//
// A [lock.Revoked] grant is released when its client confirms that it has stopped, and otherwise at the deadline that
// the session had when the revocation was sent: nothing that the client has heard by then lets it believe longer.
//
// Another client with a session's credentials may release locks that its client uses over a stream, or end the session.
// Those grants are revoked, as when a lock is broken, and end the same way; then the call is answered. Until the
// session has ended, it is not renewed and accepts no new requests. Requests from single calls end at once.
//
// # Orderly leave
//
// On a [membership.Leave] this member sends every client a Revoked decision for each of its holds. It accepts no new
// requests, and waiting ones go elsewhere: a stream ends, and its client asks again at another member. When no holds
// are left, or the last deadline has passed, the membership gets the order to leave. [Drain] does the same without
// revoking: it waits until the clients have released. [LeaveNow] waits for no client with holds. A client with holds in
// lasting spaces alone is not waited for either, and is dismissed.
//
// Meanwhile the spaces whose authority is here hand it over ([protocol.StepDown]), so no member needs to recover. The
// membership gets its order when they have done so, or half a lease after the leave began: then the others recover, as
// after a crash. Sessions are dismissed when they have done so, or a quarter of a lease later: so they are adopted at
// once, and before the member is gone. Sessions of single calls stay for at least a tenth of a second, in which a
// refused order gives back its grants.
//
// # Files
//
//	machine.go   Config, Step, what a session is here
//	calls.go     what clients and members ask, and the answers
//	lifetime.go  sessions open, are renewed and end
//	ttl.go       how long a promise is; cut.go: why it is shorter
//	secret.go    what authenticates a client
//	quota.go     what one owner may use
//	expiry.go    which session may end next
//	reach.go     how far promises go beyond the lease; kept.go: what stays of that
//	route.go     where decisions go
//	resume.go    a client that comes back
//	revoked.go   grants that a client has to stop using
//	recall.go    what another client of the session gives up
//	takeover.go  a later client of the session
//	inherit.go   the locks that it inherits
//	lasting.go   spaces that outlast their member
//	beat.go      renewals there
//	adopt.go     sessions that members adopt
//	dismiss.go   sessions that go on elsewhere
//	tie.go       sessions that must stay here
//	enter.go     the first request in a space in memory
//	lapse.go     the end of a tenure
//	leave.go     the orderly end of service
//	errors.go    why a call is refused
package session
