// Package schema is the network API and its generated code: holdfast.proto for the stream of a session, locks.proto,
// admin.proto and status.proto for single calls over gRPC and HTTP, and members.proto for messages between members. The
// .proto files document each message; options.proto has the additions for HTTP.
//
// To regenerate: see docs/developing.md.
package schema
