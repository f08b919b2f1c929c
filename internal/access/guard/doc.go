// Package guard answers, in a running member, who a caller is and what it may do.
//
//	guard.go         the policy in force; its file is read again when it changes
//	authenticate.go  the subject of a caller: from its certificate, its token, its socket or its address
//
// The policy itself is package access, which is pure. This package reads its file, keeps the previous policy while the
// file has a fault, checks tokens and JWTs, and adds what changes to the audit log.
//
// # Subjects
//
// The first of these that applies names a caller: its client certificate, the token or JWT that it sends, the user at
// the other end of its Unix socket. A caller without any of them is anonymous. A token or JWT that is sent and is not
// valid is refused, even if something else would name the caller, except for a certificate, which comes first. Tokens
// and JWTs are secrets, so they are refused on a connection without TLS that leaves the machine.
package guard
