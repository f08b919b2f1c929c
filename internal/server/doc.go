// Package server serves one member's lockspaces: to programs over gRPC on port 4040, to people and scripts as JSON over
// HTTP on port 4041.
//
// It makes no decisions about locks. It checks a client's request, passes it to the member's machines through a
// [run.Driver], and sends back their decision. The service type implements the calls of the schema, and both ports use
// its methods, so they cannot differ. The streams of port 4040 reach the driver through package edge, which has their
// rules.
//
//	stream*.go  grpc*.go                port 4040: sessions as streams, the calls
//	http.go  http_listen.go             port 4041: routes, refusals, health
//	http_call.go  http_events.go        the calls of the schema that have a rule for HTTP
//	service*.go requests.go losses.go   what is asked in one go
//	service_held.go                     the calls about a lock that a session holds
//	service_watch.go  metrics.go        what happens, for watchers
//	service_leave.go  service_force.go  leave, drain and force a view, for operators
//	caller.go                           who calls
//	permit.go  permit_shown.go          which right a call takes; what its caller may see of an answer
//	service_access.go                   the policy in force, tokens, the audit log, for operators
//	service_sessions.go                 the sessions of all callers, for operators
//	audit_locks.go                      the audit log of grants, releases and losses
//	quota.go  heavy.go  clients.go      what one caller may use: its shares, its turns, its rate
//	forwarder*.go                       what is passed on to members that have a part
//	waiting.go                          both ports of a guest that does not know its spaces yet
//
// # One-shot requests
//
// An acquire over HTTP opens its own session, or names one that an earlier acquire opened. The session, the request ids
// and the requests for all names take one step of the driver, as far as each is answered at once. Every ttl in an
// answer counts from the moment the client sent the request: the server counts from when the request reached it, which
// is later, so a client that counts from its own sending stops believing before this member considers the session
// expired.
//
// A waiting request lives as long as its connection. When that closes, the request is cancelled, and a grant in transit
// is given back. Only when a long poll times out does a request with an id keep its place in the queue for a while, so
// that the client can send it again.
//
// An id makes a request idempotent (type requests). Repeated while it waits, the request keeps waiting, timed from its
// first arrival. Repeated after the grant, it gets the same grant as long as that is valid, and afterwards its outcome.
// Without a session the id must be unique among all clients, so it should be random. It is remembered for
// Limits.Remember after the grant. If members share sessions, a session's request may be repeated through another
// member: the member that decides gets the id, and detects the repetition (lock.Request.Once).
//
// A one-shot session has no stream, so the answer to its next request reports its losses. A renewal of a session that
// has lost one of several locks is refused with that loss, once, but still renews the session. A loss is remembered for
// the client that releases the lock later, up to a limit for all sessions together; beyond it the answer is not_held.
//
// # Bounds
//
// No input is trusted. Connections, headers, bodies, names, lists and the time that a client takes to send or to read
// are bounded by [Limits], and what exceeds them is refused, counted and named. Unknown fields, parameters and paths
// are refused. Every limit has its name, its error and its count: docs/limits.md lists them, and docs/bad-input.md
// covers other bad input. A request for a host that is not this member is refused, because a tricked browser sends such
// requests; every call that changes something is a POST of application/json, which another site's page
// may not send. A bug of this server in one request ends only that request.
//
// # In a cluster
//
// Every member serves clients, regardless of which one decides. Calls that only the authority can answer (lists, a lock
// in full, the state of a space) are forwarded to it and answered here, or fail as unavailable within seconds. A member
// that is in no view, or has no lease, accepts no new session, and gives that as the reason; its existing sessions keep
// their deadlines. The welcome gives clients the addresses of the authority and the other members; later events report
// changes. Messages of other members also arrive on port 4040 (Config.Members).
//
// # Events and metrics
//
// An [Observer] sees each step's effects under the driver's mutex. It keeps no state, never blocks, and fills queues; a
// reader whose queue fills up is dropped, with that reason. Events cover the clients of all members, regardless of
// which member is watched (package events); events about views and spaces show this member's view of them.
//
// Metrics are per member: the operations, waits and losses of its own clients. For a cluster, add up the members'
// counters and histograms, and holdfast_sessions. Metrics that come from the authority of a space are the same on all
// members; do not add them up: holdfast_locks, holdfast_waiters, holdfast_reign. No label carries a lock's name.
package server
