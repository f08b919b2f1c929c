// Package local is what protocols share in which no member keeps a table for all: each member
// has a [lock.Table] of its own clients' requests, and the members grant together.
//
// In protocol permission a member enters when all others have answered, in protocol bakery when leaders have numbered its
// ticket, in protocol claim when its claim is the oldest in the store. How members agree is the protocol's; what each has to do
// for its own clients, and for people, is here. Where one member
// keeps the table for all, package authority is what protocols share.
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
// The table grants nothing by itself (lock.Config.Permitted). It knows all else that a table
// knows: owners and what enters their grants, limits of waits and of holds, sessions, bounds, and
// what has ended. So the protocol keeps of a request only what it needs to agree, in a type of its
// own that embeds [Request], and does what [Protocol] lists. When one ends, for any reason, Ended
// is called, once; from then on it is Dropped, and code that has kept it passes it over.
//
// A release is answered when any client can have what it has freed. Where others have still to
// hear of it the protocol withholds the answer ([Protocol].Withhold, [Clients.NotifyReleased]).
//
// All of that is within one step of one machine. Each step ends by [Clients.Conclude].
//
// # What clients hear
//
// The decisions of the table go out in its order. The first decision about what is asked in a
// step answers the call; that a request is queued is reported only where nothing better comes within
// the step. Then its place is −1 while it is not known whether it has to wait at all: mostly the
// answers of peers are under way, and it is granted when they come. Its client gets its place
// later, once, when that is known ([Clients.LetWait], [Protocol].Knows). The place counts this
// member's own queue, because no member sees all that wait.
//
// A request that does not want to wait cannot be decided at once either. Where peers can be asked it
// waits for what they say, for some patiences; a request that is before it refuses it. Where no peer
// can be asked, the table refuses it because of that, or lets it wait for that as long as it may.
//
// # Views
//
// A message is about one view. Its [Tag] says of which, and under which tenure its sender is in
// it; one of another view, or of a tenure that the view does not have, is void. One of a view that
// is about to come waits for it: members do not accept a view in one moment. A member stays in the
// views as long as its [Place] is the same. Where that changes it begins a new stay, and what it
// held before has ended for the others: the protocol calls [Clients.Lose]. When its lease runs out
// its stay ends at once ([Standing.Leave]); what waits goes on waiting.
//
// # Operators
//
// No member alone knows what people ask. So a call is asked of all members of the view ([Query], by package admin),
// each answers for its own clients ([Answer]), and when all have answered their parts are put
// together. They are not of one moment: of holders that exclude each other the ones from
// later answers are shown. A Query is repeated until it is answered, and asked anew under another
// view; a Break that is done twice is done once. After 20 patiences, or 4 for how the space is,
// the error names the members that do not answer, or says that some member does not.
//
// A page of a listing has the answers of all members, in the order of the names; a name that several have is listed once,
// with what all know of it. Answers are cut into parts of 256 holders and waiters.
//
// The space can be closed at one member, and opened again: its clients are notified to stop, and
// nothing new is taken. As a peer it goes on answering, for without that no member could enter.
//
// # Bounds
//
// Requests are bounded by the table (lock.Config). Messages of a view that is about to come: 1024,
// and one more is dropped; its sender repeats it. Operators' calls: Config.Operators, then a
// LimitError; callers who wait for the space to be closed: as many.
//
// # What it does not do
//
// There is no member that could hold a whole space, so a suspension is ErrUnsupported. The
// protocol counts the members that have left and may still hold something.
//
// # Files
//
//	standing.go  the view, the place, what is heard
//	request.go   a request
//	clients.go   Protocol, Clients: what a protocol does
//	calls.go     what clients do
//	decisions.go what they hear
//	survey.go    what operators ask, and are shown
//	messages.go  wire.go: their bytes
//	grace.go     names that stay taken after a hold limit
//	probe.go     what the simulator and the explorers know of it
package local
