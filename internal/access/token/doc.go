// Package token identifies clients by bearer tokens: secrets of which members keep only the digests, in one file.
//
//	secret.go  a secret and its digest
//	record.go  the file's records: parsed, checked and formatted
//	file.go    the file, followed when it changes
//	write.go   additions and revocations, one at a time
//	exclude.go the lock of writers
//
// # Secrets
//
// A secret is hft_ followed by 48 characters: 32 random bytes and a checksum of 4 bytes, in base64 for URLs. The
// checksum tells a mistyped secret from a revoked one; it protects nothing. The digest is the SHA-256 of the secret's
// text. 256 random bits need no slow hash: a digest cannot be searched for its secret.
//
// # The file
//
//	tokens:
//	  - name: ci
//	    sha256: 5b0f…
//	    created: 2026-11-30T20:00:00Z
//	    expires: 2027-11-30T20:00:00Z # optional
//
// The file must be accessible to its owner alone (package private). Several processes may write it: each addition and
// revocation reads the file, and replaces it, while the process holds a lock on PATH.lock. A file is replaced as a
// whole, keeping its mode and owner, so a reader finds the previous file or the new one. Comments in it are not kept.
//
// A changed file takes effect within a second. A changed file with an error does not: the previous records stay in use,
// the error is logged once, and [File.Fault] returns it. Without a file there are no tokens.
package token
