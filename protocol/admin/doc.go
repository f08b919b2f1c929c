// Package admin handles operators' calls for all protocols: Show, Scan, Break and Inspect ([protocol.Show] and its
// neighbours).
//
// The member that receives a call answers it by itself, or asks others:
//
//	central, grantor             the authority, which has the table
//	permission, bakery, claim    every other member of the view, each of which answers for its own clients
//	consensus                    every shard that the call is about, whether this member's copy is up to date
//
// [Calls] accepts a call, limits how many wait, numbers it, asks the targets that the protocol names, repeats that,
// asks for the rest of an answer that comes in parts, combines the answers, and answers the caller. An unanswered call
// fails after 20 patiences, or after 4 for an Inspect. [Read] is the other side: it answers a [Query] from a [Source],
// which is a table, or a member's substitute for one. A protocol defines which members answer, how a message to one is
// stamped, and the error when no answer came ([Protocol]).
//
// An answer has up to Config.Chunk holders and waiters, and its last name may be incomplete: then a Show of that name
// with Skip asks for the rest. Members do not answer at the same moment. Of conflicting holders the ones from later
// answers are shown.
//
// # A new call of operators
//
// A new call needs: its argument and its result in package protocol, a [Kind], the fields for it in Query and [Answer],
// a case in Read, and one in the combination of answers (Calls.advance). If it needs more from a member than names, it
// also needs a method of Source.
//
// # Files
//
//	messages.go  Query, Answer
//	calls.go     Calls, Protocol
//	gather.go    answers, put together
//	read.go      Source, Read
package admin
