// Package trace records all input and output of a member's machines, and reads the record back.
//
// A machine only takes events and returns effects. So the events, with their times, describe its life completely. The
// effects are recorded too, so that a program that feeds the same events to the same machines (package sim/replay) can
// compare them step by step. A [Recorder] wraps the member's session machine as one more machine; without recording, it
// is absent and costs nothing.
//
// # The text
//
//	holdfast trace 1
//	Holdfast: "v0.1.0"
//	Started: "2026-11-22T07:28:59.000000001Z"
//	ID: 1182
//	Incarnation: 3
//	Drawn: [1182, 77, 12]
//	Name: "a"
//	…                                        every field of the member.Config that is not zero
//	Log: {Kept: {Log: 65536, …}}             a line for each log that its spaces have kept
//
//	1 0s start
//	  send 0 at 0 storage.Save{ID: 1, Data: x"…"}
//	  wake never
//	2 1.2ms receive 0 at 0 storage.Saved{ID: 1}
//	  drew 99
//	  …
//	  wake 3s
//	3 1.5ms call 4.17 at 1 &lock.Request{Session: {…}, ID: 17, Name: "orders/42", …}
//	  reply 4.17 at 1 lock.Decision{Kind: granted, …}
//	  wake 3s
//	end "the member has ended"
//
// A step is its number, the member's time and the event: start, tick, receive FROM at PORT MESSAGE, call SINK.OPERATION
// at PORT REQUEST. Below it stands what the machines did, in the order in which the driver hears of it:
//
//	drew N                      a number that they took by chance; Drawn has those before step 1
//	secret x"…"                 the secret of a session, which was taken by chance as well
//	proved x"…"                 the hash of one, which says nothing of it
//	send ID at PORT MESSAGE     to a member (0 is its own storage); send "ADDRESS" at … to the member that is there
//	reply SINK.OPERATION at PORT ANSWER
//	raise FACT
//	note "TEXT"
//	wake TIME                   when they want to be woken; the last line of each step
//	panic "TEXT"                in its place, where an invariant was broken
//
// Values are written as package text says. A step without its last line is one that the trace does not know the end of:
// the process was killed.
//
// One file has the lives of one member, one behind the other: each start appends.
//
// # What is not in it
//
// Secrets of sessions. In the place of each stands another, always the same, by a key that is forgotten when the trace
// ends: machines only compare secrets, so they do the same with these. Their hashes, by which other members know whose
// a session is, are those of the true ones, and are noted where they are taken. Names of locks, owners, reasons and
// addresses are in it, which is why the file can be read by its owner alone.
//
// # Bounds
//
// The driver never waits for the disk: what is to be written waits in memory, up to 32 MiB, and a goroutine writes it.
// Where the disk is slower than that, where it is full, and where the file has reached its size limit, the trace ends,
// with a line that says why and an error in the log; the member goes on. A step that is missing would make all that
// follow worthless, so none is left out.
package trace
