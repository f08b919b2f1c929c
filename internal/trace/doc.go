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
// at PORT REQUEST. Below it are the effects, in the order in which the driver receives them:
//
//	drew N                      a random number that they drew; Drawn has those before step 1
//	secret x"…"                 the random secret of a session
//	proved x"…"                 the hash of one, which does not reveal it
//	send ID at PORT MESSAGE     to a member (0 is its own storage); send "ADDRESS" at … to the member that is there
//	reply SINK.OPERATION at PORT ANSWER
//	raise FACT
//	note "TEXT"
//	wake TIME                   when they want to be woken; the last line of each step
//	panic "TEXT"                in its place, if an invariant was broken
//
// Package text defines the form of values. A step without its last line is incomplete: the process was killed.
//
// One file has the lives of one member in sequence: each start appends.
//
// # Secrets
//
// Session secrets are not recorded. Each is replaced by a pseudonym, always the same, under a key that is discarded
// when the trace ends: machines only compare secrets, so they behave the same with these. Hashes of secrets, by which
// other members verify a session, are the true ones, and are recorded where they are computed. The file contains names
// of locks, owners, reasons and addresses, so only its owner may read it.
//
// # Bounds
//
// The driver never waits for the disk: output is buffered in memory, up to 32 MiB, and a goroutine writes it. If the
// buffer overflows, the disk is full, or the file reaches its size limit, the trace ends, with a line that gives the
// reason and an error in the log; the member continues. A missing step would make all later ones worthless, so none is
// skipped.
package trace
