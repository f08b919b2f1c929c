// Package api turns messages into bytes and back.
//
// This is its client part: what travels between Holdfast and its users. Two APIs
// carry it, and both get their shapes here, so that they cannot differ:
//
//   - port 4040 speaks protocol buffers. Package schema is the schema; this package
//     converts between it and the types of the root package.
//   - port 4041 speaks JSON. Its documents are the messages of package schema: [JSON]
//     writes and reads them, for the server and for the command line.
//
// # Errors
//
// An error crosses as a problem: a code of a fixed table, a sentence for people,
// and what a program may want to know besides. [ToProblem] makes one of a Go
// error, [FromProblem] makes the Go error again, so that errors.Is and errors.As
// say the same on both sides and the sentence is the same. The table also says
// which HTTP status, gRPC code and exit code go with a code.
//
// # Numbers, times, lists
//
// In JSON every uint64 is a decimal string, a time is RFC 3339 in UTC with nine
// digits of a second, a duration is Go's text, and a list is never null. What has
// no end (a grant without a hold limit, a wait without a wait limit) has no
// "until": the field is left out.
//
// Nothing that is decoded here is trusted: every decoder returns an error that
// names the value, and never panics.
package api
