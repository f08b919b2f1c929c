// Package bakery is a replicated queue of tickets on three leaders: each request gets a number from a majority of the
// leaders, and the lowest number holds the lock. It is Lamport's Bakery (CACM 17(8), 1974) as snaplock has it: each step waits for
// the faster of two answers. Any one leader can be lost at any time: the other two know of every ticket, and nothing is
// rebuilt.
//
// A client of leader a takes a lock; b and c are the other leaders, and a goes on with the faster answer of the two:
//
//	a → b, c   Entering   ticket l1, "X"                  a chooses a number
//	b, c → a   Entered    the highest number is 0
//	a → b, c   Add        l1 has number 1, and asks whether it is the first
//	b, c → a   Added      it is the first                 the lock is granted
//	a → b, c   Drop       l1                              when the client unlocks
//
// # One page
//
// Each member has a [lock.Table] of its own clients' requests (package local). For each it asks a leader
// for a ticket (Lock); a leader asks itself. That leader is the ticket's master, and alone says anything
// about it. Leaders keep one book: of each name, which tickets are choosing a number, and which have one, in
// order of it.
//
//	                         snaplock, published             merged (the default)
//	choose a number          Entering, Entered               Entering, Entered with the highest number
//	                         GetMax, Max
//	tell it                  Add, Added                      Add, which exits, is ready and asks at once
//	exit, be ready           Exiting, Ready                  where no other ticket is choosing; Added, with the
//	be the first             Activate, Activated             answer; else Exiting, which asks, Activated
//	between three leaders    20 messages, 4 round trips      8, 2 round trips (12, 3 where others are choosing)
//	between two; one         10; 0                           4; 0
//	end                      2 Drop                          2 Drop
//
// A member that is no leader also has Lock and Locked, Unlock and Unlocked. A ticket that has to wait
// hears so once (Queued); when those before it have ended its master asks for the others' agreement
// (Activate), and one that cannot agree yet says so again as soon as it can (Activated): no member polls.
//
// # Who leads
//
// Each view has an elector: the member with the smallest address. All others tell it who they are and
// which leaders they know (Started). If those are complete they go on (Leaders); a newcomer learns them so. Otherwise a
// member that leads stays, as if its priority were 0, and of the other founders that are not off those with the
// smallest (priority, random number, address, process, name) fill up to three, or as many as there are. Founders that
// are away are not waited for: a view does without them, and what they may hold it waits for before it is open.
// snaplock needs all computers of a cluster of up to three, so with one away and another one that starts again nothing
// is locked; it has no views, and the first of a cluster, which has all founders, is what that is for. A cluster with
// so many founders off that the others never be so many elects no leaders, and status says why (Refused). Leaders
// that are left, and are a majority of what they were, go on without a new one.
//
// While not most of the leaders that are left serve, they go on as they are: an election takes what they hand over. Each says that it
// serves (Started) until others are elected, since that word may be lost and the answer to an earlier one come after it.
//
// An election is named by a Term: the epoch's counter and the view's number, which is what snaplock's wall
// clock date was for. Before any member hears of it, a majority of the view with the coordinator in it has
// agreed to take no older one (Elect, Elected). A member that then hears of it leaves the term before for good:
// each message is of one term, and of no other.
//
// # From one term to the next
//
// A leader that leaves a term hands its tickets over as they were at that moment (Tickets), to all leaders of the
// next. A leader serves when it has those of a majority of the leaders before: it has every ticket that a majority
// knew, and no other counts. A ticket that was choosing chooses again; a ticket that has a number keeps
// it. A ticket whose master is gone belongs to the leader of the first rank. Each member claims what it has of
// each leader's (Claim); a ticket that it does not claim has ended. That is snaplock's question whether a client
// is alive, answered before it is asked. A ticket has ended, too, that another leader hands over and its master has no more.
// Where that master is gone, a ticket that it has ended may be handed over by a leader that had not heard of that. Its member claims it
// if it has not heard of it either, and it waits as before. Tickets behind it may have been locked since, so it is not granted while
// an incompatible one is held, or may be and is not claimed yet.
//
// Where no majority of the former leaders is left, new ones follow no earlier leaders: each member tells all of them what its
// clients hold, which is the copy that is never lost as long as any client holds, and they serve when all have and the view is
// open, so that no other member can hold anything. No member knows then which tokens were given before: it takes another epoch. The
// first of them numbers the waiting requests in the order of age. That one is the master of all that is held, and names it when it
// serves: a claim that others have had, of a member that was lost before the first one had it, ends with that.
//
// A leader that was away or has started again has another place in the view, so it is none: it gets tickets
// only as a new one.
//
// # Safety
//
// Let x and y be tickets for one name that exclude each other, with masters A and C. A step is known to a
// majority: a ticket's master and the leader that has answered. Say {C, p} know the number of y, and x has
// entered and got the highest numbers at {A, q}. The two have a leader r in common. If x came to r first, y's
// answer from r, or C's own book, says that x is choosing, and y waits for its exit: from then on a majority
// knows x's number. If y came to r first, x has a higher number. So when y is ready, any ticket with a smaller
// number is known to a majority, and no ticket can get one any more. y is locked when it is the first in its
// master's book and in that of one other: what is before it is in one of the two.
//
// The published protocol takes the tickets that are choosing from the master's own book only. A ticket that
// the other knows to be choosing, and the master not yet, may get a smaller number afterwards: two hold the
// lock (W1). And a ticket that an answer lists as choosing may have exited in the master's book before, and
// would be waited for without end: each master counts its tickets, and a leader that has heard of a later one
// knows that an earlier one that it does not list has exited.
//
// Modes: before a ticket there may be others that are compatible with it, shared ones or slots of one capacity. For slots
// the answer lists whose units those are: two masters' books together have them all.
//
// Releases: a client learns that its lock is released when the ticket's master has ended it (Unlocked). Other
// leaders may have it in their books still. But whether one that does not want to wait is refused, or slots of
// another capacity, is up to the master of what is in the way, and its answer comes after its Drop. So what a client knows
// to be released can be had at once, through any member.
//
// Leases: a member takes Locked under its own lease only, and in its own term. While most of the term's leaders are gone, under a view of
// another epoch than the term's, it takes none: others may have given tokens of an epoch between the two, under a view of which it has not
// heard. To leaders that follow no earlier ones it claims what it has not taken as a request, and they give it a token of theirs. A ticket of
// a member that has left ends when a view without it is open (protocol.View.Open): until then its clients may believe that they
// hold. What was surely not locked ends at once: its master says so; or, where that is lost too, as a leader's own
// clients' is, none of the leaders left has agreed to it, which they tell the next with its number (Accepted). So
// a leader that is lost costs a lease only for what may be held through it. Leaders need no lease: what they
// decide without the others counts for nothing.
//
// # Order
//
// First come, first served (P5), from where the doorway ends: when a majority knows x's number, a ticket y
// that is asked for after that gets a higher number, for one of the leaders that answer to y's entering, or
// y's master, has x in its book. If the two exclude each other x is locked first. That outlives a term, as
// far as leaders take over from leaders: x keeps its number. A ticket that is choosing has no place yet.
// Between leaders of different epochs, where members tell what they have, the order is that of age. Compatible
// grants are not decided in order.
//
// # Tokens
//
// (epoch of the term, grant number). The leader that agrees sets a number aside that is above all it knows for the
// name and above the master's, and is one of the master's: those that leave its rank plus 1 when they are divided
// by the number of leaders. So two masters never take one number. The master takes it if it is above its own and
// above all that it had counted when a ticket of the name ended last, and asks again otherwise. Of each grant that
// has ended its master and the one that agreed know the number, and one of the two has a part in the next one,
// which gets a higher one. A name that no request wants any more is forgotten, and its number with it: no name's
// numbers begin below the highest that was forgotten. Compatible grants are decided
// at the same time: their tokens differ, and are not in the order of time.
//
// # Grace
//
// snaplock's lock ends twice: its holder is notified to stop (UNLOCKING), and the lock is free after a grace
// (UNLOCKED). Here the holder hears that its hold limit has passed as everywhere, and the name stays taken for
// Config.Grace. Its member ends it then. The master has heard how long that is, and has told the other leaders
// (Unlocking), so it is as long if the member is lost meanwhile, and under the next leaders: only a member that is lost
// together with all leaders who know takes it along. A session that ends, and a member that is lost before the
// hold limit, have waits of their own, which are the lease's. People are shown the last holder, by its member or,
// where that is lost, by the ticket's master; and that is who a refusal names.
//
// # Links
//
// The protocol counts on messages that arrive once and in order. Each message between two members under a term is
// numbered, taken in turn, and sent again until it is heard (link.go). A member that leaves three copies in a row
// unheard is reported to the membership (protocol.Unheard), which does without one of the two. Until then no
// answer of a leader that is not heard is missed, since the other one's is enough. But a ticket's number is only
// its master's to tell: a leader that contends with that one for a name, and does not hear it, waits.
//
// # The published holes, and how each is closed
//
// docs/design/verification.md §3 has W1 to W17 of snaplock, each in a sentence.
//
//	W1   two masters hold one lock        who is choosing is taken from both books, less those known to have exited
//	W2   who answered is not recorded     each answer counts with its sender, and not twice
//	W3   two partial views elect          views; an elector each; a majority with the coordinator agrees
//	W4   lost wake-up                     every end of a ticket tells those that wait for its choosing, and for its turn
//	W5   tickets merged into one          a list of values, and tests with many
//	W6   a healthy leader is replaced     who leads stays
//	W6b  an id that changes               drawn once at the start
//	W7   amnesia                          a leader is a place in the views, and serves after a majority's tickets
//	W7b  no UNLOCKED after a timeout      every Unlock is answered
//	W7c  durations are raised in silence  a hold limit is taken as it is asked for
//	W8   serials that are wrong           keys are the member's own, for ever
//	W9   duration left out                a hold limit is optional
//	W10  UNLOCK while not ready is lost   it waits, and ends a ticket in every step
//	W11  one failure fails all            failures name their ticket
//	W12  wall clocks are compared         limits are counted by the member that was asked, on its own clock
//	W13  no wake-up with one leader       one path for all numbers of leaders
//	W14  numbers overflow                 they have 64 bits, and begin again with each term and idle name
//	W15  deadlocks of lock order          out of scope: LockAll takes several names in one order
//	W16  any member drops any ticket      only its master does, and its own member
//	W17  no fencing token                 see above
//
// # Bounds
//
// Tickets of a name: 131,072. What one leader leaves unheard: 65,536 envelopes; then nothing more is taken
// (ErrLimit, unheard). Slots: a capacity of up to 4096. Envelopes and messages of what is about to come: 1024.
// Limits of clients' requests are the table's.
//
// # What it does not do
//
// No client can hold a whole space, and leaders cannot be handed over: ErrUnsupported. Partition mode any is refused: half of
// the leaders decide nothing.
//
// # Files
//
//	bakery.go    Config, Machine, Step      book.go       names, tickets and their order
//	messages.go  text.go, wire.go           master.go     the steps of a leader's own tickets
//	view.go      views, who has left        replica.go    the steps of the others'
//	election.go  who leads                  term.go       from one term to the next
//	member.go    what clients want          link.go       how messages arrive
//	activate.go  whose turn it is           malformed.go  what no message may be
//	grace.go     after a hold limit         condition.go  how it is
//	options.go   what a space can have      probe.go      what the simulator knows of it
package bakery
