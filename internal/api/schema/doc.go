// Package schema is the network API of port 4040: holdfast.proto for clients,
// members.proto for what members say to one another, and what is
// generated from it. The .proto says what each message means.
//
// To regenerate: see CONTRIBUTING.md.
package schema
