// Package local implements the part shared by protocols in which no member keeps a table for all: each member has a
// [lock.Table] of its own clients' requests, and the members grant together.
//
// In protocol permission a member enters when all others have answered, in protocol bakery when leaders have numbered
// its ticket, in protocol claim when its claim is the oldest in the store. The agreement between members is the
// protocol's; each member's work for its own clients and for operators is here. Package authority is the counterpart
// for protocols in which one member keeps the table for all.
//
// # One page
//
// A protocol's machine has four parts:
//
//	Standing   the newest view, the member's own place in it, and which messages it hears
//	Clients    the table of its own clients, their calls, and their answers
//	Survey     what operators ask of all members: Show, Scan, Break, Inspect
//	Protocol   the protocol's own part: how members agree
//
// A request goes through them like this:
//
//	client ── lock.Request ──► Clients: refused, or queued in the table
//	                             │ Keep, Enroll
//	                             ▼
//	                           protocol: asks peers …
//	                             │ Permit (token), or Deny (why)
//	                             ▼
//	client ◄── Granted ──────  Clients: the table grants it, and has it end in time
//	client ── Release ──────►  Clients
//	                             │ Ended
//	                             ▼
//	                           protocol: lets others in
//
// The table grants nothing by itself (lock.Config.Permitted). It does everything else that a table does: owners and
// reentry, limits of waits and of holds, sessions, bounds, and ends. Of a request the protocol therefore keeps only
// what it needs to agree, in its own type that embeds [Request], and implements [Protocol]. When a request ends, for
// any reason, Ended is called, once; from then on it is Dropped, and code that still has it skips it.
//
// A release is answered when any client can take what it has freed. If other members must learn of it first, the
// protocol withholds the answer ([Protocol].Withhold, [Clients.NotifyReleased]).
//
// All of that happens within one step of one machine. Each step ends by [Clients.Conclude].
//
// # What clients hear
//
// The decisions of the table go out in its order. The first decision about a call's request in the step answers the
// call; Queued is reported only if no later decision comes within the step. Its place is −1 while it is not known
// whether it has to wait at all: usually the peers' answers are in flight, and it is granted when they arrive. Its
// client gets its place later, once, when that is known ([Clients.LetWait], [Protocol].Knows). The place counts this
// member's own queue, because no member sees all waiters.
//
// Even a request that does not wait cannot be decided at once. If peers can be asked it waits for their answers, for
// some patiences; an earlier request causes its refusal. If no peer can be asked, the table refuses it for that reason,
// or lets it wait within its limit.
//
// # Views
//
// A message belongs to one view. Its [Tag] names the view, and the tenure under which its sender is in it; a message of
// another view, or of a tenure that the view does not have, is void. A message of a view that is about to come waits
// for it, because members do not accept a view at the same moment. A member stays in the views as long as its [Place]
// is the same. If that changes it begins a new stay, and for the others its earlier holds have ended: the protocol
// calls [Clients.Lose]. When its lease expires its stay ends at once ([Standing.Leave]); waiting requests continue to
// wait.
//
// # Operators
//
// No single member knows the answer to an operator's call. The call therefore goes to all members of the view ([Query],
// by package admin), each answers for its own clients ([Answer]), and when all have answered their parts are combined.
// They are not of the same moment: of conflicting holders the ones from later answers are shown. A Query is repeated
// until it is answered, and repeated under another view; a Break that is done twice has one effect. After 20 patiences,
// or 4 for an Inspect, the error names the members that do not answer, or says that some member does not.
//
// A page of a listing has the answers of all members, in the order of the names; a name that several have is listed
// once, with the knowledge of all. Answers are split into parts of 256 holders and waiters.
//
// The space can be closed at one member, and reopened: its clients are notified to stop, and nothing new is accepted.
// As a peer it continues to answer, because without that no member could enter.
//
// # Bounds
//
// The table limits requests (lock.Config). Messages of a view that is about to come: 1024; a further one is dropped,
// and its sender repeats it. Operators' calls: Config.Operators, then a LimitError; callers that wait for the space to
// be closed: as many.
//
// # What it does not do
//
// No member could hold a whole space, so a suspension is ErrUnsupported, and so is a request to be refused in a deadlock. The protocol counts the members that have left
// and may still hold something.
//
// # Files
//
//	standing.go  the view, the place, what is heard
//	request.go   a request
//	clients.go   Protocol, Clients: what a protocol does
//	calls.go     what clients do
//	amend.go     values that holders set
//	decisions.go what they hear
//	survey.go    what operators ask, and are shown
//	messages.go  wire.go: their bytes
//	grace.go     names that stay taken after a hold limit
//	probe.go     what the simulator and the explorers know of it
package local
