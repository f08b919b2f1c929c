// Package claim is locking over a key-column-value store: a process writes a claim with its timestamp into the row of the
// lock, waits until any earlier claim must be visible, and holds the lock if its own claim is the oldest. It is Titan's
// ConsistentKeyLocker, whole, for operators that run such a store and want no other servers. Processes do not know each
// other; all they share is the store (package storage), which knows nothing of locks. With conditional writes (cas) one write
// takes the place of all this (section CAS).
//
// A client of process a takes a lock:
//
//	a → store   Mutate   row "X": add the claim a@0s
//	            wait W, in which every claim that is older has arrived
//	a → store   Slice    row "X"
//	store → a            a@0s, the only claim         the lock is granted; the claim is renewed before it expires
//	a → store   Mutate   row "X": delete the claim    when the client unlocks
//
// # One page
//
// Each lock has a row. A process that wants the lock writes a claim into it, a column named
// (timestamp, rid), waits for W, and reads the row: if its claim is the oldest that has not
// expired, it has the lock; it has lost it when it deletes the claim, or lets it grow too old.
//
//	client ── lock.Request ──► Clients     the mediator: one claim of a process for a name
//	                             │
//	                           dating      what time is it?            storage.Clock
//	                           writing     add the claim               storage.Mutate
//	                           maturing    until it is W old
//	                             │         read the row                storage.Slice
//	            older ones ◄─────┤
//	            standing         │         the oldest
//	            read again ──────┤
//	client ◄── Granted ───────  holding    claimed anew before it expires
//	client ── Release ───────►  sweep      delete it, write the mark   storage.Mutate
//
// Uncontended, that is two writes, one read, one wait.
//
// # Why it is safe
//
// Of two claims p < q let Q read its row. P's was there when P's clock showed p + W − ε at the
// latest: P has measured that, and takes a slower write for a failed one. Q reads when its clock shows
// more than q + W, which is later on any clock that differs by ε at most. So Q sees p, and stays
// out. How long a write may take leaves room for the drift of the clock that it is measured by, too.
//
// The original accepts what took W, and reads after W: with any skew two hold one lock. An
// original that shares rows with us has that hole still, on its own side.
//
// Claims expire by wall clocks: others pass one over that is older than its expiry and ε. Its
// holder believes until (expiry − ε)/(1+δ) after it has asked for the timestamp, by its own clock,
// which runs through sleep. Who looks at its lock compares with that clock itself (Assured). A client of
// another process may hear of its loss only when its session ends; so it is warned that much
// earlier, and refused if its session may outlive two fifths of the expiry.
//
// That is the class advisory of docs/design/promises.md §3. It needs the clocks of all processes within ε (Skew) of
// each other, or the store's own clock (StoreClock), and no pause between a holder's look at its lock and
// what it does with it. The token is for those who would be hurt.
//
// # Waiting
//
// The original's loser deletes its claim and tries again, by writing. Here a claim that is not the oldest
// stands where it is, as in a queue: when those before it are gone it is the oldest, and has waited for W long
// ago. So a hand-over takes one read, for any W, and claims get the lock in their order. The row is read again
// when the store tells of a change, or after a sixteenth of the time that was waited, jittered. A claim that
// has stood for a third of its expiry is written anew.
//
// A claim is deleted before its process waits on where standing would be in the way: more than
// 32 are before it; or the oldest may be about to be renewed.
//
// # Renewal
//
// A holder claims a second time, by the same steps, when a third of the expiry has passed; with no other claim
// between the two it holds by the younger one from then on. Another claim between them would be the oldest as
// soon as the first expires, so renewing past it is not possible: waiting claims make way from a third of the
// expiry on, until the holder has had its chance. A holder that cannot renew hears so in time.
//
// # Tokens
//
// A grant's token is its claim's timestamp. A claim is never dated at or below the largest timestamp seen in
// its row; and a release leaves the largest one behind, as the row's mark: one column beyond those that
// the original reads, written under the timestamp that it tells, so that the highest one stays. A claim
// that turns out not to be above the mark is written anew. A row that is more than a second (or 2ε) ahead of
// the clock is an error that says so.
//
// # Slices
//
// Rows are read from the oldest claim that counts, timestamp(now − expiry − ε), to their end. What was
// deleted below is not passed over: some stores keep every deleted column for days (Cassandra), and a
// row read from its beginning becomes slower with each lock, and unreadable after 100,000.
//
// # Errors
//
// A write is tried Retries times, each try deleting in the same mutation what the former may have left.
// Anything that a claim may have left behind is deleted in any case, also when its tries are used up:
// by a mutation that is repeated until it is done or the claims have expired. A request that does not
// want to wait is refused then; one that waits, waits on, and the claim rests for longer each time.
//
// # CAS
//
// Where the store compares and sets, a lock can be one column, its cell (cell.go): taken by one conditional write,
// given back by another, without a wait. Same clients, same tokens (the first is the time, each later one the next
// number); a cell is taken over when it has not changed for (1+δ) times its lease by the clock of the process that
// waits. No two clocks are compared, so it is fenced, all but the order of those who wait, where the store loses
// nothing. A process that waits says so in the cell, once, and hears of the release where the store can report it.
//
// With HoldOn (keep.go) a cell that was released stays with its process for a while, as if it were held,
// and its next client gets it without a write, under the next token of a block that was written with the
// cell. To others it is a cell that is held; a process that waits says so in it, and gets it when HoldOn
// has passed. A cell that was used is written anew then, a few times.
//
// # Settings
//
// Wait, expiry, skew and unit must be the same for all who share a store. They stand next to the locks (settings.go): a
// process that starts compares, and is refused with both values where they differ.
//
// # The known weaknesses, W1 to W12
//
// They are those of Titan's ConsistentKeyLocker; docs/design/verification.md §3 has each in a sentence.
//
//	W1   clocks                        ε is subtracted from the writes' budget; or the store's clock
//	W2   quorum loss, livelock         the store's; a standing claim is not retried against others
//	W3   a wait for each lock          essential; with CAS none; hand-overs take none
//	W4   wait and expiry contradict    refused at the start, with the fix
//	W5   the mediator's second result  a bid belongs to its name; none begins while another stands or holds
//	W6   leaks of slow and old claims  leftovers ride along; swept; TTL; cleaner
//	W7   timestamp mismatches          own claims of other timestamps are passed over
//	W8   leaks when retries run out    all leftovers are swept
//	W9   two mediators, one rid        a rid has a part that is drawn, regardless of its name
//	W10  no renewal, no notice         renewal; watches; 30 s instead of 5 min
//	W11  convoys behind failing ones   a standing claim does not fail
//	W12  failed checks counted as calls  counted as what they are
//
// # Bounds
//
// Requests are bounded by the table; claims by one a name and process (two while one is renewed), those before
// one that stands by 32; remembered cells by 16384, and those that are kept. The mark, and a cell, stay in the store for
// every name that was ever locked.
//
// # What it does not do
//
// Locks are exclusive. There is no order among processes but that of their timestamps, and none with
// CAS: there a process that gives back a cell which others wait for leaves it to them for some
// milliseconds, and the first one has it. No client can hold a whole space. A deletion that the store
// does late may leave a claim behind after the process has ended: it is in the way until it expires.
//
// # Files
//
//	claim.go   Machine, Step            row.go       the layout
//	config.go  what all agree on        name.go      what there is of a lock here
//	bid.go     dating, writing, reading held.go      renewing, releasing
//	cell.go    CAS                      keep.go      holding on to cells
//	clock.go   the store's time         cleaner.go   claims that have expired
//	settings.go
//	client.go  what clients need of it  condition.go how it is
//	options.go what a space can have    notes.go     what is noted
//	probe.go   what the simulator knows of it
package claim
