// Package api converts between the types of the root package and their wire formats.
//
// It covers what travels between Holdfast and its users. Two APIs carry it, and both take their forms from here, so
// they cannot differ:
//
//   - port 4040 speaks protocol buffers. Package schema is the schema; this package converts between it and the types
//     of the root package.
//   - port 4041 speaks JSON. Its documents are the messages of package schema: [JSON] writes and reads them, for the
//     server and for the command line.
//
// # Errors
//
// An error travels as a problem: a code from a fixed table, a sentence for people, and details for programs.
// [ToProblem] makes one from a Go error, [FromProblem] restores the Go error, so errors.Is and errors.As give the same
// result on both sides and the sentence is the same. The table also gives the HTTP status, gRPC code and exit code of
// each code.
//
// # Numbers, times, lists
//
// In JSON every uint64 is a decimal string, a time is RFC 3339 in UTC with nine digits of a second, a duration is in
// Go's format, and a list is never null. A grant without a hold limit, or a wait without a wait limit, has no "until":
// the field is left out.
//
// No input is trusted: every decoder returns an error that names the value, and never panics.
package api
