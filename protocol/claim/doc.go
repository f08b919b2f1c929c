// Package claim implements locks over a key-column-value store: a process writes a claim with its timestamp into the
// row of the lock, waits until any earlier claim must be visible, and holds the lock if its own claim is the oldest. It
// is all of Titan's ConsistentKeyLocker, for operators that run such a store and want no other servers. Processes do
// not know each other; they share only the store (package storage), which knows nothing of locks. With conditional
// writes (cas) one write replaces all this (section CAS).
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
// Each lock has a row. A process that wants the lock writes a claim into it, a column named (timestamp, rid), waits for
// W, and reads the row: if its claim is the oldest that has not expired, it has the lock; it loses it by deleting the
// claim, or by letting it grow too old.
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
// Let p < q be two claims, and let Q read its row. P's claim was there when P's clock showed p + W − ε at the latest: P
// has measured that, and treats a slower write as failed. Q reads when its clock shows more than q + W, which is later
// on any clock that differs by at most ε. So Q sees p, and stays out. The time limit of a write also leaves room for
// the drift of the clock that measures it.
//
// The original accepts a write that took W, and reads after W: with any skew two processes hold one lock. An original
// that shares rows with this package still has that hole, on its own side.
//
// Claims expire by wall clocks: other processes ignore one that is older than its expiry and ε. Its holder believes
// until (expiry − ε)/(1+δ) after it has asked for the timestamp, by its own clock, which runs through sleep. A user
// that checks its lock compares with that clock itself (Assured). A client of another process may learn of its loss
// only when its session ends; it is therefore warned that much earlier, and refused if its session may outlive two
// fifths of the expiry.
//
// That is the class advisory of docs/design/promises.md §3. It needs the clocks of all processes within ε (Skew) of
// each other, or the store's own clock (StoreClock), and no pause between a holder's check of its lock and the action
// that depends on it. For resources that a violation would harm there is the token.
//
// # Waiting
//
// The original's loser deletes its claim and tries again, by writing. Here a claim that is not the oldest stays, as in
// a queue: when the earlier ones are gone it is the oldest, and has long since waited for W. A hand-over therefore
// takes one read, for any W, and claims get the lock in their order. The process reads the row again when the store
// reports a change, or after a sixteenth of the time already waited, jittered. A claim that has stood for a third of
// its expiry is rewritten.
//
// A process deletes its claim and waits without it if the claim would be in the way: if more than 32 are before it, or
// if the oldest may be about to be renewed.
//
// # Renewal
//
// A holder claims a second time, by the same steps, when a third of the expiry has passed; if no other claim lies
// between the two, it holds by the younger one from then on. Another claim between them would be the oldest as soon as
// the first expires, so the holder cannot renew past it: waiting claims make way from a third of the expiry on, until
// the holder has had its chance. A holder that cannot renew is notified in time.
//
// # Tokens
//
// A grant's token is its claim's timestamp. A claim is never dated at or below the largest timestamp seen in its row;
// and a release leaves the largest one behind, as the row's mark: one column beyond those that the original reads,
// written with its own value as timestamp, so that the highest one stays. A claim that turns out not to be above the
// mark is rewritten. If a row is more than a second (or 2ε) ahead of the clock, the error says so.
//
// # Values
//
// The value of a grant (value.go) is in its claim's column or in its cell, for listings of the store. It is written with
// the claim. A value that follows is written in place, or with cas by a renewal, and its holder's call returns when that
// is done. A column that was written anew counts as younger by a microsecond for each time: the deletion is dated after
// that, and so is the mark.
//
// # Slices
//
// Reads of a row start at the oldest claim that counts, timestamp(now − expiry − ε), and go to its end. This avoids
// scanning the deleted columns below: some stores keep every deleted column for days (Cassandra), and a row read from
// its beginning becomes slower with each lock, and unreadable after 100,000.
//
// # Errors
//
// A write is tried Retries times; each try also deletes, in the same mutation, what the previous one may have left. A
// possible leftover of a claim is always deleted, even after the last try: by a mutation that is repeated until it is
// done or the claims have expired. A request that does not wait is refused then; one that waits continues to wait, and
// the claim pauses for longer each time.
//
// # CAS
//
// If the store has compare-and-set, a lock can be one column, its cell (cell.go): taken by one conditional write,
// released by another, without a wait. Clients and tokens are the same (the first token is the time, each later one the
// next number). A cell is taken over when it has not changed for (1+δ) times its lease by the clock of the waiting
// process. No two clocks are compared, so if the store loses nothing it is fenced, except for the order of the waiters.
// A waiting process records that in the cell, once, and is notified of the release if the store can report it. A cell also
// has the time at which it was taken, for people.
//
// With HoldOn (keep.go) a released cell stays with its process for a while, as if it were held, and its next client
// gets it without a write, under the next token of a block that was written with the cell. Other processes see a held
// cell; a waiting process records that in it, and gets it when HoldOn has passed. A cell that was used is then
// rewritten, a few times.
//
// # Ends of processes
//
// If the store reports that a process has ended (ends.go), its cells are taken over at once, and its claims are passed
// over. Only a process whose clients end with it has its end reported. A process of which the store knows nothing is
// waited for by its lease, as in other stores.
//
// # Settings
//
// Wait, expiry, skew and unit must be the same for all users of a store. They are stored next to the locks
// (settings.go): a process compares them at its start, and is refused with both values if they differ.
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
// The table limits requests; claims are limited to one per name and process (two while one is renewed), those before a
// standing claim to 32; remembered and kept cells to 16384. The mark, and a cell, stay in the store for every name that
// was ever locked.
//
// # What it does not do
//
// Locks are exclusive. Between processes the only order is that of their timestamps, and with CAS there is none: there
// a process that releases a cell with waiters leaves it to them for some milliseconds, and the first one gets it. No
// client can hold a whole space. A deletion that the store does late may leave a claim behind after the process has
// ended: it blocks others until it expires.
//
// # Files
//
//	claim.go   Machine, Step            row.go       the layout
//	config.go  what all agree on        name.go      what there is of a lock here
//	bid.go     dating, writing, reading held.go      renewing, releasing
//	cell.go    CAS, cell_format.go      keep.go      holding on to cells
//	clock.go   the clocks               cleaner.go   claims that have expired
//	ends.go    processes that have ended settings.go
//	value.go   values of grants
//	client.go  what clients need of it  condition.go how it is
//	options.go what a space can have    notes.go     what is noted
//	probe.go   what the simulator knows of it
//	inspect.go listings, and operators' commands
//	sight.go   looks at a row, one after the other
package claim
