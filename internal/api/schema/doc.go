// Package schema is the network API, and what is generated from it: holdfast.proto for the
// stream of a session, locks.proto, admin.proto and status.proto for what is asked in one go, over
// gRPC and over HTTP, and members.proto for what members say to one another. The .proto says what each
// message means; options.proto has what HTTP needs in addition.
//
// To regenerate: see docs/developing.md.
package schema
