// Package server serves one member's lockspaces: to programs over
// gRPC on port 4040, to people and scripts as JSON over HTTP on port 4041.
//
// It decides nothing about locks. It checks what a client asks, hands it to the
// member's machines through a [run.Driver], and sends back what they decide. The service type
// has the calls of the schema, and both ports call its methods, so that they cannot differ;
// the streams of port 4040 speak to the driver by package edge, which has their rules.
//
//	stream*.go  grpc*.go                port 4040: sessions as streams, the calls
//	http.go  http_listen.go             port 4041: routes, refusals, health
//	http_call.go  http_events.go        the calls of the schema that have a rule for HTTP
//	service*.go requests.go losses.go   what is asked in one go
//	service_watch.go  metrics.go        what happens, for watchers
//	service_leave.go  service_force.go  leave, drain and force a view, for operators
//	forwarder*.go                       what is passed on to members that have a part
//	waiting.go                          both ports of a guest that does not know its spaces yet
//
// # One-shot requests
//
// An acquire over HTTP opens a session of its own, or names one that another acquire
// has opened. That, the ids of the requests and the requests for all names are one step of the driver, as far as each
// is answered at once. Every ttl in an answer counts from the moment the client sent the
// request: the server counts from when the request reached it, which is later, so a
// client that counts from its own sending has stopped believing before this member
// takes the session for expired.
//
// A request that waits is present as long as its connection is. When that closes,
// the request is cancelled; a grant that crosses it is given back. Only the long
// poll's own end keeps the place in the queue for a while, for a request that has an
// id, so that it can be sent again.
//
// An id makes a request act once (type requests). Sent again while it waits, it goes
// on waiting, by the clock of its first arrival; sent again after it was granted, it
// gets the same grant as long as that stands, and afterwards what has become of
// it. Without a session the id is unique among all clients, so it should be
// drawn at random. It is remembered for Limits.Remember after the grant. Where members
// share sessions, a request of a session may come again through another one: the member
// that decides gets the id, and finds out (lock.Request.Once).
//
// A one-shot session is attached to nothing, so the answer to its next request reports what it
// has lost. A renewal of a session that has lost one of several locks is refused with that
// loss, once, and has renewed the session all the same. A loss is remembered for the
// client that releases the lock later, up to a number for all sessions together; past
// that the answer is not_held.
//
// # Bounds
//
// Nothing that comes in is trusted. Connections, headers, bodies, names, lists and
// the time that a client takes to send or to read are bounded by [Limits], and what
// exceeds them is refused, counted and named. Unknown fields, parameters and paths
// are refused. Every limit has its name, its error and its count: docs/limits.md lists
// them, and docs/bad-input.md what else may come. A request for a host that is not this member is refused, because a
// browser that was tricked sends such requests; every call that changes something is
// a POST of application/json, which another site's page may not send. A mistake of
// this server in one request ends that request alone.
//
// # In a cluster
//
// Every member serves, whichever of them decides. What only the authority knows (lists,
// a lock in full, how a space is) is asked of it and answered here, or unavailable within
// seconds. A member that is in no view, or has no lease, takes no session, with that as the reason;
// the sessions that it has go on to their deadlines. The welcome tells clients where the authority
// and the other members are, and later events tell them when that changes. Messages of
// other members come to port 4040, too (Config.Members).
//
// # Events and metrics
//
// An [Observer] sees each step's effects under the driver's mutex. It keeps nothing,
// never blocks, and fills queues; a reader that lets its queue run full is dropped, with
// that reason. Events are those of all members' clients, whichever member is watched (package
// events); events of views and spaces show them as this member sees them.
//
// Metrics are each member's own: what its clients do, and what they wait for and lose.
// The metrics of a cluster are the sums of its members' counters and histograms, and of
// holdfast_sessions. What is asked of the authority of a space is the same everywhere,
// and is not to be added up: holdfast_locks, holdfast_waiters, holdfast_reign. No label
// carries a lock's name.
package server
