// Package admin is the one machine behind operators' calls, for all protocols: Show, Scan, Break and Inspect
// ([protocol.Show] and its neighbours).
//
// A member that is called knows the answer by itself, or asks others:
//
//	central, grantor             the authority, which has the table
//	permission, bakery, claim    every other member of the view, each of which answers for its own clients
//	consensus                    every shard that the call is about, whether this member's copy is up to date
//
// [Calls] takes a call, bounds how many wait, numbers it, asks the targets that the protocol names, repeats that, asks for
// the rest of an answer that comes in parts, puts the answers together, and answers the caller. A call that is not
// answered in time fails with that, after 20 patiences, or after 4 for how the space is. [Read] is the other side: it answers a
// [Query] from a [Source], which is a table, or what a member has in its place. A protocol says which members answer, how
// a message to one is stamped, and why none has come ([Protocol]).
//
// An answer has so many holders and waiters as Config.Chunk says, and the last name of it may be incomplete: then a Show
// of that name with Skip asks for the rest. Members do not answer at one moment. Of holders that exclude each other
// the ones from later answers are shown.
//
// # A new call of operators
//
// It is its argument and its result in package protocol, a [Kind], what Query and [Answer] carry for it, a case in Read and
// one in the answer that is put together (Calls.advance). What it needs of a member besides names is a method of Source.
//
// # Files
//
//	messages.go  Query, Answer
//	calls.go     Calls, Protocol
//	gather.go    answers, put together
//	read.go      Source, Read
package admin
