// Package bakery implements a replicated queue of tickets on three leaders: each request gets a number from a majority
// of the leaders, and the lowest number holds the lock. It is Lamport's Bakery (CACM 17(8), 1974) in the form of
// snaplock: each step waits for the faster of two answers. Any single leader can be lost at any time: the other two
// know every ticket, and nothing is rebuilt.
//
// A client of leader a takes a lock; b and c are the other leaders, and a continues with the faster answer of the two:
//
//	a → b, c   Entering   ticket l1, "X"                  a chooses a number
//	b, c → a   Entered    the highest number is 0
//	a → b, c   Add        l1 has number 1, and asks whether it is the first
//	b, c → a   Added      it is the first                 the lock is granted
//	a → b, c   Drop       l1                              when the client unlocks
//
// # One page
//
// Each member has a [lock.Table] of its own clients' requests (package local). For each request it asks a leader for a
// ticket (Lock); a leader asks itself. That leader is the ticket's master, and only the master makes statements about
// it. Leaders keep one book: for each name, the tickets that are choosing a number, and those that have one, in its
// order.
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
// A member that is not a leader also uses Lock and Locked, Unlock and Unlocked. A ticket that has to wait is notified
// once (Queued). When those before it have ended its master asks for the others' agreement (Activate), and a leader
// that cannot agree yet reports as soon as it can (Activated): no member polls.
//
// # Who leads
//
// Each view has an elector: the member with the smallest address. All others send it their identity and the leaders
// that they know (Started). If those are complete they continue (Leaders); a newcomer learns them in this way.
// Otherwise a member that leads stays, as if its priority were 0, and of the other founders that are not off those with
// the smallest (priority, random number, address, process, name) fill up to three, or as many as there are. Absent
// founders are not waited for: a view does without them, and before it is open it waits for their possible holds.
// snaplock needs all computers of a cluster of up to three, so with one absent and another one restarting nothing is
// locked; it has no views, and the first view of a cluster, which has all founders, serves that purpose here. If so
// many founders are off that the others can never be enough, the cluster elects no leaders, and status says why
// (Refused). Remaining leaders that are a majority of the earlier ones continue without a new one.
//
// While less than a majority of the remaining leaders serve, they continue as they are: an election takes over their
// tickets. Each reports that it serves (Started) until others are elected, since that message may be lost and the
// answer to an earlier one come after it.
//
// A Term identifies an election: the epoch's counter and the view's number, in place of snaplock's wall clock date.
// Before any member learns of it, a majority of the view, including the coordinator, has agreed to accept no older one
// (Elect, Elected). A member that then learns of it leaves the previous term permanently: each message belongs to
// exactly one term.
//
// # From one term to the next
//
// A leader that leaves a term hands its tickets over, as of that moment (Tickets), to all leaders of the next. A leader
// serves when it has those of a majority of the previous leaders: it has every ticket that a majority knew, and no
// other counts. A ticket that was choosing chooses again; a ticket that has a number keeps it. A ticket whose master is
// gone belongs to the leader of the first rank. Each member claims its tickets at each leader (Claim); a ticket that it
// does not claim has ended. This answers snaplock's question whether a client is alive before it is asked. A ticket has
// also ended if another leader hands it over and its master no longer has it. If that master is gone, a leader that had
// not learnt of the end may hand over an ended ticket. Its member claims it if it has not learnt of the end either, and
// it waits as before. Tickets behind it may have been locked since, so it is not granted while an incompatible one is
// held, or may be and is not claimed yet.
//
// If no majority of the former leaders is left, new ones follow no earlier leaders. Each member reports its clients'
// holds to all of them, a copy that exists as long as any client holds. They serve when all members have reported and
// the view is open, so that no other member can hold anything. No member then knows which tokens were given before, so
// the new leaders take another epoch. The first of them numbers the waiting requests in the order of age. It is the
// master of all held tickets, and lists them when it serves: this ends a claim that others received from a member that
// was lost before the first one received it.
//
// A leader that was absent or has restarted has another place in the view, so it is no longer a leader: it gets tickets
// only as a new one.
//
// # Safety
//
// Let x and y be conflicting tickets for one name, with masters A and C. A majority knows each step: a ticket's master
// and the leader that has answered. Say {C, p} know the number of y, and x has entered and got the highest numbers at
// {A, q}. The two sets have a leader r in common. If x came to r first, y's answer from r, or C's own book, says that x
// is choosing, and y waits for its exit: from then on a majority knows x's number. If y came to r first, x has a higher
// number. So when y is ready, a majority knows any ticket with a smaller number, and no ticket can get one any more. y
// is locked when it is the first in its master's book and in that of one other: any earlier ticket is in one of the
// two.
//
// The published protocol takes the choosing tickets from the master's own book only. A ticket that the other leader
// knows to be choosing, and the master does not know yet, may get a smaller number afterwards: two hold the lock (W1).
// Conversely, a ticket that an answer lists as choosing may have exited in the master's book before, and would be
// waited for without end. Each master therefore counts its tickets, and a leader that knows a later one knows that an
// earlier one that the master does not list has exited.
//
// Modes: tickets before a ticket may be compatible with it, shared ones or slots of one capacity. For slots the answer
// lists the owners of those units: two masters' books together have them all.
//
// Releases: a client learns that its lock is released when the ticket's master has ended it (Unlocked). Other leaders
// may still have it in their books. But the decision to refuse a request that does not wait, or slots of another
// capacity, is that of the blocking ticket's master, and its answer comes after its Drop. Once a client knows of a
// release, the name can therefore be taken at once, through any member.
//
// Leases: a member accepts Locked only under its own lease, and in its own term. If most of the term's leaders are
// gone, it accepts none under a view of another epoch than the term's: other leaders may have given tokens of an epoch
// between the two, under a view that it does not know. At leaders that follow no earlier ones it claims the tickets
// that it has not accepted as requests, and gets a token of theirs. A ticket of a member that has left ends when a view
// without it is open (protocol.View.Open): until then its clients may believe that they hold. A ticket that was
// certainly not locked ends at once: its master reports it; or, if that is lost too, as for a leader's own clients,
// none of the remaining leaders has agreed to it, which they pass to the next leaders with its number (Accepted). The
// loss of a leader thus costs a lease only for tickets that may be held through it. Leaders need no lease: their
// decisions without the others have no effect.
//
// # Order
//
// First come, first served (P5), from the end of the doorway: when a majority knows x's number, any later ticket y gets
// a higher number, because one of the leaders that answer y's entering, or y's master, has x in its book. If the two
// conflict x is locked first. That outlives a term, as long as leaders take over from leaders: x keeps its number. A
// choosing ticket has no place yet. Between leaders of different epochs, where members report their tickets, the order
// is that of age. Compatible grants are not decided in order.
//
// # Tokens
//
// A token is (epoch of the term, grant number). The leader that agrees reserves a number above all that it knows for
// the name and above the master's. It must be one of the master's numbers, which are those that leave its rank plus 1
// when divided by the number of leaders, so two masters never use the same number. The master accepts it if it is above
// its own and above all that it had counted when a ticket of the name last ended, and asks again otherwise. The master
// and the agreeing leader of each ended grant know its number, and one of the two has a part in the next one, which
// gets a higher number. A name that no request wants any more is forgotten, and its number with it: no name's numbers
// begin below the highest forgotten number. Compatible grants are decided at the same time: their tokens differ, and
// are not in the order of time.
//
// # Grace
//
// snaplock's lock ends twice: its holder is notified to stop (UNLOCKING), and the lock is free after a grace
// (UNLOCKED). Here the holder is notified as usual that its hold limit has passed, and the name stays taken for
// Config.Grace. Its member then ends the ticket. The master knows the length of the grace, and has informed the other
// leaders (Unlocking). It therefore applies even if the member is lost in the meantime, and under the next leaders; it
// is lost only if the member and all leaders that know it are lost together. A session that ends, and a member that is
// lost before the hold limit, have separate waits, which are the lease's. Operators see the last holder, from its
// member or, if that is lost, from the ticket's master; a refusal names the same holder.
//
// # Links
//
// The protocol relies on messages that arrive once and in order. Each message between two members under a term is
// numbered, processed in turn, and resent until it is acknowledged (link.go). A member that leaves three copies in a
// row unacknowledged is reported to the membership (protocol.Unheard), which drops one of the two. Until then an
// unheard leader's answers are not missed, since the other one's are enough. But only its master can give a ticket's
// number: a leader that contends with that master for a name, and does not hear it, waits.
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
//	W16  any member drops any ticket      only its master and its own member do
//	W17  no fencing token                 see Tokens
//
// # Bounds
//
// Tickets of a name: 131,072. Unacknowledged envelopes to one leader: 65,536; then nothing more is accepted (ErrLimit,
// unheard). Slots: a capacity of up to 4096. Envelopes and messages of a term or view to come: 1024. The table limits
// clients' requests.
//
// # What it does not do
//
// No client can hold a whole space, and leaders cannot be transferred: ErrUnsupported. Partition mode any is refused:
// half of the leaders decide nothing.
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
